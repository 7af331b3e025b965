// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Diagnosis
public import OrderedJSON

/// What a load test found, in `nwpath diagnose --json`.
public struct LoadDocument: MemberDeclaring, Equatable, Sendable {
    let load: PerformanceEvidence.Load

    public init(_ load: PerformanceEvidence.Load) { self.load = load }

    public static let members = Members<Self>.object("What a load test found.")
        .member("down_mbps", as: .amount, "Megabits per second towards this machine; `null` when not loaded.") {
            $0.load.down.map(hundredths)
        }
        .member("up_mbps", as: .amount, "Megabits per second from it; `null` when not loaded.") {
            $0.load.up.map(hundredths)
        }
        .member("idle_seconds", as: .seconds, "The median round trip before; `null` when it was not measured.") {
            $0.load.idle.map(Microseconds.round)
        }
        .member("loaded_seconds", as: .seconds, "The same under load, in the direction that suffers more.") {
            $0.load.loaded.map(Microseconds.round)
        }
        .member("rpm", "Round trips per minute under load, in that direction.") { $0.load.roundTripsPerMinute }
        .member("responsiveness", as: .oneOf(Responsiveness.self)) { $0.load.responsiveness?.rawValue }
        .member("duration_seconds", as: .seconds, "How long it took.") { Microseconds.round($0.load.duration) }
        .member("sent_bytes", "Without the headers of IP, TCP and TLS.") { $0.load.sent }
        .member("received_bytes") { $0.load.received }

    private static func hundredths(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}
