// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Turns untrusted bytes into text that no terminal, log or page can be tricked with.
public enum SafeText {
    /// Shows bytes as text that can be read back with ``bytes(of:)``.
    ///
    /// Valid UTF-8 stays; a backslash is doubled; bytes that are not UTF-8, control characters, line separators and
    /// invisible characters, those that change the direction of writing among them, become `\\DDD`, one per byte;
    /// joiners inside words and emoji stay.
    /// With `escapingDots` a dot is escaped too, as between the labels of a name (RFC 6763 section 4.3).
    public static func text(of bytes: some Collection<UInt8>, escapingDots dots: Bool = false) -> String {
        if bytes.allSatisfy({ isPlain($0) && !(dots && $0 == UInt8(ascii: ".")) }) {
            return String(decoding: bytes, as: UTF8.self)
        }
        var text = ""
        var rest = Array(bytes)[...]
        while let byte = rest.first {
            guard let (scalar, length) = scalar(at: rest) else {
                text += escape(byte)
                rest = rest.dropFirst()
                continue
            }
            switch scalar {
            case "\\": text += "\\\\"
            case "." where dots: text += "\\."
            case _ where isHarmful(scalar): text += rest.prefix(length).map(escape).joined()
            default: text.unicodeScalars.append(scalar)
            }
            rest = rest.dropFirst(length)
        }
        return text
    }

    /// Whether a byte is shown as it is, wherever it stands: printable ASCII, but no backslash.
    static func isPlain(_ byte: UInt8) -> Bool { (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\\") }

    /// Reads text in which a backslash protects the next character or starts three decimal digits.
    /// - Returns: `nil` when a backslash ends the text or its number is above 255.
    public static func bytes(of text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard let next = unescape(&rest) else { return nil }
            bytes.append(next)
        }
        return bytes
    }

    /// Reads what follows a backslash.
    static func unescape(_ rest: inout ArraySlice<UInt8>) -> UInt8? {
        let digits = rest.prefix(3)
        if digits.count == 3 && digits.allSatisfy({ (48...57).contains($0) }) {
            let number = digits.reduce(0) { $0 * 10 + Int($1) - 48 }
            rest = rest.dropFirst(3)
            return UInt8(exactly: number)
        }
        return rest.popFirst()
    }

    /// Reads one UTF-8 sequence of at most four bytes.
    private static func scalar(at bytes: ArraySlice<UInt8>) -> (Unicode.Scalar, Int)? {
        var decoder = Unicode.UTF8.ForwardParser()
        var iterator = bytes.prefix(4).makeIterator()
        guard case .valid(let encoded) = decoder.parseScalar(from: &iterator) else { return nil }
        return (Unicode.UTF8.decode(encoded), encoded.count)
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F, 0x200C, 0x200D: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }

    private static func escape(_ byte: UInt8) -> String {
        let digits = String(byte)
        return "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
    }
}

extension DomainName: CustomStringConvertible {
    /// The labels with dots between them and none at the end, escaped as RFC 6763 section 4.3 has it; `.` for the root.
    public var description: String {
        wire.isEmpty
            ? "." : plainText ?? labels.map { SafeText.text(of: $0, escapingDots: true) }.joined(separator: ".")
    }

    /// The labels with dots between them, when there is nothing to escape.
    private var plainText: String? {
        var text = wire
        var border = 0
        for index in text.indices {
            if index == border {
                border += 1 + Int(text[index])
                text[index] = UInt8(ascii: ".")
            } else if !SafeText.isPlain(text[index]) || text[index] == UInt8(ascii: ".") {
                return nil
            }
        }
        return String(decoding: text.dropFirst(), as: UTF8.self)
    }

    /// Reads escaped text such as `Bob\\.s Printer._ipp._tcp.local`; one dot at the end is allowed.
    /// - Returns: `nil` when a label is empty or too long, the name is too long, or an escape is wrong.
    public init?(_ text: some StringProtocol) {
        var labels: [[UInt8]] = []
        var label: [UInt8] = []
        var rest = Array(text.utf8)[...]
        if rest == [UInt8(ascii: ".")] { rest = [] }
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "."):
                labels.append(label)
                label = []
            case UInt8(ascii: "\\"):
                guard let next = SafeText.unescape(&rest) else { return nil }
                label.append(next)
            default:
                label.append(byte)
            }
        }
        if !label.isEmpty { labels.append(label) }
        guard let name = try? DomainName(labels: labels) else { return nil }
        self = name
    }
}
