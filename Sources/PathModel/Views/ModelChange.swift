// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// One thing that changed between two snapshots, as an event reports it.
public enum ModelChange: Hashable, Sendable {
    /// An interface appeared, or stopped being ignored.
    case interfaceAdded(InterfaceView)
    case interfaceRemoved(InterfaceView)
    case interfaceChanged(InterfaceView, changed: [InterfaceField], previous: InterfaceView)
    /// It went from one access point of a network to another one.
    case interfaceRoamed(InterfaceView, previous: InterfaceView)
    /// A bond, team or HSR link lost a port, or all its ports work again.
    case redundancyChanged(InterfaceView, isLost: Bool)
    case addressAdded(AddressView, interface: InterfaceView)
    case addressRemoved(AddressView, interface: InterfaceView)
    /// The routers in use changed for one family on one interface; `nil` where there is none.
    case gatewayChanged(Gateway?, previous: Gateway?)
    /// A router began to answer or stopped answering.
    case gatewayReachability(Gateway, isReachable: Bool)
    case dnsChanged(DNSState, previous: DNSState)
}

public enum InterfaceField: String, Hashable, Sendable, CaseIterable {
    case name
    case alternativeNames = "alternative_names"
    case type
    case up
    case carrier
    case operstate
    case mtu
    case hardwareAddress = "hardware_address"
    case master
    case required
    case ignored
    case expensive = "is_expensive"
    case constrained = "is_constrained"
    /// It is associated with another network.
    case wifi

    public func differs(_ left: InterfaceView, _ right: InterfaceView) -> Bool {
        switch self {
        case .name: left.name != right.name
        case .alternativeNames: left.alternativeNames != right.alternativeNames
        case .type: left.type != right.type
        case .up: left.isUp != right.isUp
        case .carrier: left.hasCarrier != right.hasCarrier
        case .operstate: left.operationalState != right.operationalState
        case .mtu: left.mtu != right.mtu
        case .hardwareAddress: left.hardwareAddress != right.hardwareAddress
        case .master: left.master != right.master
        case .required: left.isRequired != right.isRequired
        case .ignored: left.isIgnored != right.isIgnored
        case .expensive: left.isExpensive != right.isExpensive
        case .constrained: left.isConstrained != right.isConstrained
        case .wifi: right.wifi?.network != nil && left.wifi?.network != right.wifi?.network
        }
    }

    /// The fields that differ, in the order of the document.
    public static func differences(_ left: InterfaceView, _ right: InterfaceView) -> [InterfaceField] {
        allCases.filter { $0.differs(left, right) }
    }
}
