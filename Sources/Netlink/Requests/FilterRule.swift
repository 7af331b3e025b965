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

    /// What a comparison that follows is about.
    private enum Loaded { case address, addressType }

    private(set) var chain: Chain
    /// The families whose TTL or hop limit it writes, or whose packets it copies or hands to a program.
    private(set) var releasing: Set<AddressFamily> = []
    /// Whether it sends packets elsewhere that go to a multicast group.
    private(set) var redirects = false
    /// The chains that it leads packets to a multicast group to; `nil` for one that a map names.
    private(set) var targets: [String?] = []
    private var loaded: Loaded?
    /// Whether it is for packets to certain unicast destinations, so that what follows is not about a group.
    private var isForUnicast = false

    /// The families that pass a table: `NFPROTO_INET`, `NFPROTO_IPV4`, `NFPROTO_NETDEV` and `NFPROTO_IPV6`.
    static let passing: [UInt8: [AddressFamily]] = [
        1: [.ipv4, .ipv6], 2: [.ipv4], 5: [.ipv4, .ipv6], 10: [.ipv6],
    ]

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

    /// Reads an expression (NFTA_EXPR_*), which has its name first.
    private mutating func read(_ expression: Span<UInt8>) {
        var name = ""
        var attributes = AttributeReader(expression)
        while attributes.advance() {
            switch (attributes.kind, name) {
            case (1, _):
                name = attributes.text
                if ["dup", "fwd", "queue"].contains(name) { releaseAll() }
            case (2, "payload"): readPayload(attributes.payload)
            // NFTA_FIB_F_DADDR
            case (2, "fib"): loaded = number(3, attributes.payload) & 2 != 0 ? .addressType : nil
            case (2, "cmp"): readComparison(attributes.payload)
            case (2, "range"): readRange(attributes.payload)
            case (2, "lookup"): readLookup(attributes.payload)
            case (2, "immediate"): readVerdict(attributes.payload)
            case (2, "nat"): if number(1, attributes.payload) == 1 { redirect() }
            case (2, "target"): readTarget(text(1, attributes.payload))
            case (2, "match"): readMatch(attributes.payload)
            default: break
            }
        }
    }

    private mutating func releaseAll() { releasing.formUnion(Self.passing[chain.family] ?? []) }

    private mutating func redirect() { if !isForUnicast { redirects = true } }

    /// Reads NFTA_PAYLOAD_*: a write has a source register.
    private mutating func readPayload(_ payload: Span<UInt8>) {
        guard number(2, payload) == 1 else { return }
        let (first, count) = (number(3, payload), number(4, payload))
        let isWrite = has(5, payload)
        for family in Self.passing[chain.family] ?? [] {
            // The TTL and the destination of RFC 791, the hop limit and the destination of RFC 8200.
            let (limit, destination): (UInt32, Range<UInt32>) = family == .ipv4 ? (8, 16..<20) : (7, 24..<40)
            guard isWrite else {
                if destination.contains(first) { loaded = .address }
                continue
            }
            if first <= limit, limit - first < count { releasing.insert(family) }
            if destination.contains(first) { redirect() }
        }
    }

    /// Reads NFTA_CMP_*: only equality keeps a group out.
    private mutating func readComparison(_ payload: Span<UInt8>) {
        defer { loaded = nil }
        guard let loaded, number(2, payload) == 0, let first = value(3, payload).first else { return }
        switch loaded {
        case .address: if !isGroup(first) { isForUnicast = true }
        // RTN_MULTICAST
        case .addressType: if !value(3, payload).contains(5) { isForUnicast = true }
        }
    }

    /// Reads NFTA_RANGE_*.
    private mutating func readRange(_ payload: Span<UInt8>) {
        defer { loaded = nil }
        guard loaded == .address, number(2, payload) == 0, let last = value(4, payload).first else { return }
        if !isGroup(last) { isForUnicast = true }
    }

    /// Reads NFTA_LOOKUP_*: a set of destinations, or a map of them to verdicts, holds no group.
    private mutating func readLookup(_ payload: Span<UInt8>) {
        defer { loaded = nil }
        let isMapOfValues = has(3, payload) && number(3, payload) != 0
        if loaded == .address, number(5, payload) & 1 == 0, !isMapOfValues { isForUnicast = true }
        // NFT_REG_VERDICT
        if has(3, payload), number(3, payload) == 0, !isForUnicast { targets.append(nil) }
    }

    /// Reads NFTA_IMMEDIATE_*: a jump or goto names its chain.
    private mutating func readVerdict(_ payload: Span<UInt8>) {
        guard !isForUnicast else { return }
        var attributes = AttributeReader(payload)
        while attributes.advance() {
            guard attributes.kind == 2 else { continue }
            var data = AttributeReader(attributes.payload)
            while data.advance() {
                guard data.kind == 2 else { continue }
                let name = text(2, data.payload)
                if !name.isEmpty { targets.append(name) }
            }
        }
    }

    /// Targets of iptables, which iptables-nft writes as they are.
    private mutating func readTarget(_ name: String) {
        switch name {
        case "TTL", "HL", "TEE", "NFQUEUE": releaseAll()
        case "DNAT", "NETMAP", "DNPT": redirect()
        default: break
        }
    }

    /// Reads NFTA_MATCH_*: `struct xt_addrtype_info_v1` of iptables has types of the destination.
    private mutating func readMatch(_ payload: Span<UInt8>) {
        guard text(1, payload) == "addrtype" else { return }
        var attributes = AttributeReader(payload)
        while attributes.advance() {
            guard attributes.kind == 3, attributes.payload.count >= 8 else { continue }
            let (types, flags) = (attributes.payload.host16(at: 2), attributes.payload.host32(at: 4))
            // XT_ADDRTYPE_MULTICAST and XT_ADDRTYPE_INVERT_DEST
            if types != 0, types & 1 << 5 == 0, flags & 2 == 0 { isForUnicast = true }
        }
    }

    /// Whether an address that begins so may be that of a group.
    private func isGroup(_ byte: UInt8) -> Bool {
        let families = Self.passing[chain.family] ?? []
        return families.contains(.ipv4) && byte >= 0xE0 || families.contains(.ipv6) && byte == 0xFF
    }

    private func text(_ kind: Int, _ nested: Span<UInt8>) -> String {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == kind { return attributes.text }
        }
        return ""
    }

    private func has(_ kind: Int, _ nested: Span<UInt8>) -> Bool {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == kind { return true }
        }
        return false
    }

    /// A number in network order; 0 when it is not there.
    private func number(_ kind: Int, _ nested: Span<UInt8>) -> UInt32 {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == kind, attributes.payload.count >= 4 { return attributes.payload.network32(at: 0) }
        }
        return 0
    }

    /// The bytes of NFTA_DATA_VALUE.
    private func value(_ kind: Int, _ nested: Span<UInt8>) -> [UInt8] {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            guard attributes.kind == kind else { continue }
            var data = AttributeReader(attributes.payload)
            while data.advance() {
                if data.kind == 1 { return data.payload.array }
            }
        }
        return []
    }
}

