// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

@testable import StatusServer

@Suite struct RouterTests {
    private let router = Router()

    @Test(arguments: Route.all.map(\.name))
    func `finds every route by its pattern`(name: String) throws {
        let route = try #require(Route.all.first { $0.name == name })
        let path = route.path.split(separator: "/").map(String.init)
        // A suffix such as `.svg` is no part of the parameter.
        let arguments = path.filter { $0.hasPrefix("{") }.map { String($0.prefix { $0 != "}" }) + "}" }
        guard case .found(let found, arguments) = router.match(method: route.method.rawValue, path: path) else {
            Issue.record("\(name) is not found")
            return
        }
        #expect(found.name == name)
        let allowed = Route.all.filter { $0.path == route.path }.flatMap(\.methods)
        guard case .wrongMethod(route.path, let field) = router.match(method: "BREW", path: path) else {
            Issue.record("\(name) answers any method")
            return
        }
        #expect(field.value == allowed.joined(separator: ", "))
        #expect(isNothing(router.match(method: "GET", path: path + ["more", "and", "more"])))
    }

    private func isNothing(_ match: Router.Match) -> Bool { if case .notFound = match { true } else { false } }

    @Test func `every route stands in the table of the documentation`() throws {
        let text = try Command.run(["cat", "\(Self.root)/docs/api.md"])
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| GET ") || $0.hasPrefix("| POST ") }
        for route in Route.all where !route.path.hasPrefix("/api/v1/schema/") {
            let mentions = rows.contains { row in
                row.hasPrefix("| \(route.method.rawValue) ")
                    && (row.contains("`\(route.path)`") || row.contains("`\(route.path)?"))
            }
            #expect(mentions, "\(route.method.rawValue) \(route.path)")
        }
    }

