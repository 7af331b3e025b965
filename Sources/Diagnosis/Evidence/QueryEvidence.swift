// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing
package import PathModel

/// What kind of packet is sent, and to which port.
package enum QueryProtocol: Hashable, Sendable, CustomStringConvertible {
    case echo
    case tcp(UInt16)
    case udp(UInt16)

    /// Such as `TCP port 443` or `ICMP echo`.
    package var description: String {
        switch self {
        case .echo: "ICMP echo"
        case .tcp(let port): "TCP port \(port)"
        case .udp(let port): "UDP port \(port)"
        }
    }
}

/// What keeps packets of this machine from leaving it, or replies from reaching its programs.
package struct LocalObstacle: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A packet filter or IPsec policy refuses what is sent.
        case outputFilter
        /// A packet filter drops what arrives.
        case inputFilter
        /// The reverse path filter (`rp_filter`) drops what arrives.
        case reversePath
        /// An element of the kernel's path, up to the nexthop.
        case path(ExplanationElement)
    }

    package var kind: Kind
    /// A clause such as `the packet filter inet filter output refuses TCP port 443`.
    package var text: String
    /// What mends or shows it.
    package var hint: String?

    package init(_ kind: Kind, _ text: String, hint: String?) {
        self.kind = kind
        self.text = text
        self.hint = hint
    }
}

/// One kind of query to one target that got no answer at first: what this machine does with its packets, and what became
/// of it on further flows.
package struct QueryEvidence: Hashable, Sendable {
    package enum Target: Hashable, Sendable {
        /// An anchor, by its name.
        case anchor(String)
        case nameServer
        case destination
    }

    package var target: Target
    package var address: IPAddress
    package var kind: QueryProtocol
    /// How many further flows were tried, each from a local port of its own.
    package var flows = 0
    /// How many of them got an answer.
    package var answered = 0
    package var obstacle: LocalObstacle?

    package init(_ target: Target, _ address: IPAddress, _ kind: QueryProtocol) {
        self.target = target
        self.address = address
        self.kind = kind
    }
}

/// A name that the C library looked up, as programs do.
package struct LookupEvidence: Hashable, Sendable {
    package var name: String
    /// What was found; `nil` when the lookup failed.
    package var addresses: Set<IPAddress>?
    /// Why it failed.
    package var failure: String?
    package var duration: Duration
    /// The addresses that it must be among, where they are known.
    package var expected: Set<IPAddress>
    /// The line `hosts:` of nsswitch.conf(5), where it names no service that queries name servers.
    package var sourcesWithoutDNS: String?
    /// Where `/etc/hosts` gives the name other addresses, such as `/etc/hosts:3`.
    package var hostsLine: String?

    package init(_ name: String, _ duration: Duration, expected: Set<IPAddress>) {
        self.name = name
        self.duration = duration
        self.expected = expected
    }
}

extension Evidence {
    /// What this machine does with queries of a kind to an address that keeps them from being answered.
    func obstacle(to address: IPAddress, _ kind: QueryProtocol) -> LocalObstacle? {
        queries.first { $0.address == address && $0.kind == kind }?.obstacle
    }
}
