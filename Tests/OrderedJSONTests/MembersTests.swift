// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

private struct Place: MemberDeclaring {
    var name: String
    var index: Int?

    static let members = Members<Self>.named("Place", "A place.")
        .member("name", "What it is called.") { $0.name }
        .optional("index", as: .integer(from: 1)) { $0.index }
}

private struct Event: MemberDeclaring {
    var place: Place?
    var parts: [Place] = []
    var shares: [Double?] = []
    var word = "good"
    var isSure = true
    var since: String?

    static let members = Members<Self>.object("An event.")
        .member("place") { $0.place }
        .added("parts", "All of them.") { $0.parts }
        .member("shares", as: .amount) { $0.shares }
        .member("inner", "Within.", of: .object().member("word", as: .words("good", "bad")) { $0.word })
        .member("names", each: .object().member("text") { $0.name }) { $0.parts }
        .member("sure") { $0.isSure }
        .served("since") { $0.since }
        .members { Place(name: $0.word, index: 7) }
}

private struct Later: MemberDeclaring {
    let place: Place

    static let members = Members<Self>(Place.form.extended) { $0.place }.member("seconds") { _ in 1.5 }
}

@Suite struct MembersTests {
    private static let full = Event(
        place: Place(name: "a", index: 1),
        parts: [Place(name: "b")],
        shares: [0.5, nil],
        since: "now"
    )

    @Test func `members are written in the order of their declaration`() throws {
        let expected =
            #"{"place":{"name":"a","index":1},"parts":[{"name":"b"}],"shares":[0.5,null],"inner":{"word":"good"},"#
            + #""names":[{"text":"b"}],"sure":true,"since":"now","name":"good","index":7}"#
        #expect(try OrderedJSONEncoder().string(Self.full) == expected)
        #expect(Event.members.value(of: Self.full) == (try JSONValue(parsing: expected)))
    }

    @Test func `without a value a member is null, or left out`() throws {
        let expected =
            #"{"place":null,"parts":[],"shares":[],"inner":{"word":"good"},"names":[],"sure":true,"#
            + #""name":"good","index":7}"#
        #expect(try OrderedJSONEncoder().string(Event()) == expected)
    }

    @Test func `the type of a value says what the declaration does not`() throws {
        var writer = SchemaWriter(.components)
        let schema = try OrderedJSONEncoder().string(writer.schema(of: Event.form))
        let declared = Form.object("An event.")
            .member("place", Place.form.orNull)
            .added("parts", .list(of: Place.form), "All of them.")
            .member("shares", .list(of: .amount.orNull))
            .member("inner", .object().member("word", .words("good", "bad")), "Within.")
            .member("names", .list(of: .object().member("text", .text)))
            .member("sure", .truth)
            .served("since", .text)
            .member("name", .text, "What it is called.")
            .optional("index", .integer(from: 1))
        #expect(try OrderedJSONEncoder().string(writer.schema(of: declared)) == schema)
        #expect(Event.form.members.map(\.presence) == declared.members.map(\.presence))
        #expect(Event.form.problems(in: Event.members.value(of: Self.full)) == [])
    }

    @Test func `what another type declares can stand first`() throws {
        #expect(
            try OrderedJSONEncoder().string(Later(place: Place(name: "a"))) == #"{"name":"a","seconds":1.5}"#
        )
        #expect(Later.form.members.map(\.key) == ["name", "index", "seconds"])
    }
}
