// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Chooses among the representations a route has (RFC 9110 section 12.5.1).
enum ContentNegotiation {
    /// The offered type the client likes best; the first offer wins a tie and is the answer to no `Accept` at all.
    /// - Returns: `nil` when the client accepts none.
    static func choose(_ accept: String?, among offers: [String]) -> String? {
        guard let accept, !accept.allSatisfy({ $0 == " " }) else { return offers.first }
        let ranges = accept.split(separator: ",").compactMap { Range($0) }
        var best: (offer: String, quality: Double)?
        for offer in offers {
            let matching = ranges.filter { $0.covers(offer) }
            guard let range = matching.max(by: { $0.specificity < $1.specificity }), range.quality > 0 else { continue }
            if range.quality > best?.quality ?? 0 { best = (offer, range.quality) }
        }
        return best?.offer
    }

    /// One media range of an `Accept` field; parameters besides `q` are not looked at.
    private struct Range {
        let type: String
        let quality: Double

        init?(_ text: Substring) {
            let parts = text.split(separator: ";").map { part in
                String(part.filter { $0 != " " && $0 != "\t" }).lowercased()
            }
            guard let type = parts.first, type.contains("/") else { return nil }
            self.type = type
            quality = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
        }

        var specificity: Int { type == "*/*" ? 0 : type.hasSuffix("/*") ? 1 : 2 }

        func covers(_ offer: String) -> Bool {
            switch specificity {
            case 0: true
            case 1: offer.hasPrefix(type.dropLast())
            default: offer == type
            }
        }
    }
}
