// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON

/// `config.reloaded`: a new configuration is in force.
public struct ConfigurationReloaded: EventBody, MemberDeclaring {
    let path: String
    let changed: [String]
    let restartNeeded: [String]

    /// Describes the reload.
    ///
    /// - Parameters:
    ///   - path: The configuration file.
    ///   - changed: The keys that changed, such as `interfaces.required`.
    ///   - restartNeeded: Those among them that apply only after a restart.
    public init(path: String, changed: [String], restartNeeded: [String]) {
        self.path = path
        self.changed = changed
        self.restartNeeded = restartNeeded
    }

    public var name: EventName { .configReloaded }
    public var severity: Severity { restartNeeded.isEmpty ? .info : .warning }
    public var message: String {
        guard !restartNeeded.isEmpty else { return "Configuration reloaded" }
        return "Configuration reloaded; a restart is needed for \(restartNeeded.joined(separator: ", "))"
    }

    public static let members = Members<Self>.object().member(
        "config",
        of: .object()
            .member("path") { $0.path }
            .member("changed", "The keys that changed, such as `interfaces.required`.") { $0.changed }
            .member("restart_needed", "Those that take effect only after a restart.") { $0.restartNeeded }
    )
}

/// `config.rejected`: a new configuration was bad; the old one stays in force.
public struct ConfigurationRejected: EventBody, MemberDeclaring {
    let path: String
    let errors: [String]

    static let maximumErrors = 20

    /// Describes the refusal.
    ///
    /// - Parameters:
    ///   - path: The configuration file.
    ///   - errors: Its problems, each with its origin; the first twenty are kept.
    public init(path: String, errors: [String]) {
        self.path = path
        self.errors = Array(errors.prefix(Self.maximumErrors))
    }

    public var name: EventName { .configRejected }
    public var severity: Severity { .error }
    public var message: String {
        "Configuration rejected; the previous one stays in use" + (errors.first.map { ": \($0)" } ?? "")
    }

    public static let members = Members<Self>.object().member(
        "config",
        of: .object()
            .member("path") { $0.path }
            .member("errors", "Its problems, each with its place; the first twenty are kept.") { $0.errors }
    )
}
