// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetlink
internal import LinuxIO

/// A rule of nf_tables that drops or rejects whatever programs of one user send.
package struct UserRule: Hashable, Sendable {
    /// The chain, as nft(8) names it.
    package var chain: String
    /// The user that sockets belong to (`meta skuid`).
    package var user: UInt32

    /// Reads the rules of the chains at the output hook.
    /// - Throws: ``NetlinkError``; without `CAP_NET_ADMIN` that it is refused.
    package static func read() throws(NetlinkError) -> [UserRule] {
        var socket = try NetlinkSocket(family: NETLINK_NETFILTER, capacity: 65_536)
        try socket.limitWaiting(to: .seconds(2))
        var chains: [FilterRule.Chain: String] = [:]
        _ = try socket.exchange(.filterChains, sequence: 1) { _, body in
            guard let base = BaseChain(decoding: body), let chain = PacketFilter.Chain(base), !chain.isPostrouting
            else {
                return
            }
            chains[base.chain] = "\(chain)"
        }
        var found: [UserRule] = []
        let tables = Set(chains.keys.map { FilterRules.Table(family: $0.family, name: $0.table) })
        for (number, table) in tables.enumerated() {
            _ = try socket.exchange(.filterRules(of: table), sequence: UInt32(number) + 2) { _, body in
                guard let rule = FilterRule(decoding: body), let chain = chains[rule.chain], let user = user(in: body)
                else {
                    return
                }
                found.append(UserRule(chain: chain, user: user))
            }
        }
        return found
    }

    /// What an NFT_MSG_NEWRULE compares before its verdict.
    private struct Comparisons {
        /// The key of the last `meta` expression (NFT_META_*).
        var key: UInt32?
        var user: UInt32?
        var isDropped = false
        /// Whether anything else decides as well.
        var isNarrower = false
    }

    /// The user whose packets a rule drops, all of them but those by an interface; `nil` for any other rule.
    static func user(in body: Span<UInt8>) -> UInt32? {
        var found = Comparisons()
        var attributes = AttributeReader(body, from: 4)
        while attributes.advance() {
            guard attributes.kind == 4 else { continue }
            var expressions = AttributeReader(attributes.payload)
            while expressions.advance() { read(expressions.payload, &found) }
        }
        return found.isDropped && !found.isNarrower ? found.user : nil
    }

    private static func read(_ expression: Span<UInt8>, _ found: inout Comparisons) {
        var name = ""
        var attributes = AttributeReader(expression)
        while attributes.advance() {
            switch (attributes.kind, name) {
            case (1, _):
                name = attributes.text
                if name == "reject" { found.isDropped = true }
                if !["meta", "cmp", "counter", "log", "immediate", "reject"].contains(name) { found.isNarrower = true }
            case (2, "meta"):
                let key = number(2, attributes.payload)
                found.key = key
                // NFT_META_OIF, NFT_META_OIFNAME, NFT_META_SKUID and NFT_META_NFPROTO
                if ![5, 7, 10, 15].contains(key) { found.isNarrower = true }
            case (2, "cmp") where found.key == 10:
                // NFT_CMP_EQ
                if number(2, attributes.payload) == 0, found.user == nil {
                    found.user = data(attributes.payload)
                } else {
                    found.isNarrower = true
                }
            case (2, "immediate"):
                if verdict(attributes.payload) == 0 { found.isDropped = true }
            default: break
            }
        }
    }

    private static func number(_ kind: Int, _ nested: Span<UInt8>) -> UInt32 {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == kind, attributes.payload.count >= 4 { return attributes.payload.network32(at: 0) }
        }
        return 0
    }

    /// NFTA_CMP_DATA with NFTA_DATA_VALUE, in host order as the kernel holds it.
    private static func data(_ nested: Span<UInt8>) -> UInt32? {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            guard attributes.kind == 3 else { continue }
            var values = AttributeReader(attributes.payload)
            while values.advance() {
                if values.kind == 1, values.payload.count >= 4 { return values.payload.host32(at: 0) }
            }
        }
        return nil
    }

    /// NFTA_IMMEDIATE_DATA with NFTA_DATA_VERDICT and NFTA_VERDICT_CODE, of which NF_DROP is 0.
    private static func verdict(_ nested: Span<UInt8>) -> UInt32? {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            guard attributes.kind == 2 else { continue }
            var values = AttributeReader(attributes.payload)
            while values.advance() {
                guard values.kind == 2 else { continue }
                var codes = AttributeReader(values.payload)
                while codes.advance() {
                    if codes.kind == 1, codes.payload.count >= 4 { return codes.payload.network32(at: 0) }
                }
            }
        }
        return nil
    }
}
