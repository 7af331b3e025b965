// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import Testing

/// An object that writes itself, and the same by `Encodable`.
private struct Plain: Encodable {
    struct Part: Encodable {
        let name: String
        let index: Int
    }

    let text: String
    @Nullable var none: String?
    let yes: Bool
    @Nullable var unsure: Bool?
    let least: Int
    let most: UInt64
    let fraction: Double
    let words: [String]
    let part: Part
    @Nullable var missing: Part?
    let parts: [Part]
    let nobody: [Part]

    var direct: Direct { Direct(plain: self) }
}

private struct Direct: JSONObjectWritable {
    struct Part: JSONObjectWritable {
        let part: Plain.Part

        func write(to object: inout JSONObjectWriter) {
            object.write("name", part.name)
            object.write("index", part.index)
        }
    }

    let plain: Plain

    func write(to object: inout JSONObjectWriter) {
        object.write("text", plain.text)
        object.write("none", plain.none)
        object.write("yes", plain.yes)
        object.write("unsure", plain.unsure)
        object.write("least", plain.least)
        object.write("most", plain.most)
        object.write("fraction", plain.fraction)
        object.write("words", plain.words)
        object.write("part", Part(part: plain.part))
        object.write("missing", plain.missing.map(Part.init))
        object.write("parts", plain.parts.map(Part.init))
        object.write("nobody", plain.nobody.map(Part.init))
    }
}

/// Something that has members before and after those of another, and that one inside.
private struct Around<Inner: Encodable>: Encodable {
    enum Keys: String, CodingKey { case before, inner, list, after }
    let inner: Inner

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode("b", forKey: .before)
        try inner.encode(to: encoder)
        try container.encode(inner, forKey: .inner)
        try container.encode([inner, inner], forKey: .list)
        try container.encode(1, forKey: .after)
    }
}

private struct Broken: JSONObjectWritable {
    struct Part: JSONObjectWritable {
        func write(to object: inout JSONObjectWriter) { object.write("share", Double.infinity) }
    }

    func write(to object: inout JSONObjectWriter) {
        object.write("part", Part())
        object.write("later", Double.nan)
    }
}

@Suite struct ObjectWriterTests {
    private static func plain(_ text: String) -> Plain {
        let part = Plain.Part(name: text, index: -7)
        return Plain(
            text: text,
            yes: true,
            unsure: false,
            least: .min,
            most: .max,
            fraction: 0.000125,
            words: ["", text],
            part: part,
            parts: [part, part],
            nobody: []
        )
    }

    private static let texts = ["eth0", "", "a \"quote\" \\ and\n\u{1}", "naïve €", "\u{2028}\u{7F}"]

    @Test(arguments: texts, [OrderedJSONEncoder.Style.compact, .pretty])
    func `an object that writes itself gives the text of the same by Encodable`(
        text: String,
        style: OrderedJSONEncoder.Style
    ) throws {
        let (plain, encoder) = (Self.plain(text), OrderedJSONEncoder(style: style))
        #expect(try encoder.string(plain.direct) == encoder.string(plain))
        #expect(try encoder.string(Around(inner: plain.direct)) == encoder.string(Around(inner: plain)))
        #expect(try encoder.string([plain.direct]) == encoder.string([plain]))
        let line = try encoder.line(capacity: 1, terminator: 0x0A) { object in
            plain.direct.write(to: &object)
            return true
        }
        #expect(try line == OrderedJSONEncoder().encode(plain) + [0x0A])
    }

    @Test func `the first number that JSON cannot say is named by its path`() throws {
        #expect(throws: JSONError.notFinite(path: "part.share")) { try OrderedJSONEncoder().encode(Broken()) }
        #expect(throws: JSONError.notFinite(path: "inner.part.share")) {
            try OrderedJSONEncoder().encode(["inner": Broken()])
        }
    }

    @Test(arguments: [0, 9, 10, 99, 100, 12_345, 1_000_000_007, UInt64.max])
    func `whole numbers have all their digits`(number: UInt64) throws {
        #expect(try OrderedJSONEncoder().string([number]) == "[\(number)]")
    }

    @Test(arguments: [-1, Int64.min, Int64.max])
    func `whole numbers keep their sign`(number: Int64) throws {
        #expect(try OrderedJSONEncoder().string([number]) == "[\(number)]")
    }

    @Test func `a line is not written by what cannot write itself, nor with a number that is none`() throws {
        let encoder = OrderedJSONEncoder()
        #expect(try encoder.line(capacity: 8, terminator: 0x0A) { _ in false } == nil)
        #expect(throws: JSONError.notFinite(path: "value")) {
            try encoder.line(capacity: 8, terminator: 0x0A) { object in
                object.write("value", Double.nan)
                return true
            }
        }
        let line = try encoder.line(capacity: 0, terminator: 0x0A) { object in
            object.write("some", "text" as String?)
            object.write("number", 7 as Int?)
            return true
        }
        #expect(line == Array("{\"some\":\"text\",\"number\":7}\n".utf8))
    }
}
