// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public struct JSONLimits: Sendable {
    /// How many containers may be inside each other.
    public var depth: Int
    /// How many bytes the text may have.
    public var size: Int

    /// Makes limits; 64 levels and 16 MiB by default.
    public init(depth: Int = 64, size: Int = 16 << 20) {
        self.depth = depth
        self.size = size
    }
}

extension JSONValue {
    /// Reads one JSON text, strictly as RFC 8259 defines it, with every key at most once.
    ///
    /// - Throws: ``JSONError/syntax(_:offset:)`` for anything else, or a text over the limits.
    public init(parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(parsing: bytes[...], limits: limits)
    }

    /// Reads one JSON text out of a larger buffer; offsets in errors count from the start of the slice.
    public init(parsing bytes: ArraySlice<UInt8>, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        var reader = JSONReader(bytes, limits: limits)
        self = try reader.readText()
    }

    public init(parsing text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }
}

struct JSONReader {
    let bytes: ArraySlice<UInt8>
    let limits: JSONLimits
    var position: Int
    private var depth = 0

    init(_ bytes: ArraySlice<UInt8>, limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
        position = bytes.startIndex
    }

    mutating func readText() throws(JSONError) -> JSONValue {
        guard bytes.count <= limits.size else { throw .syntax(.tooLong, offset: limits.size) }
        skipSpace()
        let value = try readValue()
        skipSpace()
        guard position == bytes.endIndex else { throw error(.trailingBytes) }
        return value
    }

    func error(_ problem: JSONSyntaxProblem, at offset: Int? = nil) -> JSONError {
        .syntax(problem, offset: (offset ?? position) - bytes.startIndex)
    }

    /// The byte at the cursor; `nil` at the end.
    var next: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

    /// What is wrong when the byte at the cursor does not fit.
    var unexpected: JSONError {
        guard let next else { return error(.unexpectedEnd) }
        return error(.unexpectedByte(next))
    }

    private mutating func readValue() throws(JSONError) -> JSONValue {
        switch next {
        case UInt8(ascii: "{"): return try readObject()
        case UInt8(ascii: "["): return try readArray()
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try readWord("true", .bool(true))
        case UInt8(ascii: "f"): return try readWord("false", .bool(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || (48...57).contains(byte): return try readNumber()
        default: throw unexpected
        }
    }

    private mutating func readObject() throws(JSONError) -> JSONValue {
        try enter()
        var object = JSONObject()
        var seen: Set<String> = []
        var isFirst = true
        while try !ends(with: "}", isFirst: isFirst) {
            let start = position
            guard next == UInt8(ascii: "\"") else { throw unexpected }
            let key = try readString()
            guard seen.insert(key).inserted else { throw error(.duplicateKey(key), at: start) }
            skipSpace()
            try expect(":")
            skipSpace()
            object.append(key, try readValue())
            isFirst = false
        }
        return .object(object)
    }

    private mutating func readArray() throws(JSONError) -> JSONValue {
        try enter()
        var array: [JSONValue] = []
        while try !ends(with: "]", isFirst: array.isEmpty) {
            array.append(try readValue())
        }
        return .array(array)
    }

    /// Steps over the opening bracket.
    private mutating func enter() throws(JSONError) {
        guard depth < limits.depth else { throw error(.tooDeep) }
        depth += 1
        position += 1
    }

    /// Steps over the closing bracket, or the comma that must stand before a further item.
    private mutating func ends(with bracket: Unicode.Scalar, isFirst: Bool) throws(JSONError) -> Bool {
        skipSpace()
        if next == UInt8(ascii: bracket) {
            position += 1
            depth -= 1
            return true
        }
        if !isFirst {
            try expect(",")
            skipSpace()
        }
        return false
    }

    private mutating func expect(_ mark: Unicode.Scalar) throws(JSONError) {
        guard next == UInt8(ascii: mark) else { throw unexpected }
        position += 1
    }

    private mutating func readWord(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for byte in word.utf8 {
            guard next == byte else { throw unexpected }
            position += 1
        }
        return value
    }

    private mutating func skipSpace() {
        while let next, next == 0x20 || next == 0x0A || next == 0x0D || next == 0x09 { position += 1 }
    }
}
