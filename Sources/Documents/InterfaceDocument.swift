// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink
public import OrderedJSON
public import PathModel

/// A network interface as events, routes and commands show it.
public struct InterfaceDocument: JSONObjectWritable, Equatable, Sendable {
    public var name: String
    public var alternativeNames: [String]
    public var index: Int
    public var type: InterfaceType
    public var kind: String?
    public var up: Bool
    public var carrier: Bool
    /// The operational state of RFC 2863, such as `lowerlayerdown`.
    public var operstate: String
    public var mtu: Int
    public var usable: Bool
    /// What keeps it from carrying traffic, such as `no_carrier`; `null` when usable.
    public var problem: UnusableReason?
    public var master: String?
    /// The ports of a bond, team or HSR link; `nil` for other links.
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
        object.writeIfPresent("ports", ports)
        object.write("hardware_address", hardwareAddress)
        object.write("carrier_changes", Int(carrierChanges))
        object.write("required", required)
        object.write("ignored", ignored)
        object.write("is_expensive", isExpensive)
        object.write("is_constrained", isConstrained)
        object.write("addresses", addresses)
        object.write("link_local_only", linkLocalOnly)
        object.writeIfPresent("wifi", wifi)
        object.writeIfPresent("counters", counters)
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

public struct AddressDocument: JSONObjectWritable, Equatable, Sendable {
    public var address: String
    public var prefixLength: Int
    /// `ipv4` or `ipv6`.
    public var family: String
    /// `global`, `site`, `link` or `host`, as ip-address(8) has it.
    public var scope: String
    /// `temporary`, `deprecated`, `tentative`, `dadfailed`, `optimistic`, `dynamic`.
    public var flags: [String]
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

// MARK: - Forms

extension InterfaceDocument {
    public static var form: Form {
        .named("Interface", "A network interface.")
            .member("name", .text)
            .added("alternative_names", .list(of: .text), "Its other names, in the kernel's order.")
            .member("index", .count)
            .added("type", .oneOf(InterfaceType.self), "What it is, in Apple's words.")
            .member("kind", .text.orNull, "The kind of a virtual link, such as `bridge`; `null` for hardware.")
            .added("up", .truth, "Whether the administrator wants it up.")
            .added("carrier", .truth)
            .added("operstate", .words(in: OperationalState.allCases.map(\.word)), "The state of RFC 2863.")
            .added("mtu", .count, "The largest packet, in bytes.")
            .added("usable", .truth, "Whether it could carry traffic, as far as link and addresses go.")
            .member("problem", .oneOf(UnusableReason.self).orNull, "What keeps it from that; `null` when usable.")
            .member("master", .text.orNull, "The bridge, bond, team or VRF it is a port of.")
            .optional("ports", PortCount.form, "Of a bond, team or HSR link only.")
            .member("hardware_address", hardwareAddress.orNull, "`null` for links without one.")
            .added("carrier_changes", .count, "How often the carrier changed since the link was made.")
            .added("required", .truth)
            .added("ignored", .truth, "Whether events and metrics leave it out.")
            .added("is_expensive", .truth)
            .added("is_constrained", .truth, "Whether programs should spare traffic on it.")
            .added("addresses", .list(of: AddressDocument.form), "Its addresses, IPv4 first.")
            .added("link_local_only", .truth, "Whether its only addresses are link-local, one out of 169.254.0.0/16.")
            .optional("wifi", WirelessDocument.form, "Left out unless it is a member of a Wi-Fi network.")
            .optional("counters", LinkCountersDocument.form, "Of measured links, in `/api/v1/interfaces`.")
    }

    private static var hardwareAddress: Form { .pattern("^[0-9a-f]{2}(:[0-9a-f]{2})*$") }
}

extension PortCount: JSONObjectWritable {
    public func write(to object: inout JSONObjectWriter) {
        object.write("working", working)
        object.write("total", total)
        object.write("failed", failed)
    }

    static var form: Form {
        .named("Ports", "The ports of a bond, team or HSR link.")
            .member("working", .count, "Ports that could send now.")
            .member("total", .count)
            .member("failed", .list(of: .text), "The names of the others.")
    }
}

extension AddressDocument {
    public static var form: Form {
        .named("Address", "An address of an interface.")
            .member("address", .text)
            .member("prefix_length", .integer(from: 0, to: 128), "How many leading bits name the network.")
            .member("family", .family)
            .added("scope", .words("global", "site", "link", "host", "nowhere"), "As ip-address(8) has it.")
            .added("flags", .list(of: flag))
            .member("valid_seconds", .count.orNull, "For how long it stays valid; `null` when for ever.")
    }

    private static var flag: Form {
        .words("temporary", "deprecated", "tentative", "dadfailed", "optimistic", "dynamic")
    }
}

extension InterfaceReference {
    public static var form: Form {
        .named("InterfaceReference", "An interface by name, wherever `interface` stands.")
            .member("name", .text)
            .optional("index", .integer(from: 1), "Left out where only the name is known.")
    }
}
