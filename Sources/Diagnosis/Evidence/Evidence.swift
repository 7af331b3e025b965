// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing

/// Everything that was found out in one round; what is missing was not tested and is not evaluated.
public struct Evidence: Hashable, Sendable {
    /// The interfaces that could carry traffic, the most wanted one first.
    public var links: [LinkEvidence] = []
    /// Hosts on the link that normally answer.
    public var peers: [PeerEvidence] = []
    /// What the own machine does with packets, by family.
    public var sending: [SendEvidence] = []
    public var gateways: [GatewayEvidence] = []
    public var portal = PortalEvidence()
    public var reach: [ReachEvidence] = []
    /// What the machine's own connections show, where somebody reads them.
    public var traffic: [TrafficEvidence] = []
    /// The faults that counters of links show, where somebody reads them.
    public var health: [Verdict] = []
    public var dns: Assessment<[NameServerEvidence]> = .notAsked
    /// Those of the name servers that are hosts on a link of this machine, by the kernel's routes.
    package var onLink: Set<IPAddress> = []
    /// A name that the C library looked up; `nil` where none was.
    package var lookup: LookupEvidence?
    /// Users whose packets a packet filter of this machine drops, by name, with the chain.
    package var blockedUsers: [BlockedUser] = []
    /// Queries that got no answer at first.
    package var queries: [QueryEvidence] = []
    /// The interfaces that packets are shared among, where there are several.
    package var uplinks: [UplinkEvidence] = []
    /// What became of requests through the proxies of the environment.
    package var proxies: [ProxyEvidence] = []
    public var transport = TransportEvidence()
    public var application = ApplicationEvidence()
    public var performance = PerformanceEvidence()
    /// The path to one destination, if one is diagnosed.
    public var destination: DestinationEvidence?
    /// Whether the network was examined; a destination that works gives no reason to.
    public var isNetworkExamined = true
    /// What this machine lacked for a test, such as `no local port is left (EADDRNOTAVAIL)`.
    public var shortage: String?
    /// Why nothing was found out at a layer, where that is known better than by the evidence itself.
    public var gaps: [Layer: String] = [:]

    public init() {}

    package struct BlockedUser: Hashable, Sendable {
        package var name: String
        /// As nft(8) names it.
        package var chain: String

        package init(name: String, chain: String) {
            self.name = name
            self.chain = chain
        }
    }
}
