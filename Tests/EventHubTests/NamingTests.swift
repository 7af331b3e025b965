// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import Testing

@Suite struct NamingTests {
    @Test func `the catalogue has dotted lowercase names, each once`() {
        let names = EventName.allCases.map(\.rawValue)
        #expect(Set(names).count == names.count)
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
        #expect(EventHubError.invalidPosition("x").description.contains("7f3a.46"))
    }
}
