// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A rule of nf_tables that drops or rejects whatever programs of one user send.
package struct UserRule: Hashable, Sendable {
    /// The chain, as nft(8) names it.
    package var chain: String
    /// The user that sockets belong to (`meta skuid`).
    package var user: UInt32
}

extension FilterRule {
    /// What a rule compares before its verdict.
    struct UserMatch {
        /// The key of the last `meta` expression (NFT_META_*).
        fileprivate var key: UInt32?
        fileprivate var compared: UInt32?
        fileprivate var isDropped = false
        /// Whether anything else decides as well.
        fileprivate var isNarrower = false

        /// The user whose packets it drops, all of them but those by an interface; `nil` for any other rule.
        var user: UInt32? { isDropped && !isNarrower ? compared : nil }
    }

    /// Reads an expression: its name, then its NFTA_EXPR_DATA.
    mutating func readUser(_ name: String) {
        if name == "reject" { match.isDropped = true }
        if !["meta", "cmp", "counter", "log", "immediate", "reject"].contains(name) { match.isNarrower = true }
    }

    mutating func readUser(_ name: String, _ payload: Span<UInt8>) {
        switch name {
        case "meta":
            let key = number(2, payload)
            match.key = key
            // NFT_META_OIF, NFT_META_OIFNAME, NFT_META_SKUID and NFT_META_NFPROTO
            if ![5, 7, 10, 15].contains(key) { match.isNarrower = true }
        case "cmp" where match.key == 10:
            // NFT_CMP_EQ
            if number(2, payload) == 0, match.compared == nil {
                match.compared = Self.data(payload)
            } else {
                match.isNarrower = true
            }
        case "immediate": if Self.verdict(payload) == 0 { match.isDropped = true }
        default: break
        }
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
