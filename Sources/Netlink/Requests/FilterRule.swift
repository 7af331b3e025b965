// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// A rule of nf_tables, as far as it decides whether a packet that is tried may leave the machine.
struct FilterRule {
    /// A chain, by its family, table and name.
    struct Chain: Hashable, CustomStringConvertible {
        var family: UInt8
        var table = ""
        var name = ""

        /// As nft(8) names it.
        var description: String { "\(family == 1 ? "inet" : family == 2 ? "ip" : "ip6") \(table) \(name)" }
    }

    private(set) var chain: Chain
    private(set) var effects: [AddressFamily: FilterEffects] = [:]
    /// Where it leads packets (DNAT); an unspecified address stands for one that is not known.
    private(set) var destinations: Set<IPAddress> = []
    /// The addresses that the expressions just before loaded into registers.
    private var loaded: [UInt32: IPAddress] = [:]
    /// The families that it is for.
    private var families: [AddressFamily]
    /// Whether the comparison that follows is about the family.
    private var comparesFamily = false
    var match = UserMatch()

    /// The families that pass a table: `NFPROTO_INET`, `NFPROTO_IPV4` and `NFPROTO_IPV6`.
    fileprivate static let passing: [UInt8: [AddressFamily]] = [1: [.ipv4, .ipv6], 2: [.ipv4], 10: [.ipv6]]

    /// Reads an NFT_MSG_NEWRULE (the NFTA_RULE_* of linux/netfilter/nf_tables.h).
    /// - Returns: `nil` for one of another family.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 4, let families = Self.passing[body[0]] else { return nil }
        chain = Chain(family: body[0])
        self.families = families
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

    /// Reads `struct ipt_entry` or `struct ip6t_entry`: matches (`struct xt_entry_match`) from the end of its header on, then
    /// the target, which has the same form.
    init(entry: Span<UInt8>, family: AddressFamily) {
        chain = Chain(family: family == .ipv4 ? 2 : 10)
        families = [family]
        let target = Int(entry.host16(at: family == .ipv4 ? 88 : 140))
        var next = family == .ipv4 ? 112 : 168
        while next + 32 <= entry.count {
            let end = next + Int(entry.host16(at: next))
            guard end >= next + 32, end <= entry.count else { return }
            let name = entry.extracting(next + 2..<next + 31).text
            let details = entry.extracting(next + 32..<end)
            if next < target {
                readMatch(name, details)
            } else {
                readTarget(name, revision: UInt32(entry[next + 31]), details)
            }
            next = end
        }
    }

    /// Reads an expression (NFTA_EXPR_*), which has its name first.
    private mutating func read(_ expression: Span<UInt8>) {
        var name = ""
        var attributes = AttributeReader(expression)
        while attributes.advance() {
            if attributes.kind == 2 { readUser(name, attributes.payload) }
            switch (attributes.kind, name) {
            case (1, _):
                name = attributes.text
                readUser(name)
                if name != "immediate", name != "nat" { loaded = [:] }
                if ["dup", "queue", "quota"].contains(name) { add(.release) }
            case (2, "payload"): readPayload(attributes.payload)
            case (2, "meta"): readMeta(attributes.payload)
            // One that is written has a source register.
            case (2, "exthdr"):
                if number(6, attributes.payload) == 1, !has(7, attributes.payload) { add(.matchOptions) }
            // NFT_LIMIT_PKT_BYTES
            case (2, "limit"): if number(4, attributes.payload) == 1 { add(.matchLength) }
            case (2, "cmp"): readComparison(attributes.payload)
            case (2, "immediate"): readImmediate(attributes.payload)
            case (2, "nat"): readTranslation(attributes.payload)
            case (2, "target"): readTarget(attributes.payload)
            case (2, "objref"): readObject(number(1, attributes.payload))
            case (2, "match"): readMatch(attributes.payload)
            default: break
            }
        }
    }

    private mutating func add(_ effect: FilterEffects) {
        for family in families { effects[family, default: []].insert(effect) }
    }

    /// Reads NFTA_META_*, whose key NFT_META_LEN is 0 and NFT_META_NFPROTO is 15.
    private mutating func readMeta(_ payload: Span<UInt8>) {
        let isRead = number(1, payload) != 0 && has(2, payload)
        comparesFamily = isRead && number(2, payload) == 15
        if isRead, number(2, payload) == 0 { add(.matchLength) }
    }

