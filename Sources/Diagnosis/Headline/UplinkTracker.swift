// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// Tracks since when a gateway in use may answer: what tests found while none did says nothing of what is beyond.
public struct UplinkTracker: Hashable, Sendable {
    private var isSilent = false
    /// When a gateway answered again after none had, as time since boot; zero before that.
    public private(set) var since = Duration.zero

    public init() {}

    /// Applies the path of now.
    public mutating func apply(_ path: Path, at now: Duration) {
        let wasSilent = isSilent
        isSilent = path.hasSilentGateways
        if wasSilent, !isSilent { since = now }
    }
}

extension Path {
    /// Whether it has gateways, and none of them answers.
    package var hasSilentGateways: Bool { !gateways.isEmpty && gateways.allSatisfy { $0.isReachable == false } }

    /// The gateway of the interface that packets leave by first; `nil` where that one needs none.
    var firstGateway: Gateway? {
        guard let interface = interfaces.first?.name else { return gateways.first }
        return gateways.first { $0.interface == interface }
    }
}
