// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Diagnosis
public import OrderedJSON

/// What a load test found, in `nwpath diagnose --json`.
public struct LoadDocument: Encodable, Equatable, Sendable {
    /// Megabits per second towards this machine; `null` when that way was not loaded.
    @Nullable public var downMbps: Double?
    /// Megabits per second from it; `null` when that way was not loaded.
    @Nullable public var upMbps: Double?
    /// The median round trip before; `null` when it was not measured.
    @Nullable public var idleSeconds: Double?
    /// Deprecated: ``idleSeconds``, in milliseconds.
    @Nullable public var idleMs: Double?
    /// The median round trip under load, in the direction that suffers more.
    @Nullable public var loadedSeconds: Double?
    /// Deprecated: ``loadedSeconds``, in milliseconds.
    @Nullable public var loadedMs: Double?
    /// Round trips per minute under load, in the direction that suffers more; `null` when they were not measured.
    @Nullable public var rpm: Int?
    /// `poor`, `fair`, `good` or `excellent`.
    @Nullable public var responsiveness: String?
    /// How long it took.
    public var durationSeconds: Double
    /// Deprecated: ``durationSeconds``, in milliseconds.
    public var ms: Int
    /// The bytes that were sent, without the headers of IP, TCP and TLS.
    public var sentBytes: Int
    /// The bytes that came back.
    public var receivedBytes: Int

    enum CodingKeys: String, CodingKey {
        case downMbps = "down_mbps"
        case upMbps = "up_mbps"
        case idleSeconds = "idle_seconds"
        case idleMs = "idle_ms"
        case loadedSeconds = "loaded_seconds"
        case loadedMs = "loaded_ms"
        case rpm
        case responsiveness
        case durationSeconds = "duration_seconds"
        case ms
        case sentBytes = "sent_bytes"
        case receivedBytes = "received_bytes"
    }

    public init(_ load: PerformanceEvidence.Load) {
        durationSeconds = Microseconds.round(load.duration)
        ms = Int(load.duration / .milliseconds(1))
        sentBytes = load.sent
        receivedBytes = load.received
        downMbps = load.down.map { Self.rounded($0, to: 100) }
        upMbps = load.up.map { Self.rounded($0, to: 100) }
        idleSeconds = load.idle.map(Microseconds.round)
        idleMs = load.idle.map { Self.rounded($0 / .milliseconds(1), to: 1000) }
        loadedSeconds = load.loaded.map(Microseconds.round)
        loadedMs = load.loaded.map { Self.rounded($0 / .milliseconds(1), to: 1000) }
        rpm = load.roundTripsPerMinute
        responsiveness = load.responsiveness?.rawValue
    }

    private static func rounded(_ value: Double, to parts: Double) -> Double { (value * parts).rounded() / parts }
}
