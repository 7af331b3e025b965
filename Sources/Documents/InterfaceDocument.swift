// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink
public import OrderedJSON
public import PathModel

/// A network interface as events, routes and commands show it.
public struct InterfaceDocument: Encodable, Equatable, Sendable {
    public var name: String
    /// Its other names, in the kernel's order.
    public var alternativeNames: [String]
    public var index: Int
    /// What it is, in Apple's words.
    public var type: InterfaceType
    /// The kind of a virtual link, such as `bridge`; `null` for hardware.
    @Nullable public var kind: String?
    /// Whether the administrator wants it up.
    public var up: Bool
    public var carrier: Bool
    /// The operational state of RFC 2863, such as `lowerlayerdown`.
    public var operstate: String
    /// The largest packet, in bytes.
    public var mtu: Int
    /// Whether it could carry traffic, as far as link and addresses go.
    public var usable: Bool
    /// What keeps it from carrying traffic, such as `no_carrier`; `null` when usable.
    @Nullable public var problem: Shortcoming?
    /// The bridge, bond, team or VRF it is a port of.
    @Nullable public var master: String?
    /// The hardware address; `null` for links without one.
    @Nullable public var hardwareAddress: String?
    /// How often the carrier changed since the link was made.
    public var carrierChanges: UInt32
    public var required: Bool
    /// Whether events and metrics leave it out.
    public var ignored: Bool
    public var isExpensive: Bool
    /// Whether programs should spare traffic on it.
    public var isConstrained: Bool
    /// Its addresses, IPv4 first.
    public var addresses: [AddressDocument]
    /// Whether it has given itself an IPv4 address out of 169.254.0.0/16 (RFC 3927) and has no other but link-local
    /// ones: it reaches its neighbours, and no DHCP server has answered.
    public var linkLocalOnly: Bool

    enum CodingKeys: String, CodingKey {
        case name
        case alternativeNames = "alternative_names"
        case index
        case type
        case kind
        case up
        case carrier
        case operstate
        case mtu
        case usable
        case problem
        case master
        case hardwareAddress = "hardware_address"
        case carrierChanges = "carrier_changes"
        case required
        case ignored
        case isExpensive = "is_expensive"
        case isConstrained = "is_constrained"
        case addresses
        case linkLocalOnly = "link_local_only"
    }

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
        problem = view.shortcoming
        master = view.master
        hardwareAddress = view.hardwareAddress.isEmpty ? nil : Self.text(of: view.hardwareAddress)
        carrierChanges = view.carrierChanges
        required = view.isRequired
        ignored = view.isIgnored
        isExpensive = view.isExpensive
        isConstrained = view.isConstrained
        addresses = view.addresses.map { AddressDocument($0, at: now) }
        let held = view.addresses.map(\.address)
        linkLocalOnly = held.allSatisfy(\.isLinkLocal) && held.contains { $0.family == .ipv4 }
    }

    /// Such as `02:00:5e:10:00:01`.
    private static func text(of bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    }
}

public struct AddressDocument: Encodable, Equatable, Sendable {
    public var address: String
    /// How many leading bits name the network.
    public var prefixLength: Int
    /// `ipv4` or `ipv6`.
    public var family: String
    /// `global`, `site`, `link` or `host`, as ip-address(8) has it.
    public var scope: String
    /// `temporary`, `deprecated`, `tentative`, `dadfailed`, `optimistic`, `dynamic`.
    public var flags: [String]
    /// For how long it stays valid; `null` when for ever.
    @Nullable public var validSeconds: Int?

    enum CodingKeys: String, CodingKey {
        case address
        case prefixLength = "prefix_length"
        case family
        case scope
        case flags
        case validSeconds = "valid_seconds"
    }

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
public struct InterfaceReference: JSONObjectWritable, Equatable, Sendable {
    public var name: String
    /// Its index; left out where only the name is known.
    public var index: Int?

    public init(_ view: InterfaceView) {
        name = view.name
        index = view.index
    }

    public init(named name: String) { self.name = name }

    public func write(to object: inout JSONObjectWriter) {
        object.write("name", name)
        if let index { object.write("index", index) }
    }
}
