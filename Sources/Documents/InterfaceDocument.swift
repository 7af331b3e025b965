// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink
public import OrderedJSON
public import PathModel

/// A network interface as events, routes and commands show it.
public struct InterfaceDocument: MemberDeclaring, Equatable, Sendable {
    public var name: String
    public var alternativeNames: [String]
    public var index: Int
    public var type: InterfaceType
    public var kind: String?
    public var up: Bool
    public var carrier: Bool
    public var operstate: String
    public var mtu: Int
    public var usable: Bool
    public var problem: UnusableReason?
    public var master: String?
    public var ports: PortCount?
    public var hardwareAddress: String?
    public var carrierChanges: UInt32
    public var required: Bool
    public var ignored: Bool
    public var isExpensive: Bool
    public var isConstrained: Bool
    public var addresses: [AddressDocument]
    /// Whether it has given itself an IPv4 address out of 169.254.0.0/16 (RFC 3927) and has no other but link-local
    /// ones: it reaches its neighbours, and no DHCP server has answered.
    public var linkLocalOnly: Bool
    /// `nil` for an interface that is a member of no Wi-Fi network.
    public var wifi: WirelessDocument?
    /// `nil` in events, and for an interface that is not measured.
    public var counters: LinkCountersDocument?

    public static let members = Members<Self>.named("Interface", "A network interface.")
        .member("name") { $0.name }
        .added("alternative_names", "Its other names, in the kernel's order.") { $0.alternativeNames }
        .member("index") { $0.index }
        .added("type", as: .oneOf(InterfaceType.self), "What it is, in Apple's words.") { $0.type.rawValue }
        .member("kind", "The kind of a virtual link, such as `bridge`; `null` for hardware.") { $0.kind }
        .added("up", "Whether the administrator wants it up.") { $0.up }
        .added("carrier") { $0.carrier }
        .added("operstate", as: .words(in: OperationalState.allCases.map(\.word)), "The state of RFC 2863.") {
            $0.operstate
        }
        .added("mtu", "The largest packet, in bytes.") { $0.mtu }
        .added("usable", "Whether it could carry traffic, as far as link and addresses go.") { $0.usable }
        .member("problem", as: .oneOf(UnusableReason.self), "What keeps it from that; `null` when usable.") {
            $0.problem?.rawValue
        }
        .member("master", "The bridge, bond, team or VRF it is a port of.") { $0.master }
        .optional("ports", "Of a bond, team or HSR link only.") { $0.ports }
        .member("hardware_address", as: hardwareAddress, "`null` for links without one.") { $0.hardwareAddress }
        .added("carrier_changes", "How often the carrier changed since the link was made.") { Int($0.carrierChanges) }
        .added("required") { $0.required }
        .added("ignored", "Whether events and metrics leave it out.") { $0.ignored }
        .added("is_expensive") { $0.isExpensive }
        .added("is_constrained", "Whether programs should spare traffic on it.") { $0.isConstrained }
        .added("addresses", "Its addresses, IPv4 first.") { $0.addresses }
        .added("link_local_only", "Whether its only addresses are link-local, one out of 169.254.0.0/16.") {
            $0.linkLocalOnly
        }
        .optional("wifi", "Left out unless it is a member of a Wi-Fi network.") { $0.wifi }
        .optional("counters", "Of measured links, in `/api/v1/interfaces`.") { $0.counters }

    /// Shows an interface; remaining lifetimes are counted from `now`, the time since boot.
    public init(_ view: InterfaceView, at now: Duration) {
        name = view.name
        alternativeNames = view.alternativeNames
        index = view.index
        type = view.type
        kind = view.kind
        up = view.isUp
        carrier = view.hasCarrier
        operstate = view.operationalState.word
        mtu = view.mtu
        usable = view.isUsable
        problem = view.unusableReason
        master = view.master
        ports = view.ports
        hardwareAddress = view.hardwareAddress.isEmpty ? nil : Self.text(of: view.hardwareAddress)
        carrierChanges = view.carrierChanges
        required = view.isRequired
        ignored = view.isIgnored
        isExpensive = view.isExpensive
        isConstrained = view.isConstrained
        addresses = view.addresses.map { AddressDocument($0, at: now) }
        let held = view.addresses.map(\.address)
        linkLocalOnly = held.allSatisfy(\.isLinkLocal) && held.contains { $0.family == .ipv4 }
        wifi = view.wifi.map(WirelessDocument.init)
    }

    /// Such as `02:00:5e:10:00:01`.
    private static func text(of bytes: [UInt8]) -> String {
        bytes.hexadecimal(separator: ":")
    }
}

public struct AddressDocument: MemberDeclaring, Equatable, Sendable {
    public var address: String
    public var prefixLength: Int
    public var family: String
    public var scope: String
    public var flags: [String]
    public var validSeconds: Int?

    public static let members = Members<Self>.named("Address", "An address of an interface.")
        .member("address") { $0.address }
        .member("prefix_length", as: .integer(from: 0, to: 128), "How many leading bits name the network.") {
            $0.prefixLength
        }
        .member("family", as: .family) { $0.family }
        .added("scope", as: .words("global", "site", "link", "host", "nowhere"), "As ip-address(8) has it.") {
            $0.scope
        }
        .added("flags", as: flag) { $0.flags }
        .member("valid_seconds", "For how long it stays valid; `null` when for ever.") { $0.validSeconds }

    /// Shows an address; its remaining lifetime is counted from `now`, the time since boot.
    public init(_ view: AddressView, at now: Duration) {
        address = "\(view.address)"
        prefixLength = view.prefixLength
        family = view.address.family.rawValue
        scope = view.scopeName
        var flags: [String] = []
        let names: [(AddressFlags, String)] = [
            (.temporary, "temporary"), (.deprecated, "deprecated"), (.tentative, "tentative"),
            (.duplicateDetected, "dadfailed"), (.optimistic, "optimistic"),
        ]
        for (flag, name) in names where view.flags.contains(flag) { flags.append(name) }
        if !view.flags.contains(.permanent) { flags.append("dynamic") }
        self.flags = flags
        validSeconds = view.validUntil.map { max(0, Int(($0 - now).components.seconds)) }
    }
}

/// An interface where something else is about it: an object wherever `interface` stands.
public struct InterfaceReference: MemberDeclaring, Equatable, Sendable {
    public var name: String
    public var index: Int?

    public init(_ view: InterfaceView) {
        name = view.name
        index = view.index
    }

    public init(named name: String) { self.name = name }

    public static let members = Members<Self>
        .named("InterfaceReference", "An interface by name, wherever `interface` stands.")
        .member("name") { $0.name }
        .optional("index", as: .integer(from: 1), "Left out where only the name is known.") { $0.index }
}

// MARK: - Forms

extension InterfaceDocument {
    private static var hardwareAddress: Form { .pattern("^[0-9a-f]{2}(:[0-9a-f]{2})*$") }
}

extension PortCount: MemberDeclaring {
    public static let members = Members<Self>.named("Ports", "The ports of a bond, team or HSR link.")
        .member("working", "Ports that could send now.") { $0.working }
        .member("total") { $0.total }
        .member("failed", "The names of the others.") { $0.failed }
}

extension AddressDocument {
    private static var flag: Form {
        .words("temporary", "deprecated", "tentative", "dadfailed", "optimistic", "dynamic")
    }
}
