// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Netlink

/// An interface as documents, events and metrics show it.
public struct InterfaceView: Hashable, Sendable {
    public var index: Int
    public var name: String
    /// Its other names, in the kernel's order.
    public var alternativeNames: [String]
    public var type: InterfaceType
    /// The kind of a virtual link, such as `bridge`; `nil` for hardware.
    public var kind: String?
    /// Whether the administrator wants it up.
    public var isUp: Bool
    public var hasCarrier: Bool
    /// The operational state of RFC 2863.
    public var operationalState: OperationalState
    /// The largest packet, in bytes.
    public var mtu: Int
    /// The hardware address; empty for links without one.
    public var hardwareAddress: [UInt8]
    /// The name of the bridge, bond, team or VRF it is a port of.
    public var master: String?
    /// The ports of a bond, team or HSR link; `nil` for other links.
    public var ports: PortCount?
    /// How often the carrier changed since the link was made.
    public var carrierChanges: UInt32
    /// Its addresses, IPv4 first.
    public var addresses: [AddressView]
    public var isRequired: Bool
    /// Whether events and metrics leave it out.
    public var isIgnored: Bool
    /// Whether it could carry traffic, as far as link and addresses go.
    public var isUsable: Bool
    /// What keeps it from carrying traffic; `nil` when it is usable.
    public var unusableReason: UnusableReason?
    public var isExpensive: Bool
    /// Whether programs should spare traffic on it.
    public var isConstrained: Bool
    /// Its Wi-Fi; `nil` when it is no client of a network.
    public var wifi: WirelessFacts?

    public init(_ link: Link, classifier: InterfaceClassifier) {
        let cost = CostEvaluator(classifier: classifier)
        index = link.index
        name = link.name
        alternativeNames = link.alternativeNames
        type = classifier.type(of: link)
        kind = link.kind
        isUp = link.flags.contains(.up)
        hasCarrier = link.carrier ?? link.flags.contains(.lowerUp)
        operationalState = link.operationalState
        mtu = link.mtu
        hardwareAddress = link.hardwareAddress
        master = link.master.flatMap { classifier.state.links[$0]?.name }
        ports = classifier.portCount(of: link)
        carrierChanges = link.carrierChanges
        addresses = (classifier.state.addresses[link.index] ?? []).map(AddressView.init).sorted {
            $0.sortKey < $1.sortKey
        }
        isRequired = classifier.isRequired(link)
        isIgnored = classifier.isIgnored(link)
        unusableReason = classifier.unusableReason(of: link)
        isUsable = unusableReason == nil
        isExpensive = cost.isExpensive(link)
        isConstrained = cost.isConstrained(link)
        wifi = classifier.wifi(of: link)
    }
}

public struct AddressView: Hashable, Sendable {
    public var address: IPAddress
    /// How many leading bits name the network.
    public var prefixLength: Int
    /// The other end of a point-to-point address.
    public var peer: IPAddress?
    /// `ifa_scope`: 0 global, 200 site, 253 link, 254 host.
    public var scope: UInt8
    /// The IFA_F_* bits.
    public var flags: AddressFlags
    /// When it stops being valid, as time since boot; `nil` means never.
    public var validUntil: Duration?

    public init(_ held: HeldAddress) {
        address = held.value.address
        prefixLength = held.value.prefixLength
        peer = held.value.peer
        scope = held.value.scope
        flags = held.value.flags
        validUntil = held.validUntil
    }

    /// Such as `192.0.2.1/24`.
    public var text: String { "\(address)/\(prefixLength)" }

    /// The word of `scope`, as ip-address(8) has it.
    public var scopeName: String {
        switch scope {
        case 0: "global"
        case 200: "site"
        case 253: "link"
        case 254: "host"
        default: "nowhere"
        }
    }

    /// What names one entry: a refresh of lifetimes keeps it (rule S27).
    var key: Key { Key(address: address, prefixLength: prefixLength) }

    struct Key: Hashable {
        let address: IPAddress
        let prefixLength: Int
    }

    var sortKey: (IPAddress, Int) { (address, prefixLength) }
}

extension OperationalState {
    /// The word of RFC 2863 in one piece, such as `lowerlayerdown`, as ip-link(8) has it.
    public var word: String {
        switch self {
        case .unknown: "unknown"
        case .notPresent: "notpresent"
        case .down: "down"
        case .lowerLayerDown: "lowerlayerdown"
        case .testing: "testing"
        case .dormant: "dormant"
        case .up: "up"
        }
    }
}
