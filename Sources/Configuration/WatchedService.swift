// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A DNS-SD service that is reported when it is missing.
public struct WatchedService: Hashable, Sendable, CustomStringConvertible {
    /// The service type, such as `_ipp._tcp`.
    public let type: String
    /// The instance name; `nil` stands for any instance.
    public let name: String?

    /// What a reader reports when a text is not one.
    public static let expectation = "a service such as _ipp._tcp or _ipp._tcp/Office Printer"

    /// Reads `TYPE` or `TYPE/NAME`.
    ///
    /// The type follows RFC 6335 section 5.1 (at most 15 letters, digits and hyphens), the name may have 63 bytes
    /// (RFC 6763 section 4.1.1).
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let labels = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count == 2, labels[1] == "_tcp" || labels[1] == "_udp", labels[0].hasPrefix("_") else {
            return nil
        }
        let service = labels[0].dropFirst()
        guard (1...15).contains(service.utf8.count), service.first != "-", service.last != "-",
            service.utf8.allSatisfy({ isLetterOrDigit($0) || $0 == UInt8(ascii: "-") })
        else { return nil }
        type = String(parts[0])
        name = parts.count == 2 ? String(parts[1]) : nil
        if let name {
            guard (1...63).contains(name.utf8.count), !name.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
                return nil
            }
        }
    }

    /// `TYPE` or `TYPE/NAME`.
    public var description: String { name.map { "\(type)/\($0)" } ?? type }
}

extension ValueForm where Value == WatchedService {
    static let watchedService = ValueForm(
        scalar: WatchedService.expectation,
        schema: ["type": "string", "pattern": "^_[A-Za-z0-9-]{1,15}\\._(tcp|udp)(/.{1,63})?$"],
        parse: { (text) throws(Refusal) in
            guard let service = WatchedService(text) else { throw .malformed }
            return service
        },
        write: { .text($0.description) }
    )
}
