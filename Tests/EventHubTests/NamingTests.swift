// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import Testing

@Suite struct NamingTests {
    @Test(arguments: [
        ("path.*", ["path.snapshot", "path.changed", "path.flapping"]), ("log.gap", ["log.gap"]),
        ("*.reachable", ["gateway.reachable"]), ("*reachable", ["gateway.unreachable", "gateway.reachable"]),
        ("service_type.?dded", ["service_type.added"]), ("**.s*t", ["path.snapshot"]),
        ("config.re?????d", ["config.reloaded", "config.rejected"]),
    ])
    func `a pattern matches names`(text: String, expected: [String]) throws {
        let pattern = try EventPattern(text)
        let found = EventName.allCases.filter { pattern.matches($0) }.map(\.rawValue)
        #expect(found.sorted() == expected.sorted())
    }

    @Test func `a star matches every name, also one of a later version`() throws {
        let star = try EventPattern("*")
        #expect(EventName.allCases.allSatisfy { star.matches($0) })
        #expect(try EventPattern("path.*").matches("path.invented"))
        #expect(star.matches(""))
    }

    @Test(arguments: ["", "paths.*", "path", "path.changed.", "PATH.*", "path.?"])
    func `a pattern that matches nothing is refused`(text: String) {
        #expect(throws: EventHubError.unknownEvent(text)) { try EventPattern(text) }
    }

    @Test func `a hostile pattern takes no time`() throws {
        let pattern = try EventPattern(String(repeating: "*", count: 2000))
        #expect(pattern.matches(String(repeating: "a", count: 2000)))
    }

    @Test func `a filter accepts any of its patterns, and everything without one`() throws {
        #expect(EventFilter().accepts(.logGap))
        let filter = EventFilter([try EventPattern("path.*"), try EventPattern("log.gap")])
        #expect(filter.accepts(.logGap) && filter.accepts("path.changed") && !filter.accepts(.logOpened))
    }

    @Test func `the catalogue has dotted lowercase names, each once`() {
        let names = EventName.allCases.map(\.rawValue)
        #expect(Set(names).count == names.count && names.count == 39)
        for name in names {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            #expect(parts.count == 2 && name.utf8.allSatisfy { (97...122).contains($0) || $0 == 46 || $0 == 95 })
        }
    }

    @Test(arguments: [
        ("7f3a", true), ("0123abcd", true), ("7f3", false), ("7F3A", false), ("7f3a7f3a7", false), ("7f3g", false),
    ])
    func `a stream is four to eight lowercase hexadecimal digits`(text: String, isValid: Bool) {
        #expect((StreamID(text) != nil) == isValid)
    }

    @Test func `random streams are valid`() {
        for _ in 0..<100 { #expect(StreamID(StreamID.random().description) != nil) }
    }

    @Test func `a position reads back as written`() throws {
        let position = try EventPosition("7f3a.46")
        #expect(position.sequence == 46 && position.description == "7f3a.46")
    }

    @Test(arguments: [
        "", "46", "7f3a", "7f3a.", "7f3a.x", "7f3a.-1", "7f3a.+1", "7f3a.1.2", "7f3a.18446744073709551616", "zzzz.1",
    ])
    func `anything else is no position`(text: String) {
        #expect(throws: EventHubError.invalidPosition(text)) { try EventPosition(text) }
    }

    @Test func `severities are in order`() {
        #expect(Severity.allCases.sorted() == [.debug, .info, .warning, .error])
    }

    @Test func `errors say what was expected`() {
        #expect(EventHubError.unknownEvent("x").description.contains("'x' matches no event"))
        #expect(EventHubError.invalidPosition("x").description.contains("7f3a.46"))
    }
}
