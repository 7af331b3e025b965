// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Spelling

extension ValueForm where Value == Bool {
    /// `true` or `false`, no other word.
    static let boolean = ValueForm(
        scalar: "true or false",
        schema: ["type": "boolean"],
        mustBePlain: true,
        parse: { (text) throws(Refusal) in
            switch text {
            case "true": return true
            case "false": return false
            case "yes", "on", "True", "TRUE", "Yes", "On": throw .unknownWord(nearest: "true")
            case "no", "off", "False", "FALSE", "No", "Off": throw .unknownWord(nearest: "false")
            default: throw .unknownWord(nearest: NearestSpelling.nearest(to: text, among: ["true", "false"]))
            }
        },
        write: { .boolean($0) }
    )
}

extension ValueForm where Value == Int {
    static func integer(_ range: ClosedRange<Int>) -> ValueForm {
        let expectation = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return ValueForm(
            scalar: expectation,
            schema: [
                "type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound),
            ],
            mustBePlain: true,
            parse: { (text) throws(Refusal) in
                guard !text.hasPrefix("+"), let number = Int(text), range.contains(number) else { throw .malformed }
                return number
            },
            write: { .integer($0) }
        )
    }
}

extension ValueForm where Value == UInt32 {
    /// A 32-bit number, decimal or hexadecimal with `0x`; `isHexadecimal` decides how it is written back.
    static func word(upTo maximum: UInt32, isHexadecimal: Bool) -> ValueForm {
        let expectation = "a number from 0 to " + (isHexadecimal ? "0x" + String(maximum, radix: 16) : "\(maximum)")
        return ValueForm(
            scalar: expectation,
            schema: [
                "anyOf": [
                    ["type": "integer", "minimum": 0, "maximum": .integer(Int(maximum))],
                    ["type": "string", "pattern": "^0x[0-9a-fA-F]{1,8}$"],
                ]
            ],
            parse: { (text) throws(Refusal) in
                let isHexadecimal = text.hasPrefix("0x")
                let digits = isHexadecimal ? text.dropFirst(2) : text[...]
                guard digits.first.map({ $0.isASCII && $0.isHexDigit }) == true,
                    let number = UInt32(digits, radix: isHexadecimal ? 16 : 10), number <= maximum
                else { throw .malformed }
                return number
            },
            write: { isHexadecimal ? .text("0x" + String($0, radix: 16)) : .integer(Int($0)) }
        )
    }
}

extension ValueForm where Value == Duration {
    /// A duration in a range; `0` switches the thing off where `zero` says what that means.
    static func duration(_ range: ClosedRange<Duration>, zero: String? = nil) -> ValueForm {
        let limits =
            "from " + DurationText.format(range.lowerBound) + " to " + DurationText.format(range.upperBound)
            + (zero.map { ", or 0 (\($0))" } ?? "")
        return ValueForm(
            scalar: "\(DurationText.expectation), \(limits)",
            schema: ["anyOf": [["type": "string", "pattern": .text(DurationText.pattern)], ["const": 0]]],
            parse: { (text) throws(Refusal) in
                guard let duration = DurationText.parse(text) else { throw .malformed }
                guard range.contains(duration) || (zero != nil && duration == .zero) else {
                    throw .expected("a duration \(limits)")
                }
                return duration
            },
            write: { .text(DurationText.format($0)) }
        )
    }
}

extension ValueForm where Value == ByteCount {
    /// A size in a range; `0` switches the thing off where `zero` says what that means.
    static func size(_ range: ClosedRange<ByteCount>, zero: String? = nil) -> ValueForm {
        let limits = "from \(range.lowerBound) to \(range.upperBound)" + (zero.map { ", or 0 (\($0))" } ?? "")
        return ValueForm(
            scalar: "\(ByteCount.expectation), \(limits)",
            schema: [
                "anyOf": [
                    ["type": "string", "pattern": .text(ByteCount.pattern)], ["type": "integer", "minimum": 0],
                ]
            ],
            parse: { (text) throws(Refusal) in
                guard let size = ByteCount(text) else { throw .malformed }
                guard range.contains(size) || (zero != nil && size.bytes == 0) else {
                    throw .expected("a size \(limits)")
                }
                return size
            },
            write: { .text($0.description) }
        )
    }
}

extension ValueForm where Value == IPAddress {
    /// An address that a route lookup can be made for: of the family, global, unicast.
    static func probe(_ family: AddressFamily) -> ValueForm {
        let name = family == .ipv4 ? "an IPv4 address" : "an IPv6 address"
        return ValueForm(
            scalar: name,
            schema: ["type": "string", "format": .text(family.rawValue)],
            parse: { (text) throws(Refusal) in
                guard let address = IPAddress(text), address.family == family else { throw .malformed }
                guard !address.isUnspecified, !address.isLoopback, !address.isLinkLocal, !address.isMulticast else {
                    throw .expected(name + " that is neither loopback, link-local, multicast nor unspecified")
                }
                return address
            },
            write: { .text($0.description) }
        )
    }
}

extension ValueForm where Value == Glob {
    static let glob = ValueForm(
        scalar: Glob.expectation,
        schema: ["type": "string", "minLength": 1, "maxLength": 256],
        parse: { (text) throws(Refusal) in
            guard let glob = Glob(text) else { throw .malformed }
            return glob
        },
        write: { .text($0.description) }
    )
}

extension ValueForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    static var choice: ValueForm {
        let words = Value.allCases.map(\.rawValue)
        return ValueForm(
            scalar: "one of " + words.joined(separator: ", "),
            schema: ["type": "string", "enum": .list(words.map { .text($0) })],
            parse: { (text) throws(Refusal) in
                guard let value = Value(rawValue: text) else {
                    throw .unknownWord(nearest: NearestSpelling.nearest(to: text, among: words))
                }
                return value
            },
            write: { .text($0.rawValue) }
        )
    }
}
