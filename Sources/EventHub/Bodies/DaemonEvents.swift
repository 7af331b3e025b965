// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
internal import OrderedJSON

/// `daemon.started`: the daemon runs.
public struct DaemonStarted: EventBody {
    struct Daemon: Encodable, Sendable {
        let version: String
        let pid: Int32
        @Nullable var config: String?
        @Nullable var configSha256: String?
        /// When the daemon before this one was alive for the last time, by its own calendar.
        @Nullable var previousAlive: String?
        @Nullable var unwatchedSeconds: Double?

        private enum CodingKeys: String, CodingKey {
            case version
            case pid
            case config
            case configSha256 = "config_sha256"
            case previousAlive = "previous_alive"
            case unwatchedSeconds = "unwatched_seconds"
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
    public init(
        identity: DaemonIdentity,
        configuration: String?,
        digest: String?,
        previousAlive: WallTime? = nil,
        unwatched: Duration? = nil
    ) {
        daemon = Daemon(
            version: identity.version,
            pid: identity.processID,
            config: configuration,
            configSha256: digest,
            previousAlive: previousAlive?.description,
            unwatchedSeconds: unwatched.map(Rounded.seconds)
        )
    }

    public var name: EventName { .daemonStarted }
    public var severity: Severity { .info }
    public var message: String { "nwpath \(daemon.version) started" }

    private enum CodingKeys: String, CodingKey {
        case daemon
    }
}

/// `daemon.stopping`: the daemon is about to end.
public struct DaemonStopping: EventBody {
    struct Daemon: Encodable, Sendable {
        @Nullable var signal: String?
        let uptimeSeconds: Double

        private enum CodingKeys: String, CodingKey {
            case signal
            case uptimeSeconds = "uptime_seconds"
        }
    }

    let daemon: Daemon

    /// Describes the end.
    ///
    /// - Parameters:
    ///   - signal: The signal's name, such as `SIGTERM`; `nil` when no signal asked for it.
    ///   - uptime: How long the daemon ran.
    public init(signal: String?, uptime: Duration) {
        daemon = Daemon(signal: signal, uptimeSeconds: Rounded.seconds(uptime))
    }

    public var name: EventName { .daemonStopping }
    public var severity: Severity { .info }
    public var message: String { daemon.signal.map { "Stopping on \($0)" } ?? "Stopping" }

    private enum CodingKeys: String, CodingKey {
        case daemon
    }
}
