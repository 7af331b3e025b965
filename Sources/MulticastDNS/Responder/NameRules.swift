// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire

/// Why something cannot be published; `description` names what is expected.
public enum RegistrationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A service name has `length` characters.
    case serviceNameLength(Int)
    /// A service name has something else than letters, digits and hyphens, or no letter, or a misplaced hyphen.
    case serviceNameCharacters(String)
    /// A type is not two labels, a service name and a protocol.
    case serviceType(String)
    /// A label has `length` bytes.
    case labelLength(field: String, length: Int)
    /// A label is not UTF-8, begins with a byte order mark or has control characters.
    case labelCharacters(field: String)
    /// A name is written with letters and marks apart that Unicode has as one character (not in NFC).
    case notComposed(field: String)
    /// A host name is not one label below `local`, or has characters that no host name should have.
    case hostName(String)
    /// The whole name is longer than 255 bytes.
    case nameTooLong
    /// A TXT key is empty, or contains an equals sign or something else than printable ASCII.
    case textKey(String)
    /// A TXT key occurs twice; cases do not differ.
    case duplicateTextKey(String)
    /// A TXT string has `length` bytes.
    case textStringLength(key: String, length: Int)
    /// The TXT record has `length` bytes.
    case textLength(Int)
    /// There are more than `limit` of `what`.
    case tooMany(what: String, limit: Int)
    /// A host that is claimed with addresses of its own has none.
    case noAddress

    public var description: String {
        switch self {
        case .serviceNameLength(let length): "service name has \(length) characters, expected 1 to 15"
        case .serviceNameCharacters(let name):
            "service name '\(name)' must have letters, digits and single hyphens inside only, and one letter at least"
        case .serviceType(let type): "service type '\(type)' must be like _ipp._tcp or _ipp._udp"
        case .labelLength(let field, let length): "\(field) has \(length) bytes, expected 1 to 63"
        case .labelCharacters(let field): "\(field) must be UTF-8 text without control characters and byte order mark"
        case .notComposed(let field): "\(field) must be in Unicode normalization form C: letters with their marks"
        case .hostName(let name):
            "host name '\(name)' must be like printer.local: one label of letters, digits and inner hyphens"
        case .nameTooLong: "name has more than 255 bytes in all"
        case .textKey(let key): "TXT key '\(key)' must be printable ASCII without '=', one character at least"
        case .duplicateTextKey(let key): "TXT key '\(key)' occurs twice, expected once in any case of letters"
        case .textStringLength(let key, let length): "TXT entry '\(key)' has \(length) bytes, expected 255 at most"
        case .textLength(let length): "TXT record has \(length) bytes, expected \(NameRules.maximumText) at most"
        case .tooMany(let what, let limit): "more than \(limit) \(what)"
        case .noAddress: "host has no address, expected one at least"
        }
    }
}

/// What names may be published: strict, where browsing is lenient (rules N3 to N5, N7, N8, D7, D9).
public enum NameRules {
    /// The longest TXT record; more would not fit into a packet beside anything else (RFC 6763 section 6.2).
    public static let maximumText = 1300
    public static let maximumServiceName = 15
    static let local = DomainName("local") ?? DomainName()

    /// Reads a type such as `_ipp._tcp`, with or without `.local` behind it.
    /// - Returns: The full name, such as `_ipp._tcp.local`.
    /// - Throws: What is wrong with it.
    public static func serviceType(_ text: String) throws(RegistrationError) -> DomainName {
        guard let name = DomainName(text) else { throw .serviceType(show(text.utf8)) }
        var labels = name.labels
        if labels.count == 3, DomainName.isLocal(labels[2]) { labels.removeLast() }
        guard labels.count == 2, labels[0].first == UInt8(ascii: "_"),
            ["_tcp", "_udp"].contains(String(decoding: labels[1], as: UTF8.self).lowercased())
        else { throw .serviceType(show(text.utf8)) }
        try checkServiceName(Array(labels[0].dropFirst()))
        return try join(labels, NameRules.local)
    }

