// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import LinuxIO
public import OrderedJSON

/// `daemon.started`: the daemon runs.
public struct DaemonStarted: EventBody, MemberDeclaring {
    let identity: DaemonIdentity
    let configuration: String?
    let digest: String?
    let previousAlive: WallTime?
    let unwatched: Duration?
    let boundInterface: String?

    /// Describes the start.
    ///
    /// - Parameters:
    ///   - identity: Who started.
    ///   - configuration: The path of the configuration; `nil` when the defaults are used.
    ///   - digest: The SHA-256 of the configuration in hexadecimal digits.
    ///   - previousAlive: When the daemon before was alive for the last time, by its own calendar; `nil` when unknown.
    ///   - unwatched: How long ago that is by the boot clock; `nil` when it was in another boot.
    ///   - boundInterface: The interface or VRF that its sockets are bound to from the start.
    public init(
        identity: DaemonIdentity,
        configuration: String?,
        digest: String?,
        previousAlive: WallTime? = nil,
        unwatched: Duration? = nil,
        boundInterface: String? = nil
    ) {
        self.identity = identity
        self.configuration = configuration
        self.digest = digest
        self.previousAlive = previousAlive
        self.unwatched = unwatched
        self.boundInterface = boundInterface
    }

    public var name: EventName { .daemonStarted }
    public var severity: Severity { .info }
    public var message: String {
        "nwpath \(identity.version) started\(boundInterface.map { ", bound to \($0)" } ?? "")"
    }

    public static let members = Members<Self>.object().member(
        "daemon",
        of: .object()
            .member("version") { $0.identity.version }
            .member("pid") { Int($0.identity.processID) }
            .member("config", "The path of the configuration; `null` when the defaults are used.") {
                $0.configuration
            }
            .member("config_sha256", "The digest of the configuration in hexadecimal digits.") { $0.digest }
            .member("previous_alive", as: .time, "When the previous service was last alive, by its own calendar.") {
                $0.previousAlive?.description
            }
            .member("unwatched_seconds", as: .seconds, "How long ago that is; `null` when it was in another boot.") {
                $0.unwatched.map(Rounded.seconds)
            }
            .optional("bound_to", "The VRF or interface that `ip vrf exec` binds its sockets to.") {
                $0.boundInterface
            }
    )
}

/// `daemon.stopping`: the daemon is about to end.
public struct DaemonStopping: EventBody, MemberDeclaring {
    let signal: String?
    let uptime: Duration

    /// Describes the end.
    ///
    /// - Parameters:
    ///   - signal: The signal's name, such as `SIGTERM`; `nil` when no signal requested it.
    ///   - uptime: How long the daemon ran.
    public init(signal: String?, uptime: Duration) {
        self.signal = signal
        self.uptime = uptime
    }

    public var name: EventName { .daemonStopping }
    public var severity: Severity { .info }
    public var message: String { signal.map { "Stopping on \($0)" } ?? "Stopping" }

    public static let members = Members<Self>.object().member(
        "daemon",
        of: .object()
            .member("signal", "Such as `SIGTERM`; `null` without a signal.") { $0.signal }
            .member("uptime_seconds", as: .seconds, "How long the service ran.") { Rounded.seconds($0.uptime) }
    )
}
