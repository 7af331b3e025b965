// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CNetlink
public import LinuxIO

/// What rules do to packets.
public struct FilterEffects: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A packet that must not be fragmented may be, or a copy of it or a program gets it, or it gets another destination: one
    /// that is tried may leave.
    public static let release = FilterEffects(rawValue: 1)
    /// The TTL or the hop limit is another one.
    public static let writeHopLimit = FilterEffects(rawValue: 2)
    /// What becomes of a packet depends on its length: one that is tried is longer than others.
    public static let matchLength = FilterEffects(rawValue: 4)
    /// What becomes of a connection depends on its TCP options, which one that is tried lacks.
    public static let matchOptions = FilterEffects(rawValue: 8)
    /// A packet leaves with another address or port than its program gave it.
    package static let translate = FilterEffects(rawValue: 16)
}

/// The chains of nf_tables that outgoing packets of this machine pass; those of iptables-nft are among them.
public struct PacketFilter: Hashable, Sendable {
    /// One base chain at the output or postrouting hook.
    public struct Chain: Hashable, Sendable, CustomStringConvertible {
        /// `ip`, `ip6` or `inet`.
        public var family: String
        public var table: String
        public var name: String
        /// `filter`, `route` or `nat`.
        public var kind: String
        /// Whether it comes after routing.
        public var isPostrouting: Bool
        /// Whether it has no rule and lets all pass.
        public var isIdle: Bool

        /// As nft(8) names it.
        public var description: String { "\(family) \(table) \(name)" }

        /// Whether packets of an address family pass it.
        func sees(_ addresses: AddressFamily) -> Bool {
            family == "inet" || family == (addresses == .ipv4 ? "ip" : "ip6")
        }
    }

    /// The number of the set of rules, which every change of it raises.
    public var generation: UInt32
    /// Those that may refuse a packet.
    public var chains: [Chain]
    /// What rules do to packets of each family that keeps from trying some.
    public var effects: [AddressFamily: FilterEffects]
    /// Where rules lead packets (DNAT); an unspecified address stands for one that is not known.
    public var destinations: Set<IPAddress> = []
    /// The rules that drop all packets of a user.
    package var users: [UserRule] = []
    /// The effects of iptables beside nf_tables.
    public var legacyEffects: [AddressFamily: FilterEffects] = [:]
    /// Their destinations.
    public var legacyDestinations: Set<IPAddress> = []
    /// Whether packets of this machine may get another destination before the hook postrouting.
    private(set) var redirects = false

    public init(generation: UInt32, chains: [Chain], effects: [AddressFamily: FilterEffects] = [:]) {
        self.generation = generation
        self.chains = chains.filter { !$0.isIdle && $0.kind != "nat" }
        redirects = chains.contains { !$0.isIdle && $0.kind == "nat" && !$0.isPostrouting }
        self.effects = effects
    }

    /// Whether rules of a family may do this.
    public func may(_ effect: FilterEffects, _ family: AddressFamily) -> Bool {
        !(effects[family] ?? []).union(legacyEffects[family] ?? []).isDisjoint(with: effect)
    }

    /// Whether packets of a family may leave with another destination than their programs gave them, or not themselves.
    package func mayLeadElsewhere(_ family: AddressFamily) -> Bool {
        redirects || may(.translate, family) || may(.release, family)
    }

    /// Whether a packet that is bound to an interface may be refused where others are not: one that is led to this machine
    /// itself leaves by the loopback interface, which the hook postrouting sees.
    public var mayRefuseBoundOnly: Bool { redirects && chains.contains(where: \.isPostrouting) }

    /// Whether rules may refuse, or let pass, a packet that is tried where they do not do so with those of programs.
    public func mayMistake(_ verdict: OutputVerdict, of transport: Transport, _ family: AddressFamily) -> Bool {
        if transport.number == 6, may(.matchOptions, family) { return verdict == .open || verdict == .filtered }
        return verdict == .filtered && may(.matchLength, family)
    }

    /// What stands for rules that could not be read: nothing may be tried.
    static let unreadable: PacketFilter = {
        let all = FilterEffects([.release, .writeHopLimit, .translate])
        return PacketFilter(generation: 0, chains: [], effects: [.ipv4: all, .ipv6: all])
    }()

    /// The chains that packets of an address family pass.
    public func chains(_ family: AddressFamily) -> [Chain] { chains.filter { $0.sees(family) } }

    /// Whether a chain may have packets routed again, so that routes and rules decide what becomes of them.
    public func reroutes(_ family: AddressFamily) -> Bool { chains(family).contains { $0.kind == "route" } }

    /// Reads the chains that packets to this machine pass: those of the hooks prerouting and input with rules.
    /// - Throws: ``NetlinkError``; without `CAP_NET_ADMIN` that it is refused.
    package static func inputChains(_ family: AddressFamily) throws(NetlinkError) -> [Chain] {
        var socket = try NetlinkSocket(family: NETLINK_NETFILTER, capacity: 65_536)
        try socket.limitWaiting(to: .seconds(2))
        var chains: [Chain] = []
        _ = try socket.exchange(.filterChains, sequence: 1) { _, body in
            guard let base = BaseChain(decoding: body),
                let chain = Chain(base, at: [BaseChain.prerouting, BaseChain.input]),
                !chain.isIdle, chain.kind != "nat", chain.sees(family)
            else { return }
            chains.append(chain)
        }
        return chains
    }

