// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import MulticastDNS
internal import Providers
internal import Configuration
internal import Documents
internal import EventHub
internal import EventLog
internal import LinuxIO
internal import OrderedJSON
internal import PathEngine
internal import StatusServer

extension Daemon {
    /// Reads the configuration again and puts it in force; a bad one is told, and the old one stays.
    public func reload() {
        _ = try? reread()
    }

    /// The same for `POST /-/reload`, whose answer is what happened.
    func reloadForRequest() throws -> [UInt8] {
        do {
            let difference = try reread()
            var answer = JSONObject()
            answer["changed"] = .array(difference.changed.map { .string($0) })
            answer["restart_needed"] = .array(difference.restartNeeded.map { .string($0) })
            return try OrderedJSONEncoder().encode(JSONValue.object(answer)) + [0x0A]
        } catch let error as ConfigurationError {
            throw Problem(.configInvalid, status: 400, detail: error.description)
        }
    }

    private func reread() throws(ConfigurationError) -> ConfigurationDifference {
        let new: Configuration
        do {
            new = try Configuration.load(
                options.files,
                paths: options.paths,
                environment: options.environment,
                overrides: options.overrides
            )
        } catch {
            counters.rejectedReload()
            options.report("configuration rejected, the old one stays in force:\n\(error)")
            hub.publish(ConfigurationRejected(path: options.files.file, errors: error.problems.map(\.description)))
            throw error
        }
        let difference = new.difference(from: configuration)
        apply(new)
        counters.acceptedReload(at: clock.wall)
        options.report("configuration reloaded")
        hub.publish(
            ConfigurationReloaded(
                path: options.files.file,
                changed: difference.changed,
                restartNeeded: difference.restartNeeded
            )
        )
        manager.reloaded()
        return difference
    }

    private func apply(_ new: Configuration) {
        configuration = new
        hub.minimumSeverity = new.minimumSeverity
        log.setRotation(new.rotation)
        store.invalidate()
        engine.take(new.engineSettings)
        census?.setInterfaces(new.multicastInterfaces(of: engine.core))
    }

    /// What is wrong with the daemon's own parts while the path is still right.
    var problems: [ProblemDocument] {
        var problems: [ProblemDocument] = []
        if let outage = log.status.outage {
            let count = log.status.eventsLost
            let message = "the event log cannot be written (\(outage.error)); \(count) events are not in it"
            problems.append(ProblemDocument(part: "log", message: message))
        }
        for (name, health) in providers.health.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            guard health.isStale else { continue }
            let why = health.lastError.map { ": \($0)" } ?? ""
            problems.append(ProblemDocument(part: name.rawValue, message: "does not answer\(why)"))
        }
        return problems
    }
}

extension Configuration {
    /// The effective settings as JSON.
    var json: JSONValue { JSONValue(tree) }
}

extension JSONValue {
    init(_ tree: ConfigurationTree) {
        switch tree {
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