/// All rules of nf_tables, as far as they decide whether a packet that is tried may leave the machine.
struct FilterRules {
    /// The hooks that base chains are called from.
    private var hooks: [FilterRule.Chain: UInt32] = [:]
    private var releasing: Set<AddressFamily> = []
    /// Those that redirect packets to a group or lead them to another chain, by their chain.
    private var rules: [FilterRule.Chain: [FilterRule]] = [:]

    /// `NF_NETDEV_EGRESS`.
    private static let egress: UInt32 = 1
    private static let netdev: UInt8 = 5

    /// Adds a chain; all chains come before the rules.
    mutating func add(_ base: BaseChain) { hooks[base.chain] = base.hook }

    mutating func add(_ rule: FilterRule) {
        switch hooks[rule.chain] {
        case nil: break
        case Self.egress? where rule.chain.family == Self.netdev: break
        case BaseChain.output?, BaseChain.postrouting?: break
        // Packets of this machine do not pass it when they leave, and no chain leads to a base chain.
        default: return
        }
        releasing.formUnion(rule.releasing)
        if rule.redirects || !rule.targets.isEmpty { rules[rule.chain, default: []].append(rule) }
    }

    /// The families of which a packet that should stay here, or end at the first router, may go further.
    var releasedFamilies: Set<AddressFamily> {
        var families = releasing
        for (chain, hook) in hooks where hook == BaseChain.output && chain.family != Self.netdev {
            var seen: Set<FilterRule.Chain> = []
            if redirects(chain, &seen) { families.formUnion(FilterRule.passing[chain.family] ?? []) }
        }
        return families
    }

    private func redirects(_ chain: FilterRule.Chain, _ seen: inout Set<FilterRule.Chain>) -> Bool {
        guard seen.insert(chain).inserted else { return false }
        for rule in rules[chain] ?? [] {
            if rule.redirects { return true }
            for target in rule.targets {
                // Which chain a map names stands in its elements: any of the table.
                let next = rules.keys.filter { other in
                    other.family == chain.family && other.table == chain.table && hooks[other] == nil
                        && (target == nil || other.name == target)
                }
                for other in next where redirects(other, &seen) { return true }
            }
        }
        return false
    }
}