    /// Reads the chains of the calling thread's network namespace, and their rules.
    /// - Parameter previous: What was read before.
    /// - Returns: The same as long as nothing has changed since.
    /// - Throws: ``NetlinkError``; without `CAP_NET_ADMIN` that it is refused.
    public static func read(after previous: PacketFilter? = nil) throws(NetlinkError) -> PacketFilter {
        var socket = try NetlinkSocket(family: NETLINK_NETFILTER, capacity: 65_536)
        try socket.limitWaiting(to: .seconds(2))
        var generation: UInt32 = 0
        try socket.exchange(.filterGeneration, sequence: 1) { _, body in
            var attributes = AttributeReader(body, from: BaseChain.headerLength)
            while attributes.advance() {
                if attributes.kind == 1 { generation = attributes.payload.network32(at: 0) }
            }
        }
        if let previous, previous.generation == generation { return previous }
        var (chains, rules): ([Chain], FilterRules) = ([], FilterRules())
        var isConsistent = try socket.exchange(.filterChains, sequence: 2) { _, body in
            guard let base = BaseChain(decoding: body) else { return }
            if let chain = Chain(base) { chains.append(chain) }
            rules.add(base)
        }
        // Other tables may have very many.
        for (number, table) in rules.tables.enumerated() {
            isConsistent =
                try socket.exchange(.filterRules(of: table), sequence: UInt32(number) + 3) { _, body in
                    if let rule = FilterRule(decoding: body) { rules.add(rule) }
                } && isConsistent
        }
        // Rules that changed meanwhile are announced, and read again.
        var filter = PacketFilter(generation: isConsistent ? generation : 0, chains: chains, effects: rules.effects)
        filter.destinations = rules.destinations
        filter.users = rules.users
        return filter
    }
}

extension Question {
    /// NFNL_SUBSYS_NFTABLES of linux/netfilter/nfnetlink.h, in the upper byte of the type.
    private static let filters: UInt16 = 10 << 8
    /// NFT_MSG_GETGEN with `struct nfgenmsg`.
    fileprivate static let filterGeneration = Question(type: filters | 16, flags: 0, body: [0, 0, 0, 0])
    /// NFT_MSG_GETCHAIN with `struct nfgenmsg`, of all families.
    static let filterChains = Question(type: filters | 4, flags: dump, body: [0, 0, 0, 0])
    /// NFT_MSG_GETRULE with NFTA_RULE_TABLE.
    static func filterRules(of table: FilterRules.Table) -> Question {
        var question = Question(type: filters | 7, flags: dump, body: [table.family, 0, 0, 0])
        question.add(1, Array(table.name.utf8) + [0])
        return question
    }
}

/// A chain of nf_tables that the kernel calls at a hook, as an NFT_MSG_NEWCHAIN describes it (the NFTA_CHAIN_* of
/// linux/netfilter/nf_tables.h).
struct BaseChain {
    var chain: FilterRule.Chain
    var hook: UInt32
    /// `filter`, `route` or `nat`.
    var kind = ""
    /// How many rules it has.
    var uses: UInt32 = 0
    /// What becomes of packets that no rule decides: `NF_ACCEPT` is 1.
    var policy: UInt32 = 1

    /// The length of `struct nfgenmsg`.
    fileprivate static let headerLength = 4
    /// `NF_INET_LOCAL_OUT` and `NF_INET_POST_ROUTING`.
    static let (output, postrouting) = (UInt32(3), UInt32(4))
    /// `NF_INET_PRE_ROUTING` and `NF_INET_LOCAL_IN`.
    static let (prerouting, input) = (UInt32(0), UInt32(1))

    /// Reads a message.
    /// - Returns: `nil` for a chain that only other chains lead to.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= Self.headerLength else { return nil }
        chain = FilterRule.Chain(family: body[0])
        var hook: UInt32?
        var attributes = AttributeReader(body, from: Self.headerLength)
        while attributes.advance() {
            switch attributes.kind {
            case 1: chain.table = attributes.text
            case 3: chain.name = attributes.text
            case 4:
                var details = AttributeReader(attributes.payload)
                while details.advance() {
                    if details.kind == 1, details.payload.count >= 4 { hook = details.payload.network32(at: 0) }
                }
            case 5 where attributes.payload.count >= 4: policy = attributes.payload.network32(at: 0)
            case 6 where attributes.payload.count >= 4: uses = attributes.payload.network32(at: 0)
            case 7: kind = attributes.text
            default: break
            }
        }
        guard let hook else { return nil }
        self.hook = hook
    }
}

extension PacketFilter.Chain {
    /// NFPROTO_INET, NFPROTO_IPV4 and NFPROTO_IPV6.
    private static let families: [UInt8: String] = [1: "inet", 2: "ip", 10: "ip6"]

    /// - Returns: `nil` for one at another hook.
    init?(_ base: BaseChain, at hooks: [UInt32] = [BaseChain.output, BaseChain.postrouting]) {
        guard let family = Self.families[base.chain.family], hooks.contains(base.hook) else { return nil }
        self.family = family
        table = base.chain.table
        name = base.chain.name
        kind = base.kind
        isPostrouting = base.hook == BaseChain.postrouting
        isIdle = base.uses == 0 && base.policy == 1
    }
}
