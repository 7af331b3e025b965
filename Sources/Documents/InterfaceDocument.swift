// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink
public import OrderedJSON
public import PathModel

/// A network interface as events, routes and commands show it.
public struct InterfaceDocument: JSONObjectWritable, Equatable, Sendable {
    public var name: String
    /// Its other names, in the kernel's order.
    public var alternativeNames: [String]
    public var index: Int
    /// What it is, in Apple's words.
    public var type: InterfaceType
    /// The kind of a virtual link, such as `bridge`; `null` for hardware.
    public var kind: String?
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
    public var problem: Shortcoming?
    /// The bridge, bond, team or VRF it is a port of.
    public var master: String?
    /// The hardware address; `null` for links without one.
    public var hardwareAddress: String?
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

    public func write(to object: inout JSONObjectWriter) {
        object.write("name", name)
        object.write("alternative_names", alternativeNames)
        object.write("index", index)
        object.write("type", type.rawValue)
        object.write("kind", kind)
        object.write("up", up)
        object.write("carrier", carrier)
        object.write("operstate", operstate)
        object.write("mtu", mtu)
        object.write("usable", usable)
        object.write("problem", problem?.rawValue)
        object.write("master", master)
        object.write("hardware_address", hardwareAddress)
        object.write("carrier_changes", Int(carrierChanges))
        object.write("required", required)
        object.write("ignored", ignored)
        object.write("is_expensive", isExpensive)
        object.write("is_constrained", isConstrained)
        object.write("addresses", addresses)
        object.write("link_local_only", linkLocalOnly)
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

public struct AddressDocument: JSONObjectWritable, Equatable, Sendable {
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
    public var validSeconds: Int?

    public func write(to object: inout JSONObjectWriter) {
        object.write("address", address)
        object.write("prefix_length", prefixLength)
        object.write("family", family)
        object.write("scope", scope)
        object.write("flags", flags)
        object.write("valid_seconds", validSeconds)
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
        object.writeIfPresent("index", index)
    }
}
