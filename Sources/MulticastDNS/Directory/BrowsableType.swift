// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import DNSWire

/// A service type that can be browsed: lenient about its first label, as real devices use types that nobody may
/// register, such as `_androidtvremote2._tcp` (rule N7).
package struct BrowsableType: Hashable, Sendable, CustomStringConvertible {
    /// The type as it was written, without the domain.
    package let description: String
    /// The full name, such as `_ipp._tcp.local`.
    package let name: DomainName

    /// Reads `_name._tcp` or `_name._udp`, with or without `.local` behind it, and a dot at the end.
    package init?(_ text: String) {
        var type = text
        for end in [".local.", ".local", "."] where type.hasSuffix(end) {
            type = String(type.dropLast(end.count))
            break
        }
        let labels = type.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count == 2, labels[0].hasPrefix("_"), (2...63).contains(labels[0].utf8.count),
            ["_tcp", "_udp"].contains(labels[1].lowercased()),
            let name = try? DomainName(labels: labels.map { Array($0.utf8) } + [Array("local".utf8)])
        else { return nil }
        description = type
        self.name = name
    }
}
