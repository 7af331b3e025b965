// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import MulticastDNS
internal import Providers
internal import Addressing
internal import Configuration
internal import Documents
internal import EventHub
internal import EventLog
internal import LinuxIO
internal import OrderedJSON
internal import PathEngine
internal import Spelling
internal import StatusServer

extension Daemon {
    /// Reads the configuration again and puts it in force; a bad one is told, and the old one stays.
    ///
    /// The log file is opened anew as well, so that a rotation by rename and SIGHUP works (rule of the event log).
    ///
    /// It also looks what the machine is called by now. A daemon that stops does nothing of this.
    public func reload() {
        guard !isStopping else { return }
        hostName.poll()
        reopenLog()
        _ = try? reread()
    }

    /// The same for `POST /-/reload`, whose answer is what happened.
    func reloadForRequest() throws -> [UInt8] {
        do {
            let difference = try reread()
            var answer = JSONObject()
            answer["schema"] = .string(DocumentSchema.name(of: "reload"))
            answer["changed"] = .array(difference.changed.map { .string($0) })
            answer["restart_needed"] = .array(difference.restartNeeded.map { .string($0) })
            return try OrderedJSONEncoder().encode(JSONValue.object(answer)) + [0x0A]
        } catch let error as ConfigurationError {
            throw Problem(.configInvalid, status: 400, detail: error.description)
        }
    }

    private func reread() throws(ConfigurationError) -> ConfigurationDifference {
        manager.reloading(at: clock.awake)
        defer { manager.reloaded() }
        let reading = try settings.read(isExposed: server.addresses.contains { !$0.isLocal })
        do {
            try server.take(reading.configuration.serverConfiguration(reading.protection))
        } catch {
            options.report("the previous TLS settings stay in use: \(error)")
        }
        if !reading.difference.isEmpty { apply(reading.configuration) }
        settings.accept(reading.difference, at: clock.wall)
        return reading.difference
    }

    /// Goes on under the machine's new name, which it may get long after the start.
    func take(hostName name: String) {
        options.report("host name changed to \(PrintableText.quote(name))")
        hub.host = name
        store.host = name
        store.invalidate()
        services?.take(hostName: name)
        publishAnswers()
    }

    private func apply(_ new: Configuration) {
        settings.current = new
        hub.minimumSeverity = new.minimumSeverity
        log.setRotation(new.rotation)
        store.invalidate()
        engine.apply(new.engineSettings)
        services?.setInterfaces(new.multicastInterfaces(of: engine.core))
        services?.takeSettings()
        probes.apply(new)
        diagnosis.apply(new)
        traffic.apply(isEnabled: new.traffic.isEnabled)
        publishAnswers()
    }
}

extension Configuration {
    /// The effective settings as JSON, secrets redacted.
    var json: JSONValue { JSONValue(redacted.tree) }
}

extension JSONValue {
    init(_ tree: ConfigurationTree) {
        switch tree {
        case .null: self = .null
        case .boolean(let value): self = .bool(value)
        case .integer(let value): self = .integer(Int64(value))
        case .text(let value): self = .string(value)
        case .list(let values): self = .array(values.map(JSONValue.init))
        case .map(let fields):
            var object = JSONObject()
            for field in fields { object[field.name] = JSONValue(field.value) }
            self = .object(object)
        }
    }
}
