// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import OrderedJSON

/// The short ways by which values become text give what the long ones give.
@Suite struct JSONTextTests {
    private func text(of value: Double) -> String? {
        var text = JSONText()
        return text.append(number: value) ? String(decoding: text.bytes, as: UTF8.self) : nil
    }

    @Test(
        arguments: [
            0, -0.0, 0.001, -0.001, 0.0005, 0.1, 0.12, 1.5, 4.2, -7.25, 12.345, 999.999, 1e3, 86_400, 1e12,
            999_999_999_999.999, 999_999_999_999.9995, 0.0009999, 1.0000000000000002, 0.30000000000000004,
            123.456, 98.76, 1e-300, 2.5e-4, -999_999.999,
            1_000_000.001,
            1e15, 123_456_789_012_345.6, 1e21, 1e300, -1e-7, .pi, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            .infinity, -.infinity, .nan,
        ] as [Double]
    )
    func `a number is written as its shortest decimal text`(value: Double) {
        #expect(text(of: value) == JSONNumber.text(of: value))
    }

    @Test func `thousandths are, too, whatever their number`() {
        var generator = SystemRandomNumberGenerator()
        for width in 1..<53 {
            for _ in 0..<200 {
                let number = Int64.random(in: -(1 << width)...(1 << width), using: &generator)
                let value = Double(number) / 1000
                #expect(text(of: value) == JSONNumber.text(of: value), "\(number) thousandths")
            }
        }
    }

    @Test(arguments: ["\"", "\\", "\u{0}", "\u{1F}", "\u{7F}", "é", "\u{202E}"])
    func `what needs an escape is found wherever it stands`(mark: String) {
        for before in 0..<20 {
            for after in [0, 1, 7, 8, 9] {
                let plain = (String(repeating: "~", count: before), String(repeating: " ", count: after))
                let quoted = JSONText.quote(mark).dropFirst().dropLast()
                #expect(JSONText.quote(plain.0 + mark + plain.1) == "\"\(plain.0)\(quoted)\(plain.1)\"")
            }
        }
    }

    @Test func `plain text of any length stays as it is`() {
        let plain = String(String.UnicodeScalarView((0x20..<0x7F).compactMap(Unicode.Scalar.init)))
            .filter { $0 != "\"" && $0 != "\\" }
        for count in 0...plain.count {
            let part = String(plain.prefix(count))
            #expect(JSONText.quote(part) == "\"\(part)\"")
        }
        #expect(JSONText.quote(String(repeating: plain, count: 40)).utf8.count == 2 + 40 * plain.utf8.count)
    }

    @Test(arguments: [0, 7, 10, 99, 100, -1, .min, .max] as [Int])
    func `whole numbers have no zeros in front`(value: Int) {
        var text = JSONText()
        text.append(integer: value)
        text.append(integer: UInt64.max)
        #expect(String(decoding: text.bytes, as: UTF8.self) == "\(value)\(UInt64.max)")
    }

    @Test func `the buffer grows with what is appended, and shows nothing else`() {
        var text = JSONText()
        var expected: [UInt8] = []
        #expect(text.bytes.isEmpty)
        for number in 0..<1000 {
            text.append("{")
            text.append(key: "key")
            text.append(literal: "\(number)")
            text.append(literal: "")
            text.append(byte: 0x2C)
            text.append(string: String(repeating: "x", count: number % 70))
            text.append("}")
            let word = String(repeating: "x", count: number % 70)
            expected += Array("{\"key\":\(number),\"\(word)\"}".utf8)
            if number % 100 == 0 { text.reserve(number) }
        }
        #expect(text.bytes == expected)
    }

    @Test func `a copy of a text goes on by itself`() {
        var text = JSONText()
        text.append(literal: "one")
        var copy = text
        copy.append(literal: " two")
        text.append(literal: " three")
        #expect(String(decoding: text.bytes, as: UTF8.self) == "one three")
        #expect(String(decoding: copy.bytes, as: UTF8.self) == "one two")
    }

    @Test func `a key has its quotes and its colon, a token has not`() {
        var text = JSONText()
        text.append(key: "")
        text.append(token: "null")
        text.append(key: "a_longer_key_than_fits_a_small_string")
        text.append(token: "true")
        #expect(String(decoding: text.bytes, as: UTF8.self) == #""":null"a_longer_key_than_fits_a_small_string":true"#)
    }

    @Test(arguments: ["é", "\n", "plain", "a\"b"])
    func `a text after another one is a text of its own`(word: String) {
        var text = JSONText()
        text.append(string: word)
        text.append(string: word)
        let quoted = JSONText.quote(word)
        #expect(String(decoding: text.bytes, as: UTF8.self) == quoted + quoted)
    }

    @Test(arguments: [0, 1, 3])
    func `an indent is a line feed and two spaces for each level`(depth: Int) {
        var text = JSONText()
        text.append("[")
        text.appendIndent(depth: depth)
        text.append("]")
        #expect(String(decoding: text.bytes, as: UTF8.self) == "[\n" + String(repeating: "  ", count: depth) + "]")
    }
}
