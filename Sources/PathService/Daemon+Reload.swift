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
    /// It also looks what the machine is called by now.
    public func reload() {
        hostName.look()
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
        let new: Configuration
        var protection: ProtectionFiles?
        manager.reloading(at: clock.awake)
        defer { manager.reloaded() }
        do {
            new = try Configuration.load(
                options.files,
                paths: options.paths,
                environment: options.environment,
                overrides: options.overrides
            ) { [configuration, isExposed] new in
                let new = new.inForce(after: configuration, isExposed: isExposed)
                let files = ProtectionFiles(new)
                protection = files
                return files.complaints
            }
        } catch {
            counters.rejectedReload()
            lastRejection = error.problems.first?.description
            options.report("configuration rejected, the old one stays in force")
            for problem in error.problems { options.report("\(problem)") }
            hub.publish(ConfigurationRejected(path: options.files.file, errors: error.problems.map(\.description)))
            throw error
        }
        let difference = new.difference(from: configuration)
        lastRejection = nil
        let merged = new.inForce(after: configuration, isExposed: isExposed)
        // The files that it names may be others although it is the same.
        protect(merged, by: protection)
        if !difference.isEmpty { apply(merged) }
        counters.acceptedReload(at: clock.wall)
        options.report(Self.sentence(of: difference))
        hub.publish(
            ConfigurationReloaded(
                path: options.files.file,
                changed: difference.changed,
                restartNeeded: difference.restartNeeded
            )
        )
        return difference
    }

    /// Goes on under the machine's new name, which it may get long after the start.
    func take(hostName name: String) {
        options.report("the machine is called \(PrintableText.quote(name)) now")
        hub.host = name
        store.host = name
        store.invalidate()
        advertiser?.take(hostName: name)
        server.documentsChanged()
    }

    private static func sentence(of difference: ConfigurationDifference) -> String {
        let restart = difference.restartNeeded
        guard !restart.isEmpty else { return "configuration reloaded" }
        return "configuration reloaded; a restart is needed for \(restart.joined(separator: ", "))"
    }

    /// Whether others can reach a socket that is open.
    private var isExposed: Bool { server.addresses.contains { !$0.isLocal } }

    private func protect(_ new: Configuration, by files: ProtectionFiles?) {
        do {
            try server.take(new.serverConfiguration(files ?? ProtectionFiles(new)))
        } catch {
            options.report("the TLS settings of before stay in force: \(error)")
        }
    }

    private func apply(_ new: Configuration) {
        configuration = new
        hub.minimumSeverity = new.minimumSeverity
        log.setRotation(new.rotation)
        store.invalidate()
        engine.take(new.engineSettings)
        census?.setInterfaces(new.multicastInterfaces(of: engine.core))
        census?.setWellKnownTypes(new.censusSettings.wellKnownTypes)
        advertiser?.offer(new.mdns.advertised)
        probes.take(new.probeDefinitions)
        diagnosis.take(new.diagnosis)
    }

    /// What is wrong with the daemon's own parts while the path is still right.
    var problems: [ProblemDocument] {
        var problems: [ProblemDocument] = []
        if engine.isRecovering {
            let message = "notifications of the kernel were lost; everything is read again within a second"
            problems.append(ProblemDocument(part: "netlink", message: message))
        }
        if let outage = log.status.outage {
            let count = log.status.eventsLost
            let message = "the event log cannot be written (\(outage.error)); \(count) events are not in it"
            problems.append(ProblemDocument(part: "log", message: message))
        }
        if let lastRejection {
            let message = "the last configuration was rejected, the one before is in force: \(lastRejection)"
            problems.append(ProblemDocument(part: "configuration", message: message))
        }
        for message in configuration.missingInterfaces(of: engine.core) {
            problems.append(ProblemDocument(part: "configuration", message: message))
        }
        problems += probes.problems.map { ProblemDocument(part: "probes", message: $0) }
        for message in [serviceHistory?.problem, advertiser?.problem].compactMap(\.self) {
            problems.append(ProblemDocument(part: "services", message: message))
        }
        for port in census?.engine.takenPorts ?? [] {
            problems.append(ProblemDocument(part: "services", message: port.explanation))
        }
        let health = system.providers.health.sorted { $0.key.rawValue < $1.key.rawValue }
        for (name, health) in health where health.isStale {
            let why = health.lastError.map { ": \($0)" } ?? ""
            problems.append(ProblemDocument(part: name.rawValue, message: "does not answer\(why)"))
        }
        return problems
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
