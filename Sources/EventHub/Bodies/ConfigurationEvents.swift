// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON

/// `config.reloaded`: a new configuration is in force.
public struct ConfigurationReloaded: EventBody {
    struct Config: JSONObjectWritable, Sendable {
        let path: String
        let changed: [String]
        let restartNeeded: [String]

        func write(to object: inout JSONObjectWriter) {
            object.write("path", path)
            object.write("changed", changed)
            object.write("restart_needed", restartNeeded)
        }
    }

    let config: Config

    /// Describes the reload.
    ///
    /// - Parameters:
    ///   - path: The configuration file.
    ///   - changed: The keys that changed, such as `interfaces.required`.
    ///   - restartNeeded: Those among them that apply only after a restart.
    public init(path: String, changed: [String], restartNeeded: [String]) {
        config = Config(path: path, changed: changed, restartNeeded: restartNeeded)
    }

    public var name: EventName { .configReloaded }
    public var severity: Severity { config.restartNeeded.isEmpty ? .info : .warning }
    public var message: String {
        guard !config.restartNeeded.isEmpty else { return "Configuration reloaded" }
        return "Configuration reloaded; a restart is needed for \(config.restartNeeded.joined(separator: ", "))"
    }

    public func write(to object: inout JSONObjectWriter) { object.write("config", config) }
}

/// `config.rejected`: a new configuration was bad; the old one stays in force.
public struct ConfigurationRejected: EventBody {
    struct Config: JSONObjectWritable, Sendable {
        let path: String
        let errors: [String]

        func write(to object: inout JSONObjectWriter) {
            object.write("path", path)
            object.write("errors", errors)
        }
    }

    static let maximumErrors = 20

    let config: Config

    /// Describes the refusal.
    ///
    /// - Parameters:
    ///   - path: The configuration file.
    ///   - errors: Its problems, each with its origin; the first twenty are kept.
    public init(path: String, errors: [String]) {
        config = Config(path: path, errors: Array(errors.prefix(Self.maximumErrors)))
    }

    public var name: EventName { .configRejected }
    public var severity: Severity { .error }
    public var message: String {
        "Configuration rejected; the previous one stays in use" + (config.errors.first.map { ": \($0)" } ?? "")
    }

    public func write(to object: inout JSONObjectWriter) { object.write("config", config) }
}

extension ConfigurationReloaded {
    public static var form: Form { .object().member("config", Config.form) }
}

extension ConfigurationReloaded.Config {
    static var form: Form {
        .object()
            .member("path", .text)
            .member("changed", .list(of: .text), "The keys that changed, such as `interfaces.required`.")
            .member("restart_needed", .list(of: .text), "Those that take effect only after a restart.")
    }
}

extension ConfigurationRejected {
    public static var form: Form { .object().member("config", Config.form) }
}

extension ConfigurationRejected.Config {
    static var form: Form {
        .object()
            .member("path", .text)
            .member("errors", .list(of: .text), "Its problems, each with its place; the first twenty are kept.")
    }
}
