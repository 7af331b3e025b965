// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Netlink

/// What keeps an interface from carrying traffic; the raw value is what documents show.
public enum UnusableReason: String, Hashable, Sendable, CaseIterable {
    /// The administrator set it down.
    case linkDown = "link_down"
    /// The cable is out, or the peer is down.
    case noCarrier = "no_carrier"
    /// It is a port that the spanning tree of its bridge does not let forward.
    case notForwarding = "not_forwarding"
    /// It waits for 802.1X and has no address, or is associated with an access point that does not let data pass yet.
    case dormant
    /// The access point rejects the passphrase or the credentials.
    case authenticationFailed = "authentication_failed"
    /// The link below is down.
    case lowerLayerDown = "lower_layer_down"
    case notPresent = "not_present"
    case testing
    case loopback
    /// It is a port of a bridge, bond or team, which carries the traffic.
    case enslaved
    case ignored
    /// It has no address that could be used for the Internet.
    case noAddress = "no_address"
    /// Its only address is still being checked for duplicates.
    case dadPending = "dad_pending"
    /// No default route leaves by it.
    case noRoute = "no_route"
}

extension Link {
    /// What keeps the link from working (rule S12); `nil` when it is usable.
    ///
    /// An operational state of unknown counts as up: tun, wireguard and loopback never have another. So does dormant, in
    /// which the kernel sends and receives by a cable; by Wi-Fi it does not, which only
    /// ``InterfaceClassifier/linkProblem(of:)`` knows. `IFF_RUNNING` is not used: it is wrong for up to a second on
    /// bridges.
    public var unusableReason: UnusableReason? {
        guard flags.contains(.up) else { return .linkDown }
        switch operationalState {
        case .notPresent: return .notPresent
        case .testing: return .testing
        case .lowerLayerDown: return .lowerLayerDown
        case .down: return .noCarrier
        case .unknown, .dormant, .up: return (carrier ?? flags.contains(.lowerUp)) ? nil : .noCarrier
        }
    }

    /// What is behind a fault of the link, or of its interface.
    func obstacle(behind unusableReason: UnusableReason?) -> ReasonSubject.Obstacle? {
        switch unusableReason {
        case .noCarrier, .lowerLayerDown: isHeldDown ? .heldDown : nil
        case .noAddress: ipv6Obstacle
        default: nil
        }
    }

    /// What keeps IPv6 from the link.
    var ipv6Obstacle: ReasonSubject.Obstacle? {
        mtu > 0 && mtu < 1280 ? .tooSmallForIPv6(mtu: mtu) : isIPv6Disabled ? .ipv6Disabled : nil
    }

    /// Whether the link could carry packets now (rule S12).
    public var isUsable: Bool { unusableReason == nil }
}
