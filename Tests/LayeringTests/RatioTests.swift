// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

/// How many lines of tests a part of the program has for each of its own.
///
/// Lines of code count on both sides: neither blank ones nor comments, so that a documented interface is not dearer
/// than a bare one and prose cannot pay for a missing test. Parts that are tested through each other are counted
/// together: documents are what the bodies of events show, the service is run by the tests of its commands, and the
/// tasks of `FoundationWebSocket` are connections of `Network`. C shims have no side here: whoever calls them tests
/// them. Support code that only one part's tests use counts for that part; `TestSupport` counts for nobody. What a
/// diagnosis finds out is tested by its command, in the network of `Tests/Lab`.
private struct Part: Sendable, CustomTestStringConvertible {
    let sources: [String]
    let tests: [String]
    var atLeast = 1.0

    var testDescription: String { sources.joined(separator: " + ") }

    init(_ sources: String..., tests: [String]? = nil, atLeast: Double = 1) {
        self.sources = sources
        self.tests = tests ?? sources.map { $0 + "Tests" }
        self.atLeast = atLeast
    }
}

private let parts = [
    Part("Addressing"), Part("OrderedJSON"), Part("Spelling"), Part("LinuxIO"),
    Part("Netlink", atLeast: 1.5), Part("PathModel", atLeast: 1.5), Part("Providers"), Part("PathEngine"),
    Part("DNSWire", atLeast: 1.5), Part("MulticastDNS", atLeast: 1.5), Part("Probes"),
    Part("Diagnosis"),
    Part("Documents", "EventHub"), Part("EventLog", tests: ["EventLogTests", "EventLogWriter"]), Part("Metrics"),
    Part("WebSocketWire"), Part("StatusServer", "StatusClient"), Part("Configuration"), Part("CommandLineKit"),
    Part("FoundationBonjour"),
    Part(
        "Network",
        "FoundationWebSocket",
        tests: ["NetworkTests", "FoundationWebSocketTests", "ArticleTests", "ArticlePrograms"]
    ),
    Part(
        "PathService",
        "Examination",
        "nwpath",
        tests: ["PathServiceTests", "ServiceTests", "nwpathTests", "CommandTests", "ExplanationTests", "ReplayTests"]
    ),
]

@Suite struct RatioTests {
    private func lines(in folder: String) -> Int {
        SourceTree.swiftFiles(in: folder).reduce(0) { total, file in
            total
                + file.lines.count { line in
                    let text = line.drop { $0 == " " }
                    return !text.isEmpty && !text.hasPrefix("//")
                }
        }
    }

    @Test(arguments: parts)
    private func `has its lines of tests`(part: Part) {
        let code = part.sources.reduce(0) { $0 + lines(in: "Sources/\($1)") }
        let tests = part.tests.reduce(0) { $0 + lines(in: "Tests/\($1)") }
        let needed = Int((Double(code) * part.atLeast).rounded(.up))
        #expect(code > 0)
        let shortfall: Comment = "\(part.testDescription): \(code) lines of code, \(tests) of tests, \(needed) needed"
        #expect(tests >= needed, shortfall)
    }

    @Test func `every target is in the table once`() {
        let named = parts.flatMap(\.sources)
        #expect(named.sorted() == SourceTree.targets())
    }
}
