// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension JSONReader {
    // MARK: - Numbers

    mutating func readNumber() throws(JSONError) -> JSONValue {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        let whole = position
        try skipDigits()
        guard bytes[whole] != 48 || position == whole + 1 else { throw error(.invalidNumber, at: start) }
        var isWhole = true
        if next == UInt8(ascii: ".") {
            isWhole = false
            position += 1
            try skipDigits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isWhole = false
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            try skipDigits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isWhole && text != "-0" {
            if let value = Int64(text) { return .integer(value) }
            if let value = UInt64(text) { return .unsigned(value) }
        }
        guard let value = Double(text), value.isFinite else { throw error(.invalidNumber, at: start) }
        return .double(value)
    }

    private mutating func skipDigits() throws(JSONError) {
        let start = position
        while let next, (48...57).contains(next) { position += 1 }
        guard position > start else { throw next == nil ? unexpected : error(.invalidNumber) }
    }

    // MARK: - Strings

    /// Reads a string, from its opening quote to behind its closing one.
    mutating func readString() throws(JSONError) -> String {
        position += 1
        let start = position
        while let byte = next, byte != 0x22, byte != 0x5C, byte >= 0x20 { position += 1 }
        guard next != 0x22 else {
            defer { position += 1 }
            return try text(bytes[start..<position], from: start)
        }
        return try readEscapedString(Array(bytes[start..<position]), from: start)
    }

    private mutating func readEscapedString(_ head: [UInt8], from start: Int) throws(JSONError) -> String {
        var decoded = head
        while let byte = next {
            switch byte {
            case 0x22:
                position += 1
                return try text(decoded[...], from: start)
            case 0x5C:
                try readEscape(into: &decoded)
            case 0..<0x20:
                throw error(.controlCharacter(byte))
            default:
                decoded.append(byte)
                position += 1
            }
        }
        throw error(.unexpectedEnd)
    }

    private func text(_ bytes: ArraySlice<UInt8>, from start: Int) throws(JSONError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw error(.invalidUTF8, at: start) }
        return text
    }

    private mutating func readEscape(into decoded: inout [UInt8]) throws(JSONError) {
        let start = position
        position += 1
        guard let mark = next else { throw error(.unexpectedEnd) }
        position += 1
        switch mark {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(mark)
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"):
            guard let scalar = Unicode.Scalar(try readCodePoint(from: start)) else {
                throw error(.loneSurrogate, at: start)
            }
            decoded.append(contentsOf: String(Character(scalar)).utf8)
        default: throw error(.invalidEscape, at: start)
        }
    }

    /// The four digits after `\u`, or eight of a surrogate pair.
    private mutating func readCodePoint(from start: Int) throws(JSONError) -> UInt32 {
        let high = try readHexadecimal(from: start)
        guard (0xD800...0xDBFF).contains(high) else { return high }
        guard next == 0x5C, position + 1 < bytes.endIndex, bytes[position + 1] == UInt8(ascii: "u") else {
            throw error(.loneSurrogate, at: start)
        }
        position += 2
        let low = try readHexadecimal(from: start)
        guard (0xDC00...0xDFFF).contains(low) else { throw error(.loneSurrogate, at: start) }
        return 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
    }

    private mutating func readHexadecimal(from start: Int) throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next else { throw error(.unexpectedEnd) }
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error(.invalidEscape, at: start)
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }
}
