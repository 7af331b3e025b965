// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// What a diagnosis may test beyond the own link; what is missing here is not tested and not assessed.
public struct Targets: Hashable, Sendable {
    /// Hosts that normally answer, best two or more in different networks.
    public var anchors: [Anchor] = []
    /// The page of an anchor that answers with status 204.
    public var path = "/generate_204"
    /// Where it is served without encryption.
    public var httpPort: UInt16 = 80
    public var httpsPort: UInt16 = 443
    /// Where anchors send datagrams back; `nil` when they do not.
    public var echoPort: UInt16?
    /// Whether anchors answer the challenge of a request, which no router on the path could know.
    public var answersChallenge = true
    public var names = Names()
    public var timeServers: [IPAddress] = []
    /// A file of certificates that those of the anchors must verify against; `nil` is the system's.
    public var authorities: String?
    /// Hosts on the own link that normally answer.
    public var peers: [IPAddress] = []
    public var load = Load()
    public var budgets = Budgets()

    public init() {}

    /// A host in another network.
    public struct Anchor: Hashable, Sendable {
        public var name = ""
        /// Its name; `nil` when it has none that matters.
        public var host: String?
        /// Its IPv4 address; `nil` when it has none.
        public var ipv4: IPAddress?
        /// Its IPv6 address; `nil` when it has none.
        public var ipv6: IPAddress?
        public var hasPage = true

        public init(_ name: String, host: String?, ipv4: IPAddress?, ipv6: IPAddress?, hasPage: Bool = true) {
            self.name = name
            self.host = host
            self.ipv4 = ipv4
            self.ipv6 = ipv6
            self.hasPage = hasPage
        }

        public func address(_ family: AddressFamily) -> IPAddress? { family == .ipv4 ? ipv4 : ipv6 }
    }

    public struct Names: Hashable, Sendable {
        /// A zone in which every name has the address ``wildcardAddress``; names in it are new to every cache.
        public var wildcard: String?
        /// The address of every name in ``wildcard``.
        public var wildcardAddress: IPAddress?
        /// A zone in which random names do not exist.
        public var nonexistentZone: String?
        /// A name with a text of 3 kB.
        public var bigText: String?
        /// Whether the name servers of the root are queried for, where no other name is.
        public var queriesRoot = false
    }

    public struct Load: Hashable, Sendable {
        /// The URL of a large page.
        public var download: String?
        /// The URL of a page that accepts any POST.
        public var upload: String?
        /// The URL of a small page.
        public var small: String?
        public var maximumBytes = 40_000_000
        public var maximumDuration = Duration.seconds(5)

        public var isPossible: Bool { download != nil || upload != nil }
    }

    /// Well-known hosts of four operators, for machines whose operator named none.
    ///
    /// The first two are name servers that answer echo requests and TLS under addresses that do not change; the others
    /// serve the page that browsers load to detect a portal.
    public static var publicDefaults: Targets {
        var targets = Targets()
        targets.anchors = [
            Anchor(
                "cloudflare",
                host: "one.one.one.one",
                ipv4: .v4(0x0101_0101),
                ipv6: .v6(0x2606_4700_4700_0000_0000_0000_0000_1111),
                hasPage: false
            ),
            Anchor(
                "google",
                host: "dns.google",
                ipv4: .v4(0x0808_0808),
                ipv6: .v6(0x2001_4860_4860_0000_0000_0000_0000_8888),
                hasPage: false
            ),
            Anchor("gstatic", host: "connectivitycheck.gstatic.com", ipv4: nil, ipv6: nil),
            Anchor("cloudflare-page", host: "cp.cloudflare.com", ipv4: nil, ipv6: nil),
        ]
        targets.answersChallenge = false
        targets.names.nonexistentZone = "example.com"
        return targets
    }
}
