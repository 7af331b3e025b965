// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why JSON could not be written or read.
public enum JSONError: Error, Hashable, Sendable {
    /// The text is not JSON (RFC 8259), or over a limit; `offset` counts bytes from the start of the text.
    case syntax(JSONSyntaxProblem, offset: Int)
    /// A number at `path` is infinite or not a number, which JSON cannot say.
    case notFinite(path: String)
}

public enum JSONSyntaxProblem: Error, Hashable, Sendable {
    case unexpectedEnd
    /// This byte cannot stand here.
    case unexpectedByte(UInt8)
    /// The value is over; more bytes follow.
    case trailingBytes
    case controlCharacter(UInt8)
    /// An escape that RFC 8259 does not know, or `\u` without four hexadecimal digits.
    case invalidEscape
    case loneSurrogate
    /// The bytes of a string are not UTF-8.
    case invalidUTF8
    /// A number with a leading zero, or without a digit where one must be, or too large for a `Double`.
    case invalidNumber
    case duplicateKey(String)
    /// More containers inside each other than the limit.
    case tooDeep
    /// More bytes than the limit.
    case tooLong
}

extension JSONError: CustomStringConvertible {
    /// One line for people, such as `byte 12: unexpected end`.
    public var description: String {
        switch self {
        case .syntax(let problem, let offset): "byte \(offset): \(problem)"
        case .notFinite(let path): "\(path) is not a finite number"
        }
    }
}

extension JSONSyntaxProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unexpectedEnd: "unexpected end"
        case .unexpectedByte(let byte): "unexpected \(Self.name(of: byte))"
        case .trailingBytes: "text after the end of the value"
        case .controlCharacter(let byte): "unescaped control character \(Self.name(of: byte))"
        case .invalidEscape: "invalid escape"
        case .loneSurrogate: "half of a surrogate pair"
        case .invalidUTF8: "invalid UTF-8"
        case .invalidNumber: "invalid number"
        case .duplicateKey(let key): "key '\(key)' appears twice"
        case .tooDeep: "too many containers inside each other"
        case .tooLong: "text too long"
        }
    }

    private static func name(of byte: UInt8) -> String {
        guard (0x21...0x7E).contains(byte) else { return "byte 0x" + String(byte, radix: 16, uppercase: true) }
        return "'\(Unicode.Scalar(byte))'"
    }
}