    @Test func `what the command line asks is a route, with parameters that it knows`() throws {
        let lines = try Command.run(["grep", "-rhoE", #""/(api/v1|-)/[^" ]*"#, "\(Self.root)/Sources/nwpath"])
        let targets = Set(lines.split(separator: "\n").map { $0.dropFirst() })
        #expect(targets.count > 10)
        for target in targets {
            let parts = target.split(separator: "?", maxSplits: 1)
            let path = parts[0].split(separator: "/").map { $0.hasPrefix("\\(") ? "x" : String($0) }
            let routes = ["GET", "POST"].compactMap { method in
                if case .found(let route, _) = router.match(method: method, path: path) { route } else { nil }
            }
            guard let route = routes.first else {
                Issue.record("no route answers \(target)")
                continue
            }
            for item in parts.dropFirst().joined().split(separator: "&") {
                let name = String(item.prefix { $0 != "=" })
                #expect(route.queryNames.contains(name), "\(target)")
            }
        }
    }

    private static let root = String(#filePath.dropLast("/Tests/StatusServerTests/PureAPITests.swift".count))

    @Test(arguments: [
        ["api"], ["api", "v1"], ["api", "v1", "paths", ""], ["API", "v1", "status"], ["api", "v2", "status"],
        ["api", "v1", "services", "a", ""], ["api", "v1", "services", "a"], [""],
    ])
    func `finds nothing elsewhere`(path: [String]) {
        #expect(isNothing(router.match(method: "GET", path: path)))
    }
}

@Suite struct QueryParametersTests {
    private func query(_ items: (String, String)...) throws(Problem) -> QueryParameters {
        try QueryParameters(items.map { QueryItem($0, $1) }, allowed: ["since", "wait", "limit"])
    }

    @Test func `gives what is there`() throws {
        let query = try query(("since", "1"), ("limit", ""))
        #expect(query["since"] == "1")
        #expect(query["limit"] == "")
        #expect(query["wait"] == nil)
    }

    @Test(arguments: [
        ("sinse", "did you mean 'since'?"), ("wai", "did you mean 'wait'?"), ("Limit", "did you mean 'limit'?"),
        ("zzzzzz", "expected since, wait, limit."), ("", "expected since, wait, limit."),
    ])
    func `names the nearest of an unknown one`(name: String, advice: String) {
        let problem = #expect(throws: Problem.self) { try query((name, "1")) }
        #expect(problem?.status == 400)
        #expect(problem?.kind == .badParameter)
        #expect(problem?.detail.hasSuffix(advice) == true)
    }

    @Test(arguments: [("1", 1), ("1000", 1000)])
    func `reads numbers in range`(text: String, number: Int) throws {
        #expect(try query(("limit", text)).integer("limit", in: 1...1000) == number)
    }

    @Test(arguments: ["", "0", "1001", "-1", "1.5", "+5", "ten", "99999999999999999999"])
    func `refuses other numbers`(text: String) throws {
        let query = try query(("limit", text))
        #expect(throws: Problem.self) { try query.integer("limit", in: 1...1000) }
    }

    @Test(
        arguments: [
            ("0s", .zero), ("0", .zero), ("250ms", .milliseconds(250)), ("30s", .seconds(30)), ("1m", .seconds(60)),
            ("60s", .seconds(60)),
        ] as [(String, Duration)]
    )
    func `reads durations up to the limit`(text: String, duration: Duration) throws {
        #expect(try query(("wait", text)).duration("wait", limit: .seconds(60)) == duration)
        #expect(try query(("since", text)).duration("wait", limit: .seconds(60)) == nil)
    }

    @Test(arguments: [
        "", "s", "1", "-1s", "1.5s", "1S", "1 s", "s1", "1ss", "60001ms", "61s", "1h", "9223372036854775807d", "٣s",
        "+1s",
    ])
    func `refuses other durations, and says what it takes`(text: String) throws {
        let query = try query(("wait", text))
        let problem = #expect(throws: Problem.self) { try query.duration("wait", limit: .seconds(60)) }
        #expect(problem?.detail == "Parameter 'wait' is '\(text)'; expected a duration such as 30s, at most 1m.")
    }

    @Test(
        arguments: [
            ("24h", .seconds(86_400)), ("36525d", .seconds(3_155_760_000)), ("36526d", nil), ("106751d", nil),
            ("0", .zero), ("", nil),
        ] as [(String, Duration?)]
    )
    func `an age is at most a hundred years`(text: String, age: Duration?) {
        #expect(QueryParameters.age(text) == age)
    }

    @Test(arguments: ["x", "banana", String(repeating: "wait", count: 100)])
    func `a strange word gets the list, and no advice`(name: String) {
        let problem = #expect(throws: Problem.self) { try query((name, "1")) }
        #expect(problem?.detail == "Unknown parameter '\(name)'; expected since, wait, limit.")
    }
}

@Suite struct ContentNegotiationTests {
    private static let offers = ["text/event-stream", "application/x-ndjson", "application/json"]

    @Test(
        arguments: [
            (nil, "text/event-stream"), ("", "text/event-stream"), ("*/*", "text/event-stream"),
            ("application/json", "application/json"), ("application/*", "application/x-ndjson"),
            ("APPLICATION/JSON", "application/json"), ("application/json; charset=utf-8", "application/json"),
            ("text/html, application/json;q=0.5, */*;q=0.1", "application/json"),
            ("text/event-stream;q=0, */*", "application/x-ndjson"), ("*/*;q=0.5, application/json", "application/json"),
            ("application/json;q=0.2,application/x-ndjson;q=0.9", "application/x-ndjson"),
            ("text/html", nil), ("*/*;q=0", nil), ("application/json;q=x", nil), ("garbage", nil), (",,;;", nil),
        ] as [(String?, String?)]
    )
    func `chooses what the client likes best`(accept: String?, expected: String?) {
        #expect(ContentNegotiation.choose(accept, among: Self.offers) == expected)
    }
}

@Suite struct SnapshotTests {
    @Test(
        arguments: [
            (nil, false), ("\"7f3a.45\"", true), ("W/\"7f3a.45\"", true), ("\"a\",\"7f3a.45\"", true),
            ("\"a\" , W/\"7f3a.45\" ", true), ("*", true), ("7f3a.45", false), ("\"7f3a.4\"", false), ("", false),
        ] as [(String?, Bool)]
    )
    func `knows whether a client has the state`(condition: String?, isKnown: Bool) {
        let snapshot = Snapshot([1, 2], tag: "7f3a.45")
        #expect(snapshot.entityTag == "\"7f3a.45\"")
        #expect(snapshot.matches(condition) == isKnown)
    }

    @Test func `keeps its bytes`() {
        #expect(Snapshot([1, 2, 3], tag: "x").content.bytes == [1, 2, 3])
        #expect(SharedBytes([]).bytes.isEmpty)
    }
}

@Suite struct ProblemTests {
    @Test func `renders what RFC 9457 names`() {
        let problem = Problem(.unknownMonitor, status: 404, detail: "There is no \"x\".", instance: "urn:1")
        let expected =
            "{\"type\":\"/problems/unknown-monitor\",\"title\":\"Unknown monitor\",\"status\":404,"
            + "\"detail\":\"There is no \\\"x\\\".\",\"instance\":\"urn:1\"}\n"
        #expect(String(decoding: problem.rendered, as: UTF8.self) == expected)
    }

    @Test(arguments: Problem.Kind.allCases)
    func `has a title for every kind`(kind: Problem.Kind) {
        let text = String(decoding: Problem(kind, status: 400, detail: "").rendered, as: UTF8.self)
        #expect(text.hasPrefix("{\"type\":\"\(kind.rawValue)\",\"title\":\""))
        #expect(!text.contains("\"title\":\"\""))
    }

    @Test(arguments: [
        ("plain", "\"plain\""), ("a\"b\\c", "\"a\\\"b\\\\c\""), ("\n\r\t", "\"\\n\\r\\t\""),
        ("\u{0}\u{1F}", "\"\\u0000\\u001f\""), ("ä😀", "\"ä😀\""), ("</script>", "\"</script>\""),
    ])
    func `quotes text for JSON`(text: String, quoted: String) {
        #expect(JSONText.quote(text) == quoted)
    }
}

@Suite struct EventCursorTests {
    @Test(
        arguments: [
            ("45", .after(45, stream: nil)), ("7f3a.45", .after(45, stream: "7f3a")),
            ("7F3A.0", .after(0, stream: "7f3a")),
            ("24h", .age(.seconds(86_400))),
        ] as [(String, EventCursor)]
    )
    func `reads places`(text: String, cursor: EventCursor) {
        #expect(EventCursor(text) == cursor)
    }

    @Test(arguments: [
        "", ".", "7f3a", "7f3a.", ".45", "7f3a.45.1", "xyz.4", "7f3a.-1", "-1", "+5", "7f3a.+5",
        "7f3a.99999999999999999999", "\u{FF17}.4",
    ])
    func `refuses what is no place`(text: String) {
        #expect(EventCursor(text) == nil)
    }

    @Test(
        arguments: [
            (nil, "path.changed", true), ("", "path.changed", true), ("path.*", "path.changed", true),
            ("path.*", "paths.changed", false), ("*.changed", "path.changed", true), ("*a*a*", "banana", true),
            ("*a*b", "aaac", false), ("path", "path.changed", false), ("*", "", true),
            ("a,path.changed", "path.changed", true),
            ("p**d", "path.changed", true), ("path.changed*", "path.changed", true),
            ("path.change?", "path.changed", true), ("path.?", "path.changed", false),
        ] as [(String?, String, Bool)]
    )
    func `filters by pattern`(pattern: String?, name: String, matches: Bool) throws {
        #expect(try EventFilter(pattern).matches(name) == matches)
    }

    @Test(arguments: ["path.[", "a,\\", String(repeating: "*a", count: 500)])
    func `refuses what is no pattern`(text: String) {
        let problem = #expect(throws: Problem.self) { try EventFilter(text) }
        #expect(problem?.status == 400 && problem?.detail.hasPrefix("Parameter 'event' has '") == true)
    }

    @Test func `does not take for ever over a hostile pattern`() throws {
        let pattern = String(repeating: "*a", count: 120)
        #expect(try !EventFilter(pattern + "b").matches(String(repeating: "a", count: 2000)))
    }
}

@Suite struct OutgoingStreamTests {
    private func read(_ stream: OutgoingStream, upTo count: Int = 100) -> (OutgoingStream.Read, [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: count)
        let result = unsafe buffer.withUnsafeMutableBytes { unsafe stream.read(into: $0) }
        guard case .bytes(let written) = result else { return (result, []) }
        return (result, Array(buffer[..<written]))
    }

    @Test func `hands bytes over in order, whatever the size of the pieces`() {
        let stream = OutgoingStream()
        var expected: [UInt8] = []
        for number in 0..<300 {
            let chunk = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 7 + 1)
            expected += chunk
            #expect(stream.send(chunk))
        }
        var received: [UInt8] = []
        for size in 1...200 where stream.queuedBytes > 0 { received += read(stream, upTo: size).1 }
        #expect(received == expected)
        #expect(stream.queuedChunks == 0)
        #expect(read(stream).0 == .wait)
    }

    @Test func `says no above its bounds`() {
        let stream = OutgoingStream(limit: OutgoingStream.Limit(chunks: 2, bytes: 10))
        #expect(stream.send([1, 2, 3]))
        #expect(!stream.send([UInt8](repeating: 0, count: 8)))
        #expect(stream.send([4]))
        #expect(!stream.send([5]))
        #expect(read(stream).1 == [1, 2, 3, 4])
        #expect(stream.send([6]))
    }

    @Test func `ends after its last bytes`() {
        let stream = OutgoingStream()
        _ = stream.send([1])
        stream.finish(with: [2])
        stream.finish(with: [3])
        #expect(!stream.send([4]))
        #expect(read(stream).1 == [1, 2])
        #expect(read(stream).0 == .end)
    }

    @Test func `overflows without tearing a chunk that is partly sent`() {
        let stream = OutgoingStream()
        for byte in UInt8(1)...3 { _ = stream.send([byte, byte, byte]) }
        #expect(read(stream, upTo: 4).1 == [1, 1, 1, 2])
        stream.overflow(with: [9])
        #expect(stream.queuedBytes == 3)
        #expect(read(stream).1 == [2, 2, 9])
        #expect(read(stream).0 == .end)
    }

    @Test func `overflows between chunks to the farewell alone`() {
        let stream = OutgoingStream()
        for byte in UInt8(1)...3 { _ = stream.send([byte, byte]) }
        #expect(read(stream, upTo: 2).1 == [1, 1])
        stream.overflow(with: [9])
        #expect(read(stream).1 == [9])
        #expect(stream.queuedBytes == 0)
    }

    @Test func `asks for more when it is drained`() {
        let stream = OutgoingStream()
        var asked = 0
        stream.onDrained = {
            asked += 1
            if asked < 3 { _ = stream.send([UInt8(asked)]) }
        }
        #expect(read(stream).1 == [1])
        #expect(read(stream).1 == [2])
        #expect(read(stream).0 == .wait)
        stream.onDrained = nil
    }

    @Test func `wakes its reader, and tells its writer once that it is over`() {
        let stream = OutgoingStream()
        var woken = 0
        var closed = 0
        stream.wake = { woken += 1 }
        stream.onClosed = { closed += 1 }
        _ = stream.send([1])
        _ = stream.send([])
        stream.finish()
        #expect(woken == 2)
        stream.close()
        stream.close()
        #expect(closed == 1)
        #expect(!stream.send([1]))
        #expect(stream.queuedBytes == 0)
    }

    @Test func `breaks off on demand`() {
        let stream = OutgoingStream()
        var broken = 0
        stream.breakOff = { broken += 1 }
        _ = stream.send([1])
        stream.abort()
        stream.abort()
        #expect(broken == 1)
        #expect(read(stream).0 == .broken)
    }
}
