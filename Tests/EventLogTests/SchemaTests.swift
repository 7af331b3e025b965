// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The published schema, checked by a validator that is not ours: jsonschema from PyPI.
@Suite struct SchemaTests {
    private static let tests = String(#filePath.dropLast("/SchemaTests.swift".count))
    private static let examples = tests + "/Fixtures/examples.jsonl"

    private func check(_ path: String) throws -> String {
        let scratch = try Scratch()
        let schema = scratch.log + ".schema"
        try Files.write(OrderedJSONEncoder().encode(EventSchema.document), to: schema)
        let words = [try PythonEnvironment.python.get(), Self.tests + "/Fixtures/check_events.py", schema, path]
        return try Command.run(words)
    }

    @Test func `one example of each kind of event is valid, its members in order`() throws {
        #expect(try check(Self.examples).hasSuffix("19 lines, 0 problems\n"))
    }

    @Test func `the examples pass our own check of the envelope`() throws {
        let kinds = LogVerifier.verify([Self.examples]).problems.map(\.kind)
        #expect(kinds.isEmpty)
    }

    @Test func `every body of the hub, the log and the daemon is valid`() throws {
        let identity = DaemonIdentity(version: "0.1.0", revision: "", processID: 1, bootID: nil)
        let bodies: [any EventBody] = [
            LogGap(file: "/l", lost: 3...5, error: "ENOSPC", duration: .seconds(1)),
            DaemonStarted(identity: identity, configuration: nil, digest: nil),
            DaemonStarted(identity: identity, configuration: "/c", digest: "00"),
            DaemonStarted(
                identity: identity,
                configuration: nil,
                digest: nil,
                previousAlive: WallTime(nanoseconds: 1_795_176_000_000_000_000),
                unwatched: .seconds(1)
            ),
            DaemonStopping(signal: nil, uptime: .zero),
            ConfigurationReloaded(path: "/c", changed: [], restartNeeded: ["a"]),
            ConfigurationRejected(path: "/c", errors: ["e"]),
            NetlinkOverrun(total: 1, resync: .zero, changesFound: 0), ClockJumped(.suspended(for: .seconds(1))),
            ClockJumped(.stepped(by: .seconds(-1))), ClockJumped(.stalled(for: .seconds(5))),
        ]
        let scratch = try Scratch()
        let pair = try Pair(scratch.log)
        for body in bodies { pair.hub.publish(body) }
        #expect(try check(scratch.log).hasSuffix("\(bodies.count + 1) lines, 0 problems\n"))
    }

    @Test(arguments: [
        (#""seq":40"#, #""seq":0"#), (#""stream":"7f3a""#, #""stream":"xyz""#), ("nwpath.event/1", "nwpath.event/2"),
        ("log.opened", "log.closed"), (#""severity":"info""#, #""severity":"notice""#), (#"120345Z""#, #"Z""#),
        (#""previous_seq":39,"#, ""), (#""host":"edge-17","message":"Event log opened""#, #""message":"m","host":"h""#),
    ])
    func `a record that breaks the rules is refused`(good: String, bad: String) throws {
        let line = try Files.text(Self.examples).trimmed
        let parts = line.split(separator: good, maxSplits: 1, omittingEmptySubsequences: false)
        try #require(parts.count == 2)
        let scratch = try Scratch()
        try Files.write(Array((parts.joined(separator: bad) + "\n").utf8), to: scratch.log)
        #expect(throws: CommandFailure.self) { try check(scratch.log) }
    }

    @Test func `schema and catalogue name the same events`() throws {
        let schema = EventSchema.document
        let names = schema["properties"]?["event"]?["enum"]?.array?.compactMap(\.string) ?? []
        #expect(names.sorted() == EventName.allCases.map(\.rawValue).sorted())
        #expect(schema["allOf"]?.array?.count == names.count)
        #expect(
            schema["required"]?.array?.compactMap(\.string)
                == ["time", "seq", "stream", "schema", "event", "severity", "host", "message"]
        )
    }
}
