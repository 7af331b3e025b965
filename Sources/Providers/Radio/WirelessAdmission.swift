// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Whether a network refuses this machine, as with a wrong passphrase.
///
/// nl80211 has no event that says so. An access point refuses when it ends an association that the kernel reported as not
/// authorized and gives a reason that only a failed handshake has, when it rejects the confirmation of SAE, or when it ends
/// two associations in a row unauthorized (older access points give other reasons, and the end of WPS is one, too). Drivers
/// that never report authorization show no refusal.
struct WirelessAdmission: Equatable {
    /// Associations in a row that ended unauthorized and make a refusal.
    static let limit = 2
    /// How long ago the end before may be that counts with another one.
    static let memory = Duration.seconds(60)

    private(set) var failures = 0
    private var lastFailure: Duration?
    private var isPending = false
    private var wasUnauthorized = false

    var isRefused: Bool { failures >= Self.limit }

    /// Applies what a reading of the association says.
    mutating func read(_ isAuthorized: Bool?) {
        if isAuthorized == false, isPending { wasUnauthorized = true }
    }

    /// Applies an event of the interface at `now`, the time since boot.
    mutating func apply(_ event: WirelessEvent.Kind, at now: Duration) {
        switch event {
        case .connected(status: 0): (isPending, wasUnauthorized) = (true, false)
        case .authorized: self = WirelessAdmission()
        case .authenticated(let algorithm, let sequence, let status) where status != 0:
            if Self.isRefusal(algorithm, sequence, status) { refuse() }
        case .connected(let status) where status == Self.challengeFailure: refuse()
        case .lost(let reason, _, let isRemote):
            guard isPending else { return }
            isPending = false
            guard wasUnauthorized, isRemote else { return }
            if let last = lastFailure, now - last > Self.memory { failures = 0 }
            lastFailure = now
            failures = reason.map(Self.isRefusal) ?? false ? Self.limit : failures + 1
        case .authenticated, .connected, .other: break
        }
    }

    private mutating func refuse() {
        isPending = false
        failures = Self.limit
    }

    /// The status code of a wrong proof of the passphrase (IEEE 802.11 table 9-50).
    private static let challengeFailure: UInt16 = 15

    /// Whether the proof of the passphrase was wrong: the second frame of SAE, which hostapd refuses with status 1.
    private static func isRefusal(_ algorithm: UInt16, _ sequence: UInt16, _ status: UInt16) -> Bool {
        status == challengeFailure || algorithm == 3 && sequence == 2 && status == 1
    }

    /// Reason codes of 802.11 (table 9-49) that only a failed handshake has: MIC failure, and its timeout.
    private static func isRefusal(_ reason: UInt16) -> Bool { [14, 15].contains(reason) }
}
