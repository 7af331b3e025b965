// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal, or the canonical IPv6 text of RFC 5952.
    public var description: String {
        switch self {
        case .v4(let value):
            return Self.dotted(value)
        case .v6(let value):
            if value >> 32 == 0xFFFF { return "::ffff:\(IPAddress.v4(UInt32(truncatingIfNeeded: value)))" }
            return Self.text(ofGroups: (0..<8).map { UInt16(truncatingIfNeeded: value >> (112 - 16 * UInt128($0))) })
        }
    }

    /// Dotted decimal, from the last digit to the first.
    private static func dotted(_ address: UInt32) -> String {
        unsafe String(unsafeUninitializedCapacity: 15) { text in
            unsafe text.initialize(repeating: 0)
            var place = 15
            for shift in stride(from: UInt32(0), through: 24, by: 8) {
                var part = address >> shift & 255
                repeat {
                    place -= 1
                    unsafe text[place] = UInt8(truncatingIfNeeded: 48 + part % 10)
                    part /= 10
                } while part > 0
                if shift < 24 {
                    place -= 1
                    unsafe text[place] = UInt8(ascii: ".")
                }
            }
            for digit in place..<15 { unsafe text[digit - place] = unsafe text[digit] }
            return 15 - place
        }
    }

    /// Reads an address literal: four decimal numbers, or any IPv6 form of RFC 4291 section 2.2, without a scope.
    /// - Returns: `nil` when the text is neither.
    public init?(_ text: some StringProtocol) { self.init(String(text)) }

    /// As ``init(_:)`` of any text.
    public init?(_ text: String) {
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard let value = Self.ipv6(text) else { return nil }
            self = .v6(value)
        } else {
            guard let value = Self.ipv4(text) else { return nil }
            self = .v4(value)
        }
    }

    /// The longest run of two or more zero groups becomes `::`, the first one of equals (RFC 5952 section 4.2).
    private static func text(ofGroups groups: [UInt16]) -> String {
        var longest = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8 && groups[end] == 0 { end += 1 }
            if end - start > max(longest.count, 1) { longest = start..<end }
            start = max(end, start + 1)
        }
        let words = groups.map { String($0, radix: 16) }
        guard !longest.isEmpty else { return words.joined(separator: ":") }
        return words[..<longest.lowerBound].joined(separator: ":") + "::"
            + words[longest.upperBound...].joined(separator: ":")
    }

    private static func ipv4(_ text: String) -> UInt32? {
        var value: UInt32 = 0
        var (number, digits, parts) = (UInt32(0), 0, 1)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "."):
                guard digits > 0, parts < 4 else { return nil }
                value = value << 8 | number
                (number, digits, parts) = (0, 0, parts + 1)
            case 48...57:
                // No number has a leading zero.
                guard digits == 0 || number > 0 else { return nil }
                number = number * 10 + UInt32(byte - 48)
                digits += 1
                guard number <= 255 else { return nil }
            default: return nil
            }
        }
        return parts == 4 && digits > 0 ? value << 8 | number : nil
    }

    private static func ipv6(_ text: String) -> UInt128? {
        guard let gap = text.range(ofDoubleColon: ()) else {
            guard let groups = groups(text[...], endsAddress: true), groups.count == 8 else { return nil }
            return join(groups)
        }
        guard let head = groups(text[..<gap.lowerBound], endsAddress: false),
            let tail = groups(text[gap.upperBound...], endsAddress: true),
            head.count + tail.count <= 7
        else { return nil }
        return join(head + [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail)
    }

    private static func join(_ groups: [UInt16]) -> UInt128 {
        groups.reduce(0) { $0 << 16 | UInt128($1) }
    }

    /// Colon-separated groups of one to four hexadecimal digits; the last one of an address may be dotted decimal.
    private static func groups(_ text: Substring, endsAddress: Bool) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        var groups: [UInt16] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if endsAddress && index == parts.count - 1 && part.utf8.contains(UInt8(ascii: ".")) {
                guard let value = ipv4(String(part)) else { return nil }
                groups += [UInt16(value >> 16), UInt16(truncatingIfNeeded: value)]
            } else {
                guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy(isHexadecimal),
                    let value = UInt16(part, radix: 16)
                else { return nil }
                groups.append(value)
            }
        }
        return groups
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...70).contains(byte) || (97...102).contains(byte)
    }
}

extension String {
    fileprivate func range(ofDoubleColon _: Void) -> Range<Index>? {
        var index = startIndex
        while let colon = self[index...].firstIndex(of: ":") {
            let next = self.index(after: colon)
            if next < endIndex && self[next] == ":" { return colon..<self.index(after: next) }
            index = next
        }
        return nil
    }
}

extension IPPrefix {
    /// Reads `address/length`; a bare address means its full width.
    /// - Returns: `nil` when the text is not a prefix, or has bits set past its length.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = IPAddress(parts[0]) else { return nil }
        let width = address.family.bitWidth
        guard let length = parts.count == 2 ? Int(parts[1]) : width, (0...width).contains(length) else { return nil }
        self.init(address, length: length)
        guard self.address == address else { return nil }
    }
}
