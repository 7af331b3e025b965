// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Documents
internal import EventHub
internal import Glibc
internal import LinuxIO
internal import Metrics
internal import PathEngine

/// The configuration in force, and what became of the last attempt to read it again.
///
/// Confined to the daemon's loop.
final class ConfigurationKeeper {
    /// The configuration in force.
    var current: Configuration
    private let options: ServiceOptions
    private let engine: PathEngine
    private let hub: EventHub
    private var record = ReloadRecord()

    /// A configuration that was read anew, and may be put in force.
    struct Reading {
        let configuration: Configuration
        let difference: ConfigurationDifference
        let protection: ProtectionFiles
    }

    init(_ options: ServiceOptions, engine: PathEngine, hub: EventHub) {
        current = options.configuration
        self.options = options
        self.engine = engine
        self.hub = hub
    }

    /// The file that is read; `nil` without one.
    var file: String? {
        unsafe access(options.files.file, R_OK) == 0 ? options.files.file : nil
    }

    /// Reads the files again, while others can reach an open socket or not; a bad file is told.
    func read(isExposed: Bool) throws(ConfigurationError) -> Reading {
        var protection: ProtectionFiles?
        do {
            let new = try Configuration.load(
                options.files,
                paths: options.paths,
                environment: options.environment,
                overrides: options.overrides
            ) { [current] new in
                let files = ProtectionFiles(new.inForce(after: current, isExposed: isExposed))
                protection = files
                return files.complaints
            }
            let merged = new.inForce(after: current, isExposed: isExposed)
            return Reading(
                configuration: merged,
                difference: new.difference(from: current),
                // The files that it names may be others although it is the same.
                protection: protection ?? ProtectionFiles(merged)
            )
        } catch {
            record.rejected(error.problems.first?.description)
            options.report("configuration rejected; the previous one stays in use")
            for problem in error.problems { options.report("\(problem)") }
            hub.publish(ConfigurationRejected(path: options.files.file, errors: error.problems.map(\.description)))
            throw error
        }
    }

    /// Tells that what was read is in force.
    func accept(_ difference: ConfigurationDifference, at time: WallTime) {
        record.accepted(at: time)
        let (changed, restart) = (difference.changed, difference.restartNeeded)
        let rest = restart.isEmpty ? "" : "; a restart is needed for \(restart.joined(separator: ", "))"
        options.report("configuration reloaded\(rest)")
        hub.publish(ConfigurationReloaded(path: options.files.file, changed: changed, restartNeeded: restart))
    }
}

extension ConfigurationKeeper: DaemonPart {
    var problems: [ProblemDocument] {
        let rejection = record.rejection.map {
            "the last configuration was rejected; the previous one is in use: \($0)"
        }
        let messages = [rejection].compactMap(\.self) + current.missingInterfaces(of: engine.core)
        return messages.map { ProblemDocument(part: "configuration", message: $0) }
    }

    func register(in registry: MetricRegistry) {
        registry.add { [unowned self] writer in
            writer.write(Family.reloadGood, record.isLastGood)
            writer.write(Family.reloadTime, record.lastAccepted?.secondsSince1970 ?? 0)
        }
    }
}

/// What became of reloads.
struct ReloadRecord {
    private(set) var isLastGood = true
    private(set) var lastAccepted: WallTime?
    /// What was wrong with the configuration that was read last.
    private(set) var rejection: String?

    mutating func rejected(_ problem: String?) {
        isLastGood = false
        rejection = problem
    }

    mutating func accepted(at time: WallTime) { self = ReloadRecord(isLastGood: true, lastAccepted: time) }
}

private enum Family {
    static let reloadGood = MetricFamily.gauge(
        "config_last_reload_successful",
        "Whether the last configuration was good."
    )
    static let reloadTime = MetricFamily.gauge(
        "config_last_reload_success_timestamp_seconds",
        "When a configuration was last reloaded; 0 never."
    )
}
