// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// What the own machine does with packets of one family that it wants to send.
public struct SendEvidence: Hashable, Sendable {
    public var family: AddressFamily
    public var route: Assessment<Route> = .notAsked
    /// How many packets were handed to the kernel.
    public var attempts = 0
    /// How many of them an output filter refused (`EPERM`).
    public var refused = 0
    /// The tunnel that the default route leaves by, if it does.
    public var tunnel: Tunnel?
    /// What became of packets from each own address, the address that the kernel would choose first.
    public var sources: [Source] = []
    /// Why packets of the family should leave this machine although there is no route: a clause such as
    /// `DHCP offers the router 192.0.2.1`.
    package var promise: String?

    /// What the routing table says of the Internet.
    public enum Route: Hashable, Sendable {
        case found
        /// There is none (`ENETUNREACH`).
        case missing
        /// A route or rule throws packets away: its type (`blackhole`, `unreachable`, `prohibit`) and text.
        case discarded(type: String, text: String)
    }

    /// A default route via a tunnel, compared with the same question bound to the device below.
    public struct Tunnel: Hashable, Sendable {
        /// The tunnel.
        public var interface: String
        /// The device below.
        public var device: String
        /// Whether the anchors answer through the tunnel.
        public var answers: Bool
        /// Whether they answer when the tunnel is gone round.
        public var answersAround: Bool

        public init(interface: String, device: String, answers: Bool, answersAround: Bool) {
            self.interface = interface
            self.device = device
            self.answers = answers
            self.answersAround = answersAround
        }
    }

    /// What became of packets from one own address.
    public struct Source: Hashable, Sendable {
        public var address: IPAddress
        /// Whether anybody answered them.
        public var answers: Bool

        public init(_ address: IPAddress, answers: Bool) {
            self.address = address
            self.answers = answers
        }
    }

    /// Makes evidence of a family that was not tried.
    public init(_ family: AddressFamily) { self.family = family }
}

public struct GatewayEvidence: Hashable, Sendable {
    public var address: IPAddress
    public var interface: String
    public var hardwareAddresses: Assessment<Set<String>> = .notAsked
    public var answersEcho: Assessment<Bool> = .notAsked
    /// Whether it answers a packet whose hop limit ends there.
    public var answersHopLimit: Assessment<Bool> = .notAsked
    /// The hardware address of an entry that somebody made by hand (`NUD_PERMANENT`), if it has one.
    package var staticEntry: String?
    /// Whether the path goes into a tunnel, whose own packets it forwards, of whatever family.
    package var carriesTunnel = false
    /// Whether other hosts on the link answered meanwhile.
    public var othersAnswer: Assessment<Bool> = .notAsked

    /// Whether an IP packet of its came back.
    public var isAnswering: Bool { answersEcho.value == true || answersHopLimit.value == true }
    /// Whether it is known to be there.
    var isSeen: Bool { isAnswering || hardwareAddresses.value?.isEmpty == false }

    /// Makes evidence of a router that was not tested yet.
    public init(_ address: IPAddress, on interface: String) {
        self.address = address
        self.interface = interface
    }
}

/// One of several interfaces that the packets of a family are shared among.
package struct UplinkEvidence: Hashable, Sendable {
    package var interface: String
    package var gateway: IPAddress?
    package var family: AddressFamily
    /// Whether any anchor answered by it.
    package var answers = false

    package init(_ interface: String, _ gateway: IPAddress?, _ family: AddressFamily) {
        self.interface = interface
        self.gateway = gateway
        self.family = family
    }
}
