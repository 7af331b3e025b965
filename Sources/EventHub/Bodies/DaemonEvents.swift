// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import LinuxIO
public import OrderedJSON

/// `daemon.started`: the daemon runs.
public struct DaemonStarted: EventBody {
    struct Daemon: JSONObjectWritable, Sendable {
        let version: String
        let pid: Int32
        var config: String?
        var configSha256: String?
        var previousAlive: String?
        var unwatchedSeconds: Double?
        var boundTo: String?

        func write(to object: inout JSONObjectWriter) {
            object.write("version", version)
            object.write("pid", Int(pid))
            object.write("config", config)
            object.write("config_sha256", configSha256)
            object.write("previous_alive", previousAlive)
            object.write("unwatched_seconds", unwatchedSeconds)
            object.writeIfPresent("bound_to", boundTo)
        }
    }

    let daemon: Daemon

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
        daemon = Daemon(
            version: identity.version,
            pid: identity.processID,
            config: configuration,
            configSha256: digest,
            previousAlive: previousAlive?.description,
            unwatchedSeconds: unwatched.map(Rounded.seconds),
            boundTo: boundInterface
        )
    }

    public var name: EventName { .daemonStarted }
    public var severity: Severity { .info }
    public var message: String { "nwpath \(daemon.version) started\(daemon.boundTo.map { ", bound to \($0)" } ?? "")" }

    public func write(to object: inout JSONObjectWriter) { object.write("daemon", daemon) }
}

/// `daemon.stopping`: the daemon is about to end.
public struct DaemonStopping: EventBody {
    struct Daemon: JSONObjectWritable, Sendable {
        var signal: String?
        let uptimeSeconds: Double

        func write(to object: inout JSONObjectWriter) {
            object.write("signal", signal)
            object.write("uptime_seconds", uptimeSeconds)
        }
    }

    let daemon: Daemon

    /// Describes the end.
    ///
    /// - Parameters:
    ///   - signal: The signal's name, such as `SIGTERM`; `nil` when no signal requested it.
    ///   - uptime: How long the daemon ran.
    public init(signal: String?, uptime: Duration) {
        daemon = Daemon(signal: signal, uptimeSeconds: Rounded.seconds(uptime))
    }

    public var name: EventName { .daemonStopping }
    public var severity: Severity { .info }
    public var message: String { daemon.signal.map { "Stopping on \($0)" } ?? "Stopping" }

    public func write(to object: inout JSONObjectWriter) { object.write("daemon", daemon) }
}

extension DaemonStarted {
    public static var form: Form { .object().member("daemon", Daemon.form) }
}

extension DaemonStarted.Daemon {
    static var form: Form {
        .object()
            .member("version", .text)
            .member("pid", .count)
            .member("config", .text.orNull, "The path of the configuration; `null` when the defaults are used.")
            .member("config_sha256", .text.orNull, "The digest of the configuration in hexadecimal digits.")
            .member("previous_alive", .time.orNull, "When the previous service was last alive, by its own calendar.")
            .member("unwatched_seconds", .seconds.orNull, "How long ago that is; `null` when it was in another boot.")
            .optional("bound_to", .text, "The VRF or interface that `ip vrf exec` binds its sockets to.")
    }
}

extension DaemonStopping {
    public static var form: Form { .object().member("daemon", Daemon.form) }
}

extension DaemonStopping.Daemon {
    static var form: Form {
        .object()
            .member("signal", .text.orNull, "Such as `SIGTERM`; `null` without a signal.")
            .member("uptime_seconds", .seconds, "How long the service ran.")
    }
}
