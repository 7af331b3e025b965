// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Diagnosis
public import OrderedJSON

/// What a load test found, in `nwpath diagnose --json`.
public struct LoadDocument: JSONObjectWritable, Equatable, Sendable {
    public var downMbps: Double?
    public var upMbps: Double?
    public var idleSeconds: Double?
    public var loadedSeconds: Double?
    /// Round trips per minute under load, in the direction that suffers more; `null` when they were not measured.
    public var rpm: Int?
    /// `poor`, `fair`, `good` or `excellent`.
    public var responsiveness: String?
    public var durationSeconds: Double
    public var sentBytes: Int
    /// The bytes that came back.
    public var receivedBytes: Int

    public func write(to object: inout JSONObjectWriter) {
        object.write("down_mbps", downMbps)
        object.write("up_mbps", upMbps)
        object.write("idle_seconds", idleSeconds)
        object.write("loaded_seconds", loadedSeconds)
        object.write("rpm", rpm)
        object.write("responsiveness", responsiveness)
        object.write("duration_seconds", durationSeconds)
        object.write("sent_bytes", sentBytes)
        object.write("received_bytes", receivedBytes)
    }

    public init(_ load: PerformanceEvidence.Load) {
        durationSeconds = Microseconds.round(load.duration)
        sentBytes = load.sent
        receivedBytes = load.received
        downMbps = load.down.map { Self.rounded($0, to: 100) }
        upMbps = load.up.map { Self.rounded($0, to: 100) }
        idleSeconds = load.idle.map(Microseconds.round)
        loadedSeconds = load.loaded.map(Microseconds.round)
        rpm = load.roundTripsPerMinute
        responsiveness = load.responsiveness?.rawValue
    }

    private static func rounded(_ value: Double, to parts: Double) -> Double { (value * parts).rounded() / parts }
}

extension LoadDocument {
    static var form: Form {
        .object("What a load test found.")
            .member("down_mbps", .amount.orNull, "Megabits per second towards this machine; `null` when not loaded.")
            .member("up_mbps", .amount.orNull, "Megabits per second from it; `null` when not loaded.")
            .member("idle_seconds", .seconds.orNull, "The median round trip before; `null` when it was not measured.")
            .member("loaded_seconds", .seconds.orNull, "The same under load, in the direction that suffers more.")
            .member("rpm", .count.orNull, "Round trips per minute under load, in that direction.")
            .member("responsiveness", .oneOf(Responsiveness.self).orNull)
            .member("duration_seconds", .seconds, "How long it took.")
            .member("sent_bytes", .count, "Without the headers of IP, TCP and TLS.")
            .member("received_bytes", .count)
    }
}
