// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import Netlink

/// What the operator decided, apart from files and sockets: the part of the configuration that shapes paths.
public struct PathPolicy: Hashable, Sendable {
    /// Addresses whose route stands for "the Internet"; no packet is sent to them (rule S20).
    public var probes: [AddressFamily: [IPAddress]]
    /// Globs of interfaces to leave out everywhere (rule S15).
    public var ignore: [String]
    /// Decisions per interface glob; the first match wins, exact names before globs.
    public var interfaces: [InterfacePolicy]
    /// Named monitors besides `default`.
    public var monitors: [MonitorPolicy]
    /// Whether a path counts only through a tunnel (rule S22).
    public var requiresVPN: Bool
    /// Whether an unreachable gateway makes a path unsatisfied (rule S52).
    public var isGatewayStrict: Bool
    /// For how long after its link came up an interface without an address counts as configuring (rule S23).
    public var configuringWindow: Duration
    /// Whether the names and addresses of Wi-Fi networks stay in this process.
    public var redactsWifi: Bool
    /// The interface or VRF that the sockets of this process are bound to from the start, as `ip vrf exec` binds them.
    public var boundInterface: String?

    /// What the monitor `default` is about.
    public var standardMonitor: MonitorPolicy { MonitorPolicy(outputInterface: boundInterface) }

    /// The policy of an empty configuration.
    public init(
        probes: [AddressFamily: [IPAddress]] = PathPolicy.defaultProbes,
        ignore: [String] = [],
        interfaces: [InterfacePolicy] = [],
        monitors: [MonitorPolicy] = [],
        requiresVPN: Bool = false,
        isGatewayStrict: Bool = false,
        configuringWindow: Duration = .seconds(30),
        redactsWifi: Bool = false,
        boundInterface: String? = nil
    ) {
        self.probes = probes
        self.ignore = ignore
        self.interfaces = interfaces
        self.monitors = monitors
        self.requiresVPN = requiresVPN
        self.isGatewayStrict = isGatewayStrict
        self.configuringWindow = configuringWindow
        self.redactsWifi = redactsWifi
        self.boundInterface = boundInterface
    }

    /// Anycast resolvers far apart in address space: 1.1.1.1, 8.8.8.8, 9.9.9.9, 208.67.222.222 and their IPv6 twins.
    public static let defaultProbes: [AddressFamily: [IPAddress]] = [
        .ipv4: [.v4(0x0101_0101), .v4(0x0808_0808), .v4(0x0909_0909), .v4(0xD043_DEDE)],
        .ipv6: [
            .v6(0x2606_4700_4700_0000_0000_0000_0000_1111), .v6(0x2001_4860_4860_0000_0000_0000_0000_8888),
            .v6(0x2620_00FE_0000_0000_0000_0000_0000_00FE), .v6(0x2620_0119_0035_0000_0000_0000_0000_0035),
        ],
    ]
}

/// What the operator decided about interfaces that match a glob; `nil` leaves a question to the rules.
public struct InterfacePolicy: Hashable, Sendable {
    /// The longest name that an interface may have, in bytes.
    public static let longestName = Link.longestName

    /// A name or a glob with `*`, `?`, `[…]` and `\`, as the configuration reads it.
    public var match: String
    public var type: InterfaceType?
    /// Whether it must be up; a missing one raises an alert.
    public var isRequired: Bool?
    public var isExpensive: Bool?
    /// Whether programs should spare traffic on it.
    public var isConstrained: Bool?
    /// Whether programs should send next to nothing on it.
    public var isUltraConstrained: Bool?

    public init(
        match: String,
        type: InterfaceType? = nil,
        isRequired: Bool? = nil,
        isExpensive: Bool? = nil,
        isConstrained: Bool? = nil,
        isUltraConstrained: Bool? = nil
    ) {
        self.match = match
        self.type = type
        self.isRequired = isRequired
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.isUltraConstrained = isUltraConstrained
    }
}

/// A named monitor: a question about the path, as Apple's NWPathMonitor initialisers and rule S29 allow.
public struct MonitorPolicy: Hashable, Sendable {
    /// The name in routes, metrics and events.
    public var name: String
    /// Only interfaces of this type count.
    public var requiredType: InterfaceType?
    /// Interfaces of these types do not count.
    public var prohibitedTypes: Set<InterfaceType>
    /// The firewall mark of the packets in question.
    public var mark: UInt32
    /// The user whose packets are in question; `nil` means the daemon's.
    public var uid: UInt32?
    /// The interface, or VRF master, the packets are bound to.
    public var outputInterface: String?

    public static let standardName = "default"

    /// The question of the `default` monitor by default.
    public init(
        name: String = MonitorPolicy.standardName,
        requiredType: InterfaceType? = nil,
        prohibitedTypes: Set<InterfaceType> = [],
        mark: UInt32 = 0,
        uid: UInt32? = nil,
        outputInterface: String? = nil
    ) {
        self.name = name
        self.requiredType = requiredType
        self.prohibitedTypes = prohibitedTypes
        self.mark = mark
        self.uid = uid
        self.outputInterface = outputInterface
    }
}
