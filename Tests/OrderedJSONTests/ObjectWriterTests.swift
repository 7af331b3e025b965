// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import Testing

private struct Part: JSONObjectWritable {
    let name: String

    func write(to object: inout JSONObjectWriter) {
        object.write("name", name)
        object.write("index", -7)
    }
}

/// A member of every kind.
private struct Whole: JSONObjectWritable {
    func write(to object: inout JSONObjectWriter) {
        object.write("text", "a")
        object.write("none", nil as String?)
        object.write("yes", true)
        object.write("unsure", nil as Bool?)
        object.write("least", Int.min)
        object.write("most", UInt64.max)
        object.write("fraction", 0.000125)
        object.write("words", ["", "b"])
        object.write("part", Part(name: "c"))
        object.write("missing", nil as Part?)
        object.write("parts", [Part(name: "d"), Part(name: "e")])
        object.write("nobody", [] as [Part])
        object.write("value", .array([.null, .bool(false), .string("f")]))
        object.write("nothing", nil as JSONValue?)
    }
}

/// Members that may be left out.
private struct Sparse: JSONObjectWritable {
    var text: String?
    var number: Int?
    var count: UInt64?
    var share: Double?
    var part: Part?
    var parts: [Part]?

    func write(to object: inout JSONObjectWriter) {
        object.writeIfPresent("text", text)
        object.writeIfPresent("number", number)
        object.writeIfPresent("count", count)
        object.writeIfPresent("share", share)
        object.writeIfPresent("part", part)
        object.writeIfPresent("parts", parts)
    }
}

private struct Broken: JSONObjectWritable {
    struct Part: JSONObjectWritable {
        func write(to object: inout JSONObjectWriter) { object.write("share", Double.infinity) }
    }

    func write(to object: inout JSONObjectWriter) {
        object.write("sound", 1.5)
        object.write("part", Part())
        object.write("later", Double.nan)
    }
}

private struct Empty: JSONObjectWritable {
    func write(to object: inout JSONObjectWriter) {}
}

@Suite struct ObjectWriterTests {
    private let encoder = OrderedJSONEncoder()

    private func text(_ members: (inout JSONObjectWriter) -> Void) throws -> String {
        String(decoding: try encoder.encode(members: members), as: UTF8.self)
    }

    @Test func `members are written in the order of the calls, null where there is no value`() throws {
        let expected =
            #"{"text":"a","none":null,"yes":true,"unsure":null,"least":-9223372036854775808,"#
            + #""most":18446744073709551615,"fraction":0.000125,"words":["","b"],"part":{"name":"c","index":-7},"#
            + #""missing":null,"parts":[{"name":"d","index":-7},{"name":"e","index":-7}],"nobody":[],"#
            + #""value":[null,false,"f"],"nothing":null}"#
        #expect(try encoder.string(Whole()) == expected)
    }

    @Test func `white space does not change what is written`() throws {
        let pretty = OrderedJSONEncoder(style: .pretty)
        let value = try JSONValue(parsing: try encoder.encode(Whole()))
        #expect(try pretty.string(Whole()) == pretty.string(value))
        #expect(try pretty.encode([Whole()]) == pretty.encode(.array([value])))
    }

    @Test func `members without a value can be left out`() throws {
        #expect(try encoder.string(Sparse()) == "{}")
        let full = Sparse(text: "a", number: 1, count: 2, share: 0.5, part: Part(name: "b"), parts: [])
        #expect(
            try encoder.string(full)
                == #"{"text":"a","number":1,"count":2,"share":0.5,"part":{"name":"b","index":-7},"parts":[]}"#
        )
    }

    @Test func `several values share one object`() throws {
        let text = try text { object in
            object.write("first", 1)
            Part(name: "a").write(to: &object)
            Empty().write(to: &object)
            object.write("last", true)
        }
        #expect(text == #"{"first":1,"name":"a","index":-7,"last":true}"#)
    }

    @Test func `a value that writes nothing is an empty object`() throws {
        #expect(try encoder.string(Empty()) == "{}")
        #expect(try encoder.encode([Empty(), Empty()]) == Array("[{},{}]".utf8))
        #expect(try encoder.encode([] as [Empty]) == Array("[]".utf8))
    }

    @Test(arguments: ["", "a b", "\"\\", "é\n\u{2028}"])
    func `a key from outside is escaped`(key: String) throws {
        let text = try text { $0.write(key: key, .bool(true)) }
        #expect(text == "{\(JSONText.quote(key)):true}")
        var object = JSONObject()
        object[key] = .bool(true)
        #expect(try encoder.string(object) == text)
        #expect(try JSONValue(parsing: text) == .object(object))
    }

    @Test func `the terminator follows the text`() throws {
        let line = try encoder.encode(capacity: 0, terminator: 0x0A) { $0.write("some", 7) }
        #expect(line == Array("{\"some\":7}\n".utf8))
        #expect(try encoder.encode([Part](), terminator: 0x0A) == Array("[]\n".utf8))
    }

    @Test func `deep nesting is written as deep`() throws {
        var value = JSONValue.array([])
        for _ in 0..<200 { value = .array([value]) }
        #expect(try encoder.string(value) == String(repeating: "[", count: 201) + String(repeating: "]", count: 201))
    }

    @Test func `the first number that JSON cannot say is named by its path`() throws {
        #expect(throws: JSONError.notFinite(path: "part.share")) { try encoder.encode(Broken()) }
        #expect(throws: JSONError.notFinite(path: "0.part.share")) { try encoder.encode([Broken(), Broken()]) }
        #expect(throws: JSONError.notFinite(path: "list.0.part.share")) {
            try encoder.encode { $0.write("list", [Broken()]) }
        }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a number that JSON cannot say is an error wherever it stands`(number: Double) throws {
        #expect(throws: JSONError.notFinite(path: "")) { try encoder.encode(.double(number)) }
        #expect(throws: JSONError.notFinite(path: "1")) { try encoder.encode(.array([.integer(0), .double(number)])) }
        #expect(throws: JSONError.notFinite(path: "first")) { try encoder.encode { $0.write("first", number) } }
        #expect(throws: JSONError.notFinite(path: "a b.2")) {
            try encoder.encode { $0.write(key: "a b", .array([.null, .null, .double(number), .double(number)])) }
        }
        #expect(try encoder.string(.double(1)) == "1", "a failure leaves nothing behind")
    }
}