    /// What was probably meant by a text that is no type: `ipp`, `ipp.tcp`, `_ipp.tcp` and `_ipp_tcp` are `_ipp._tcp`.
    public static func nearestServiceType(to text: String) -> String? {
        var words = text.split { $0 == "." || $0 == "_" }.map(String.init)
        if words.last == "local" { words.removeLast() }
        if words.count == 1, !["tcp", "udp"].contains(words[0]) { words.append("tcp") }
        guard words.count == 2, ["tcp", "udp"].contains(words[1].lowercased()) else { return nil }
        return "_\(words[0])._\(words[1].lowercased())"
    }

    /// Checks a service name, without its underscore (RFC 6335 section 5.1).
    static func checkServiceName(_ name: [UInt8]) throws(RegistrationError) {
        guard (1...maximumServiceName).contains(name.count) else { throw .serviceNameLength(name.count) }
        let hyphen = UInt8(ascii: "-")
        let hasDoubleHyphen = zip(name, name.dropFirst()).contains { $0 == hyphen && $1 == hyphen }
        guard name.allSatisfy({ isAlphanumeric($0) || $0 == hyphen }), name.contains(where: isLetter),
            name.first != hyphen, name.last != hyphen, !hasDoubleHyphen
        else { throw .serviceNameCharacters(show(name)) }
    }

    /// Checks an instance name or a subtype: one label of any text without control characters.
    /// - Throws: What is wrong with it.
    public static func checkLabel(_ label: [UInt8], field: String) throws(RegistrationError) {
        guard (1...DomainName.maximumLabelLength).contains(label.count) else {
            throw .labelLength(field: field, length: label.count)
        }
        guard let text = String(validating: label, as: UTF8.self), text.unicodeScalars.first?.value != 0xFEFF,
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw .labelCharacters(field: field) }
        guard ComposedText.isComposed(text) else { throw .notComposed(field: field) }
    }

    /// Reads a host name such as `printer` or `printer.local`.
    /// - Throws: What is wrong with it.
    public static func hostName(_ text: String) throws(RegistrationError) -> DomainName {
        guard let name = DomainName(ComposedText.compose(text) ?? text) else { throw .hostName(show(text.utf8)) }
        do {
            let full = try name.labelCount == 1 ? join(name.labels, NameRules.local) : name
            try checkHostName(full)
            return full
        } catch {
            throw .hostName(show(text.utf8))
        }
    }

    /// Checks a host name that is to be claimed; letters of other scripts are as good as ASCII ones, but no Punycode.
    static func checkHostName(_ name: DomainName) throws(RegistrationError) {
        let hyphen = UInt8(ascii: "-")
        guard name.labelCount == 2, name.isWithin(local), let label = name.firstLabel,
            let text = String(validating: label, as: UTF8.self),
            label.allSatisfy({ isAlphanumeric($0) || $0 == hyphen || $0 >= 0x80 }),
            label.first != hyphen, label.last != hyphen,
            !label.map({ $0 | 0x20 }).starts(with: Array("xn--".utf8))
        else { throw .hostName(show(name.description.utf8)) }
        guard ComposedText.isComposed(text) else { throw .notComposed(field: "host name") }
    }

    /// Checks a TXT record (rules D7, D9).
    /// - Throws: What is wrong with it.
    public static func check(_ text: [TextRecord.Entry]) throws(RegistrationError) {
        var seen: Set<String> = []
        for entry in text {
            guard !entry.key.isEmpty,
                entry.key.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") })
            else { throw .textKey(show(entry.key.utf8)) }
            guard seen.insert(entry.key.lowercased()).inserted else { throw .duplicateTextKey(entry.key) }
            let length = entry.key.utf8.count + (entry.value.map { $0.count + 1 } ?? 0)
            guard length <= 255 else { throw .textStringLength(key: entry.key, length: length) }
        }
        let length = TextRecord(entries: text).data.count
        guard length <= maximumText else { throw .textLength(length) }
    }

    static func join(_ labels: [[UInt8]], _ parent: DomainName) throws(RegistrationError) -> DomainName {
        do throws(WireError) { return try DomainName(labels: labels).appending(parent) } catch { throw .nameTooLong }
    }

    private static func show(_ bytes: some Collection<UInt8>) -> String { SafeText.text(of: bytes) }

    private static func isLetter(_ byte: UInt8) -> Bool { byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool { isLetter(byte) || (0x30...0x39).contains(byte) }
}

extension DomainName {
    /// Whether a label is `local`.
    static func isLocal(_ label: [UInt8]) -> Bool { (try? DomainName(labels: [label])) == NameRules.local }
}
