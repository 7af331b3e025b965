// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

private enum Word: String, CaseIterable {
    case good
    case notGood = "not_good"
}

private let address = Form.named("Address", "Where it is.").member("text", .pattern("^[0-9.]+$"))

private let thing = Form.object("A thing.")
    .member("word", .oneOf(Word.self), "How it is.")
    .added("age", .integer(from: 0, to: 9))
    .optional("address", address.orNull, "Its address.")
    .added("state", .oneOf(Word.self))

@Suite struct SchemaWriterTests {
    private static func text(_ form: Form, _ style: SchemaWriter.Style = .components) throws -> String {
        var writer = SchemaWriter(style)
        return try OrderedJSONEncoder().string(writer.schema(of: form))
    }

    @Test(
        arguments: [
            (.truth, #"{"type":"boolean"}"#), (.text, #"{"type":"string"}"#),
            (.pattern("^a$"), #"{"type":"string","pattern":"^a$"}"#),
            (.count, #"{"type":"integer","minimum":0}"#), (.number, #"{"type":"number"}"#),
            (.percent, #"{"type":"number","minimum":0,"maximum":100}"#),
            (.oneOf(Word.self), #"{"type":"string","enum":["good","not_good"]}"#),
            (.constant("x"), #"{"type":"string","const":"x"}"#),
            (.list(of: .truth), #"{"type":"array","items":{"type":"boolean"}}"#),
            (.map(of: .text), #"{"type":"object","additionalProperties":{"type":"string"}}"#),
            (.object(), #"{"type":"object"}"#), (.anyObject, #"{"type":"object"}"#),
            (.text.orNull, #"{"type":["string","null"]}"#),
            (.words("a").orNull, #"{"type":["string","null"],"enum":["a",null]}"#),
            (.either(.text, .number), #"{"anyOf":[{"type":"string"},{"type":"number"}]}"#),
            (address.orNull, ##"{"anyOf":[{"$ref":"#/components/schemas/Address"},{"type":"null"}]}"##),
            (
                address.extended.member("b", .truth),
                ##"{"allOf":[{"$ref":"#/components/schemas/Address"},"##
                    + ##"{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}]}"##
            ),
        ] as [(Form, String)]
    )
    func `each kind has its keywords`(form: Form, schema: String) throws {
        #expect(try Self.text(form) == schema)
    }

    @Test func `members have their sentences, and the named ones are gathered once`() throws {
        var writer = SchemaWriter(.components)
        let schema = writer.schema(of: .list(of: thing))["items"]
        #expect(schema?["description"]?.string == "A thing.")
        #expect(schema?["properties"]?["word"]?["description"]?.string == "How it is.")
        #expect(schema?["required"] == .array([.string("word"), .string("age"), .string("state")]))
        _ = writer.schema(of: address)
        #expect(writer.definitions.keys == ["Address"])
        #expect(writer.definitions["Address"]?["description"]?.string == "Where it is.")
    }

    @Test func `what only the service knows is asked for in records, and may be absent elsewhere`() throws {
        let form = Form.object().served("seq", .count, "Its number.").served("x", .truth).member("time", .text)
        var writer = SchemaWriter(.components)
        let schema = writer.schema(of: form)
        #expect(schema["required"] == .array([.string("time")]))
        let absence = "Absent in what a command finds out without the service."
        #expect(schema["properties"]?["seq"]?["description"]?.string == "Its number. \(absence)")
        #expect(schema["properties"]?["x"]?["description"]?.string == absence)
        var records = SchemaWriter(.records)
        let record = records.schema(of: form)
        #expect(record["required"] == .array([.string("seq"), .string("x"), .string("time")]))
        #expect(record["properties"]?["seq"]?["description"]?.string == "Its number.")
    }

    @Test func `the schema of records has names of its own, and does not ask for what came later`() throws {
        var writer = SchemaWriter(.records)
        let schema = writer.schema(of: thing)
        #expect(schema["required"] == .array([.string("word")]))
        #expect(writer.definitions.keys == ["address"])
        _ = writer.schema(of: .named("NameServers", definition: "dns", "Who knows names."))
        #expect(writer.definitions.keys == ["address", "dns"])
        #expect(try Self.text(address, .records) == ##"{"$ref":"#/$defs/address"}"##)
        #expect(try Self.text(address, .definitions) == ##"{"$ref":"#/$defs/Address"}"##)
    }
}

@Suite struct FormProblemsTests {
    @Test(arguments: [
        #"{"word":"good","age":0,"state":"good"}"#, #"{"word":"good","age":9,"address":null,"state":"good"}"#,
        #"{"word":"good","age":1,"address":{"text":"1.2"},"state":"not_good"}"#,
    ])
    func `what is declared has no problems`(text: String) throws {
        #expect(thing.problems(in: try JSONValue(parsing: text)) == [])
    }

    @Test(arguments: [
        ("1", ": no object"), (#"{"word":"good","age":0}"#, ".state: missing"),
        (#"{"word":"good","age":0,"state":"good","x":1}"#, ".x: not declared"),
        (#"{"age":0,"word":"good","state":"good"}"#, #": ["age", "word", "state"], declared as"#),
        (#"{"word":"bad","age":0,"state":"good"}"#, ".word: "), (#"{"word":"good","age":10,"state":"good"}"#, ".age: "),
        (#"{"word":"good","age":"0","state":"good"}"#, ".age: "),
        (#"{"word":"good","age":1,"address":{"text":"x"},"state":"good"}"#, ".address.text: "),
        (#"{"word":"good","age":1,"address":{},"state":"good"}"#, ".address.text: missing"),
    ])
    func `what differs is found`(text: String, problem: String) throws {
        let problems = thing.problems(in: try JSONValue(parsing: text))
        #expect(problems.count == 1 && problems[0].hasPrefix(problem), "\(problems)")
    }

    @Test func `an object without members has none, and any object is a form of its own`() throws {
        let (empty, full) = (try JSONValue(parsing: "{}"), try JSONValue(parsing: #"{"a":1}"#))
        #expect(Form.object().problems(in: empty) == [] && Form.object().problems(in: full) == [".a: not declared"])
        #expect(Form.anyObject.problems(in: empty) == [] && Form.anyObject.problems(in: full) == [])
        #expect(Form.anyObject.problems(in: .null) == [": no object"])
    }

    @Test func `what only the service knows is there with it, and absent without it`() throws {
        let form = Form.object().member("list", .list(of: .object().served("since", .text).member("name", .text)))
        let served = try JSONValue(parsing: #"{"list":[{"since":"x","name":"n"}]}"#)
        let direct = try JSONValue(parsing: #"{"list":[{"name":"n"}]}"#)
        #expect(form.problems(in: served) == [] && form.problems(in: direct, withoutService: true) == [])
        #expect(form.problems(in: direct) == [".list.0.since: missing"])
        #expect(form.problems(in: served, withoutService: true) == [".list.0.since: not declared"])
    }

    @Test func `the members of one object may stand in another`() throws {
        let both = Form.object().member("x", .count).members(of: thing)
        #expect(both.members.map(\.key) == ["x", "word", "age", "address", "state"])
        #expect(address.extended.member("b", .truth).members.map(\.key) == ["text", "b"])
    }

    @Test func `lists, maps and choices are looked into`() throws {
        let list = Form.list(of: .map(of: .either(.truth, .integer(from: 1))))
        #expect(list.problems(in: try JSONValue(parsing: #"[{"a":true,"b":2},{}]"#)) == [])
        #expect(list.problems(in: try JSONValue(parsing: #"[{"a":0}]"#)) == [".0.a: none of several forms"])
        #expect(list.problems(in: try JSONValue(parsing: #"{}"#)) == [": no list"])
    }
}