    /// NFT_OBJECT_QUOTA, which what is tried would use up, and NFT_OBJECT_LIMIT.
    private mutating func readObject(_ kind: UInt32) {
        if kind == 2 { add(.release) }
        if kind == 4 { add(.matchLength) }
    }

    /// Reads NFTA_MATCH_*: matches of iptables, which iptables-nft writes as they are.
    private mutating func readMatch(_ payload: Span<UInt8>) {
        let name = text(1, payload)
        var attributes = AttributeReader(payload)
        while attributes.advance() {
            if attributes.kind == 3 { readMatch(name, attributes.payload) }
        }
    }

    private mutating func readMatch(_ name: String, _ details: Span<UInt8>) {
        switch name {
        // What is tried would use a quota up.
        case "quota", "quota2", "connbytes": add(.release)
        case "length", "length2", "hashlimit", "u32", "bpf": add(.matchLength)
        case "tcpmss": add(.matchOptions)
        // `option` of `struct xt_tcp`
        case "tcp": if details.count > 8, details[8] != 0 { add(.matchOptions) }
        default: break
        }
    }

    /// Reads NFTA_PAYLOAD_*: a write has a source register.
    private mutating func readPayload(_ payload: Span<UInt8>) {
        let first = min(number(3, payload), 1024)
        let written = first..<first + min(number(4, payload), 1024)
        guard has(5, payload) else { return readLength(written, base: number(2, payload)) }
        guard number(2, payload) == 1 else { return }
        for family in families {
            // The byte with DF, the addresses and the TTL of RFC 791, the addresses and the hop limit of RFC 8200. To another
            // source the kernel itself sends that the packet is too large; another destination may be this machine.
            let released: Range<UInt32> = family == .ipv4 ? 12..<20 : 8..<40
            if family == .ipv4 && written.contains(6) || written.overlaps(released) {
                effects[family, default: []].insert(.release)
            }
            if written.contains(family == .ipv4 ? 8 : 7) { effects[family, default: []].insert(.writeHopLimit) }
        }
    }

    /// The length of an IPv4 or IPv6 packet and of a UDP datagram, in the network header (1) and behind it (2).
    private mutating func readLength(_ bytes: Range<UInt32>, base: UInt32) {
        for family in families {
            let length: Range<UInt32> = base == 1 && family == .ipv4 ? 2..<4 : 4..<6
            if base == 1 || base == 2, bytes.overlaps(length) { effects[family, default: []].insert(.matchLength) }
        }
    }

    /// Reads NFTA_CMP_*: nft(8) compares the family before the header of one.
    private mutating func readComparison(_ payload: Span<UInt8>) {
        guard comparesFamily, number(2, payload) == 0 else { return }
        comparesFamily = false
        var attributes = AttributeReader(payload)
        while attributes.advance() {
            guard attributes.kind == 3 else { continue }
            var data = AttributeReader(attributes.payload)
            while data.advance() {
                if data.kind == 1, let number = data.payload.array.first {
                    families.removeAll { Self.passing[number] != [$0] }
                }
            }
        }
    }

    /// Reads NFTA_IMMEDIATE_*, of which a register below 5 may hold an address.
    private mutating func readImmediate(_ payload: Span<UInt8>) {
        let register = number(1, payload)
        guard register < 5 else {
            loaded = [:]
            return
        }
        loaded[register] = nil
        var attributes = AttributeReader(payload)
        while attributes.advance() {
            guard attributes.kind == 2 else { continue }
            var data = AttributeReader(attributes.payload)
            while data.advance() {
                if data.kind == 1 { loaded[register] = data.address }
            }
        }
    }

    /// Reads NFTA_NAT_*: NFT_NAT_DNAT with the registers of the first and the last address.
    private mutating func readTranslation(_ payload: Span<UInt8>) {
        let (first, last) = (number(3, payload), number(4, payload))
        guard number(1, payload) == 1, first > 0 else { return }
        let translated = Self.passing[UInt8(truncatingIfNeeded: number(2, payload))] ?? families
        lead(to: loaded[first], upTo: last > 0 ? loaded[last] : loaded[first], of: translated)
    }

