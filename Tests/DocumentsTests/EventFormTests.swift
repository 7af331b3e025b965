// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Documents
import EventHub
import OrderedJSON
import TestSupport
import Testing

/// What events write against what they declare.
@Suite struct EventFormTests {
    @Test(arguments: Example.all)
    func `a record has what is declared, in that order`(example: Example) throws {
        let hub = EventHub(EventHub.Options(host: "h"), after: try EventPosition("7f3a.1"), clock: ManualClock())
        let record = try JSONValue(parsing: Array(hub.draft(example.body).json))
        let form = Form.object().members(of: Event.form).members(of: example.body.name.form)
        #expect(form.problems(in: record) == [])
    }

    @Test(arguments: [("_ipp._tcp", true), ("_a\\.b c._UDP", true), ("ipp._tcp", false), ("_ipp._sctp", false)])
    func `a service type is what a network may have`(type: String, isRight: Bool) {
        #expect(Form.serviceType.problems(in: .string(type)).isEmpty == isRight)
    }

    @Test(arguments: EventName.allCases)
    func `the schema has a rule for each event`(name: EventName) throws {
        let rules = (EventSchema.document["allOf"]?.array ?? []).filter {
            $0["if"]?["properties"]?["event"]?["const"]?.string == name.rawValue
        }
        try #require(rules.count == 1)
        let data = rules[0]["then"]?["anyOf"]?[0]
        #expect(data?["properties"]?.object?.keys == name.form.members.map(\.key))
        #expect(data?["required"] != nil, "no member tells it from an event that could not be written")
    }
}
