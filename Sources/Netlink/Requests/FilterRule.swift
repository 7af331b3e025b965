// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// A rule of nf_tables, as far as it decides whether a packet that is tried may leave the machine.
struct FilterRule {
    /// A chain, by its family, table and name.
    struct Chain: Hashable {
        var family: UInt8
        var table = ""
        var name = ""
    }

    private(set) var chain: Chain
    /// The families whose TTL or hop limit it writes, or whose packets it copies or hands to a program.
    private var releasing: Set<AddressFamily> = []
    /// Whether it gives every packet another destination, whatever the destination was.
    private var redirectsAll: Bool { setsDestination && !readsDestination }
    private var setsDestination = false
    private var readsDestination = false

    /// The families that pass a table: `NFPROTO_INET`, `NFPROTO_IPV4`, `NFPROTO_NETDEV` and `NFPROTO_IPV6`.
    private static let passing: [UInt8: [AddressFamily]] = [
        1: [.ipv4, .ipv6], 2: [.ipv4], 5: [.ipv4, .ipv6], 10: [.ipv6],
    ]
    /// `NF_INET_LOCAL_OUT`.
    private static let output: UInt32 = 3
    /// `NF_INET_POST_ROUTING`.
    private static let postrouting: UInt32 = 4
    /// `NF_NETDEV_EGRESS`.
    private static let egress: UInt32 = 1
    private static let netdev: UInt8 = 5

    /// Reads an NFT_MSG_NEWRULE (the NFTA_RULE_* of linux/netfilter/nf_tables.h).
    /// - Returns: `nil` for one of another family.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 4, Self.passing[body[0]] != nil else { return nil }
        chain = Chain(family: body[0])
        var attributes = AttributeReader(body, from: 4)
        while attributes.advance() {
            switch attributes.kind {
            case 1: chain.table = attributes.text
            case 2: chain.name = attributes.text
            case 4:
                var expressions = AttributeReader(attributes.payload)
                while expressions.advance() { read(expressions.payload) }
            default: break
            }
        }
    }

    /// Which packets it lets out.
    /// - Parameter hook: Where its chain is called from; `nil` for one that other chains lead to.
    /// - Returns: The families of which a packet that should stay here, or end at the first router, may go further.
    func releasing(at hook: UInt32?) -> Set<AddressFamily> {
        if chain.family == Self.netdev { return hook == nil || hook == Self.egress ? releasing : [] }
        switch hook {
        case Self.output where redirectsAll: return Set(Self.passing[chain.family] ?? [])
        case nil, Self.output, Self.postrouting: return releasing
        default: return []
        }
    }

    /// Reads an expression (NFTA_EXPR_*), which has its name first.
    private mutating func read(_ expression: Span<UInt8>) {
        var name = ""
        var attributes = AttributeReader(expression)
        while attributes.advance() {
            switch (attributes.kind, name) {
            case (1, _):
                name = attributes.text
                if ["dup", "fwd", "queue"].contains(name) { releaseAll() }
                if name == "fib" { readsDestination = true }
            case (2, "payload"): readPayload(attributes.payload)
            case (2, "nat"): if Self.number(1, attributes.payload) == 1 { setsDestination = true }
            case (2, "target"): readTarget(Self.text(attributes.payload))
            case (2, "match"):
                if ["addrtype", "set"].contains(Self.text(attributes.payload)) { readsDestination = true }
            default: break
            }
        }
    }

    private mutating func releaseAll() { releasing.formUnion(Self.passing[chain.family] ?? []) }

    /// Reads NFTA_PAYLOAD_*: a write has a source register.
    private mutating func readPayload(_ payload: Span<UInt8>) {
        guard Self.number(2, payload) == 1, let offset = Self.number(3, payload), let length = Self.number(4, payload)
        else { return }
        for family in Self.passing[chain.family] ?? [] {
            // The TTL and the destination of RFC 791, the hop limit and the destination of RFC 8200.
            let (limit, destination): (UInt32, UInt32) = family == .ipv4 ? (8, 16) : (7, 24)
            if Self.number(5, payload) == nil {
                if offset >= destination { readsDestination = true }
            } else if offset <= limit, limit - offset < length {
                releasing.insert(family)
            }
        }
    }

    /// Targets of iptables, which iptables-nft writes as they are.
    private mutating func readTarget(_ name: String) {
        switch name {
        case "TTL", "HL", "TEE", "NFQUEUE": releaseAll()
        case "DNAT": setsDestination = true
        default: break
        }
    }

    /// The name of a match or a target of iptables.
    private static func text(_ nested: Span<UInt8>) -> String {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == 1 { return attributes.text }
        }
        return ""
    }

    private static func number(_ kind: Int, _ nested: Span<UInt8>) -> UInt32? {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == kind, attributes.payload.count >= 4 { return attributes.payload.network32(at: 0) }
        }
        return nil
    }
}

extension FilterRule.Chain {
    /// Reads an NFT_MSG_NEWCHAIN.
    /// - Returns: The chain and its hook; `nil` for one that other chains lead to.
    static func base(_ body: Span<UInt8>) -> (FilterRule.Chain, hook: UInt32)? {
        guard body.count >= 4 else { return nil }
        var (chain, hook): (FilterRule.Chain, UInt32?) = (.init(family: body[0]), nil)
        var attributes = AttributeReader(body, from: 4)
        while attributes.advance() {
            switch attributes.kind {
            case 1: chain.table = attributes.text
            case 3: chain.name = attributes.text
            case 4:
                var details = AttributeReader(attributes.payload)
                while details.advance() {
                    if details.kind == 1, details.payload.count >= 4 { hook = details.payload.network32(at: 0) }
                }
            default: break
            }
        }
        return hook.map { (chain, $0) }
    }
}