    private mutating func lead(to first: IPAddress?, upTo last: IPAddress?, of families: [AddressFamily]) {
        if let first, first == last {
            destinations.insert(first)
            return
        }
        for family in families { destinations.insert(family == .ipv4 ? .v4(0) : .v6(0)) }
    }

    /// Reads NFTA_TARGET_*: targets of iptables, which iptables-nft writes as they are.
    private mutating func readTarget(_ payload: Span<UInt8>) {
        var (name, revision) = ("", UInt32(0))
        var attributes = AttributeReader(payload)
        while attributes.advance() {
            switch attributes.kind {
            case 1: name = attributes.text
            case 2 where attributes.payload.count >= 4: revision = attributes.payload.network32(at: 0)
            case 3: readTarget(name, revision: revision, attributes.payload)
            default: break
            }
        }
    }

    private mutating func readTarget(_ name: String, revision: UInt32, _ details: Span<UInt8>) {
        switch name {
        case "TTL", "HL": add(.writeHopLimit)
        case "TEE", "NFQUEUE", "SNPT", "DNPT": add(.release)
        case "NETMAP": lead(to: nil, upTo: nil, of: families)
        case "DNAT":
            // `struct nf_nat_ipv4_multi_range_compat` in revision 0, else `struct nf_nat_range`.
            let (flags, first, last) = revision == 0 ? (4, 8, 12) : (0, 4, 20)
            let size = families == [.ipv4] ? 4 : 16
            guard last + size <= details.count else { return lead(to: nil, upTo: nil, of: families) }
            // NF_NAT_RANGE_MAP_IPS
            guard details.host32(at: flags) & 1 != 0 else { return }
            let low = IPAddress(bytes: details.extracting(first..<first + size))
            let high = IPAddress(bytes: details.extracting(last..<last + size))
            lead(to: low, upTo: high, of: families)
        default: break
        }
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

    /// A number in network byte order; 0 without one.
    func number(_ kind: Int, _ nested: Span<UInt8>) -> UInt32 {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == kind, attributes.payload.count >= 4 { return attributes.payload.network32(at: 0) }
        }
        return 0
    }
}

/// All rules of nf_tables, as far as they decide whether a packet that is tried may leave the machine.
struct FilterRules {
    /// A table, by its family and name.
    struct Table: Hashable {
        var family: UInt8
        var name: String
    }

    /// Those whose rules packets of this machine may meet when they leave: jumps stay in their table.
    private(set) var tables: Set<Table> = []
    /// The hooks that base chains are called from.
    private var hooks: [FilterRule.Chain: UInt32] = [:]
    private(set) var effects: [AddressFamily: FilterEffects] = [:]
    private(set) var destinations: Set<IPAddress> = []
    /// The rules at the output hook that drop all packets of a user.
    private(set) var users: [UserRule] = []

    /// Adds a chain; all chains come before the rules.
    mutating func add(_ base: BaseChain) {
        hooks[base.chain] = base.hook
        guard base.uses > 0, [BaseChain.output, BaseChain.postrouting].contains(base.hook),
            FilterRule.passing[base.chain.family] != nil
        else { return }
        tables.insert(Table(family: base.chain.family, name: base.chain.table))
    }

    mutating func add(_ found: FilterEffects, _ family: AddressFamily) {
        effects[family, default: []].formUnion(found)
    }

    /// Adds an entry of iptables beside nf_tables; `leads` is whether it may change where packets go.
    mutating func add(entry: Span<UInt8>, family: AddressFamily, leads: Bool) {
        let rule = FilterRule(entry: entry, family: family)
        for (family, found) in rule.effects { add(found, family) }
        if leads { destinations.formUnion(rule.destinations) }
    }

    /// Adds a rule, which counts unless its chain is called elsewhere than packets of this machine pass when they leave; no
    /// chain leads to a base chain.
    mutating func add(_ rule: FilterRule) {
        guard [nil, BaseChain.output, BaseChain.postrouting].contains(hooks[rule.chain]) else { return }
        for (family, found) in rule.effects { add(found, family) }
        if hooks[rule.chain] == BaseChain.output, let user = rule.match.user {
            users.append(UserRule(chain: "\(rule.chain)", user: user))
        }
        // Behind routing it is the source that NETMAP changes.
        if hooks[rule.chain] != BaseChain.postrouting { destinations.formUnion(rule.destinations) }
    }
}
