// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import OrderedJSON
import TestSupport
import Testing

/// The published schema, checked by a validator that is not ours.
@Suite struct EventSchemaTests {
    private static let root = String(#filePath.dropLast("/Tests/DocumentsTests/EventSchemaTests.swift".count))
    private static let check = root + "/Tests/EventLogTests/Fixtures/check_events.py"

    private func validate(_ lines: [String]) throws -> String {
        let scratch = try Scratch()
        let log = try scratch.write(lines.joined(), to: "events.jsonl")
        let schema = try scratch.write(OrderedJSONEncoder().string(EventSchema.document), to: "schema.json")
        return try Command.run([try PythonEnvironment.python.get(), Self.check, schema, log])
    }

    private func lines() throws -> [String] {
        let hub = EventHub(EventHub.Options(host: "h"), after: try EventPosition("7f3a.1"), clock: ManualClock())
        return Example.all.map { String(decoding: hub.draft($0.body).line, as: UTF8.self) }
    }

    @Test func `every example is valid`() throws {
        let lines = try lines()
        #expect(try validate(lines).hasSuffix("\(lines.count) lines, 0 problems\n"))
    }

    @Test(arguments: [
        (#""status":"satisfied""#, #""status":"fine""#), (#""type":"wiredEthernet""#, #""type":"wired""#),
        (#""problem":"no_carrier""#, #""problem":"broken""#), (#""family":"ipv4""#, #""family":"ipx""#),
        (#""state":"started""#, #""state":"begun""#), (#""kind":"link""#, #""kind":"luck""#),
        (#""path_id":""#, #""path_id":"x"#), (#""operstate":"up""#, #""operstate":"UP""#),
        (#""reason":"goodbye""#, #""reason":"bored""#), (#""service_type":"_ipp._tcp""#, #""service_type":"ipp""#),
        (#""hardware_address":"02:"#, #""hardware_address":"2:"#),
    ])
    func `a word that is none of ours is refused`(good: String, bad: String) throws {
        let line = try #require(try lines().first { $0.contains(good) })
        let parts = line.split(separator: good, omittingEmptySubsequences: false)
        #expect(throws: CommandFailure.self) { try validate([parts.joined(separator: bad)]) }
    }
}
