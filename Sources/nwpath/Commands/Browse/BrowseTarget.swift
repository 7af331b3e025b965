// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import MulticastDNS
internal import Spelling

/// What `nwpath browse` looks for: a type, or only what announces one of some subtypes of it.
struct BrowseTarget: Hashable, Sendable, CustomStringConvertible {
    /// What a reader is told when a text is not one.
    static let expectation = "a type such as _ipp._tcp, or one with subtypes such as _http._tcp,_printer"

    /// The type as it was written, without the domain.
    let description: String
    let names: [DomainName]

    /// Reads `TYPE[.local][,SUBTYPE]…`.
    init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard let type = BrowsableType(parts[0]) else { return nil }
        let name = type.name
        description = type.description + parts.dropFirst().map { "," + $0 }.joined()
        guard parts.count > 1 else {
            names = [name]
            return
        }
        var names: [DomainName] = []
        for subtype in parts.dropFirst() {
            guard let bytes = SafeText.bytes(of: subtype),
                let prefix = try? DomainName(labels: [bytes, Array("_sub".utf8)]),
                let whole = try? prefix.appending(name)
            else { return nil }
            names.append(whole)
        }
        self.names = names
    }

    /// What is wrong with a text that is not one; `nil` when it is.
    static func complaint(_ text: String) -> String? {
        guard BrowseTarget(text) == nil else { return nil }
        let question = nearest(to: text).map { " (did you mean '\($0)'?)" } ?? ""
        return "TYPE is \(PrintableText.quote(text)), expected \(expectation)\(question)"
    }

    /// What was probably meant by a text that is not one.
    static func nearest(to text: String) -> String? {
        NameRules.nearestServiceType(to: text).flatMap { BrowseTarget($0)?.description }
    }
}
