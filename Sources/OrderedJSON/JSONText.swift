// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// JSON tokens appended to one buffer: the only code that serializes values.
///
/// The buffer is filled with zeros beforehand, so that a token costs little more than its bytes.
public struct JSONText {
    private var buffer: [UInt8] = []
    private var count = 0

    var bytes: [UInt8] { Array(buffer[..<count]) }

    /// A string as JSON writes it, quotes included, for documents that are put together from parts.
    public static func quote(_ text: String) -> String {
        var output = JSONText()
        output.append(string: text)
        return String(decoding: output.bytes, as: UTF8.self)
    }

    mutating func reserve(_ count: Int) {
        if buffer.count - self.count < count { grow(by: count) }
    }

    private mutating func grow(by count: Int) {
        buffer.append(contentsOf: repeatElement(0, count: max(count, buffer.count, 64)))
    }

    mutating func append(byte: UInt8) {
        if count == buffer.count { grow(by: 1) }
        buffer[count] = byte
        count += 1
    }

    mutating func append(_ mark: Unicode.Scalar) {
        append(byte: UInt8(truncatingIfNeeded: mark.value))
    }

    private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard let source = text.baseAddress else { return }
        reserve(text.count)
        let offset = count
        unsafe buffer.withUnsafeMutableBufferPointer { room in
            unsafe UnsafeMutableBufferPointer(rebasing: room[offset..<offset + text.count]).baseAddress?
                .update(from: source, count: text.count)
        }
        count += text.count
    }

    /// Appends `"`, the text, `"` and, after a key, a colon.
    mutating func append(quoted text: UnsafeBufferPointer<UInt8>, isKey: Bool = false) {
        let width = text.count + (isKey ? 3 : 2)
        reserve(width)
        let offset = count
        unsafe buffer.withUnsafeMutableBufferPointer { room in
            let room = unsafe UnsafeMutableBufferPointer(rebasing: room[offset..<offset + width])
            unsafe room[0] = 0x22
            if let source = text.baseAddress, let start = room.baseAddress {
                unsafe (start + 1).update(from: source, count: text.count)
            }
            unsafe room[text.count + 1] = 0x22
            if isKey { unsafe room[text.count + 2] = 0x3A }
        }
        count += width
    }

    /// Appends an already written token of the program's own.
    mutating func append(token: StaticString) {
        unsafe append(UnsafeBufferPointer(start: token.utf8Start, count: token.utf8CodeUnitCount))
    }

    /// Appends a key of the program's own with its quotes and colon.
    mutating func append(key: StaticString) {
        unsafe append(quoted: UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount), isKey: true)
    }

    /// Appends an already written token, such as the digits of a number.
    mutating func append(literal: String) {
        var literal = literal
        literal.withUTF8 { unsafe append($0) }
    }

    mutating func appendIndent(depth: Int) {
        append(byte: 0x0A)
        for _ in 0..<(2 * depth) { append(byte: 0x20) }
    }

    mutating func append(integer value: some FixedWidthInteger) {
        if value < 0 { append(byte: 0x2D) }
        append(magnitude: UInt64(value.magnitude), digits: 1)
    }

    /// Appends at least `digits` digits.
    private mutating func append(magnitude: UInt64, digits: Int) {
        var width = 1
        var rest = magnitude
        while rest >= 10 {
            rest /= 10
            width += 1
        }
        width = max(width, digits)
        reserve(width)
        rest = magnitude
        for offset in (count..<count + width).reversed() {
            buffer[offset] = UInt8(truncatingIfNeeded: 48 + rest % 10)
            rest /= 10
        }
        count += width
    }

    /// Appends a number as ``JSONNumber`` writes it.
    /// - Returns: `false` for infinities and NaN, of which nothing is appended.
    mutating func append(number value: Double) -> Bool {
        let thousandths = value * 1000
        let whole = thousandths.rounded()
        // Up to fifteen digits, the decimal number that reads back as this one is also the shortest that does.
        guard abs(whole) < 1e15, whole / 1000 == value, value.sign == .plus || whole < 0 else {
            guard let token = JSONNumber.text(of: value) else { return false }
            append(literal: token)
            return true
        }
        if whole < 0 { append(byte: 0x2D) }
        let magnitude = UInt64(abs(whole))
        append(magnitude: magnitude / 1000, digits: 1)
        var fraction = magnitude % 1000
        guard fraction > 0 else { return true }
        append(byte: 0x2E)
        var digits = 3
        while fraction % 10 == 0 {
            fraction /= 10
            digits -= 1
        }
        append(magnitude: fraction, digits: digits)
        return true
    }

    /// Appends a quoted string, escaped as RFC 8259 section 7 requires; `/` stays as it is.
    ///
    /// Whatever could trick a terminal or the eye is escaped too: U+007F and the C1 controls, the line separators, and
    /// invisible format characters such as those that change the writing direction. Joiners stay.
    mutating func append(string: String) {
        var string = string
        let isPlain = string.withUTF8 { text in
            guard unsafe !Self.mayNeedEscape(UnsafeRawBufferPointer(text)) else { return false }
            unsafe append(quoted: text)
            return true
        }
        guard !isPlain else { return }
        append(byte: 0x22)
        for scalar in string.unicodeScalars { append(escaping: scalar) }
        append(byte: 0x22)
    }

    /// Whether there is a control character, a quote, a backslash or anything beyond ASCII; eight bytes at a time.
    private static func mayNeedEscape(_ text: UnsafeRawBufferPointer) -> Bool {
        let (ones, high): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        var offset = 0
        while text.count - offset >= 8 {
            let word = unsafe text.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let (quote, slash) = (word ^ (ones &* 0x22), word ^ (ones &* 0x5C))
            // A byte borrows from the next only where it is below what is subtracted from it, which is detected.
            let found =
                (word &- ones &* 0x20) & ~word | (quote &- ones) & ~quote | (slash &- ones) & ~slash
                | word | (word &+ ones)
            if found & high != 0 { return true }
            offset += 8
        }
        while offset < text.count {
            let byte = unsafe text[offset]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C || byte >= 0x7F { return true }
            offset += 1
        }
        return false
    }

    private mutating func append(escaping scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": append(token: "\\\"")
        case "\\": append(token: "\\\\")
        case "\n": append(token: "\\n")
        case "\r": append(token: "\\r")
        case "\t": append(token: "\\t")
        case _ where Self.isTricky(scalar):
            for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                append(token: "\\u")
                for shift in [12, 8, 4, 0] as [UInt32] {
                    append(byte: Self.hexadecimal(UInt32(unit) >> shift & 0xF))
                }
            }
        default:
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte: byte) }
        }
    }

    private static func isTricky(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F, 0x200C, 0x200D: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }

    private static func hexadecimal(_ digit: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: digit < 10 ? 48 + digit : 87 + digit)
    }
}
