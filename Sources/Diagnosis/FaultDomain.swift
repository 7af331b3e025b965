// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Where the fault lies: in this machine, its link or gateway, or beyond.
public enum FaultDomain: String, Hashable, Sendable, CaseIterable {
    case nobody
    /// Neighbours have no such trouble, or it lies in the machine itself.
    case me
    /// The link or the gateway, which neighbours share or not.
    case linkOrGateway = "link_or_gateway"
    /// Neighbours have the same trouble.
    case shared
    /// The network is in order; it is the destination, or who runs it.
    case destination
    /// No neighbour answered a query.
    case unknown

    init(_ verdicts: [Verdict], peers: [PeerEvidence]) {
        guard let worst = verdicts.first else {
            self = .nobody
            return
        }
        switch worst.code.layer {
        case .local, .route: self = .me
        case .link where worst.code == .linkOverruns || worst.code == .linkQueueDrops: self = .me
        case .link, .address: self = worst.code == .addressDuplicate ? .me : .linkOrGateway
        case .gateway: self = Self.comparing(peers.compactMap(\.reachesGateway.value), otherwise: .linkOrGateway)
        // Where no other destination is in use, it may be anything on the path.
        case .application where worst.code == .trafficDestinationStalled && worst.confidence != .possible:
            self = .destination
        case .captive, .wan, .dns, .transport, .application, .performance:
            self = Self.comparing(peers.compactMap(\.reachesAnchors.value), otherwise: .unknown)
        case .resolve, .reach, .tcp, .tls, .http, .websocket:
            self = worst.code == .destinationBlocked ? .me : .destination
        }
    }

    /// One neighbour that reaches it shows that the path works.
    private static func comparing(_ answers: [Bool], otherwise domain: FaultDomain) -> FaultDomain {
        answers.isEmpty ? domain : answers.contains(true) ? .me : .shared
    }
}
