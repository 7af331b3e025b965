// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import nwpath

private let ok = "HTTP/1.1 200 OK\r\n"

/// Answers as a broken, foreign or hostile server gives them.
@Suite struct HostileAnswerTests {
    private func get(_ script: String..., closes: Bool = true) throws(StatusClientError) -> StatusResponse {
        guard let server = try? ScriptedServer(script, closes: closes) else {
            throw .failed(endpoint: "", reason: "no server")
        }
        defer { withExtendedLifetime(server) {} }
        return try StatusClient(.unix(path: server.path), timeout: .seconds(10)).get("/x")
    }

    @Test(arguments: [
        "", "garbage\r\n\r\n", "HTTP/1.1\r\n\r\n", "\u{0}\u{1}\u{2}", "220 smtp.example ESMTP\r\n",
        ok + "Content-Length: 10\r\n\r\nshort", ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nx",
        ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", ok + "Content-Length: -5\r\n\r\nx",
    ])
    func `what is no whole answer is an error that names the place`(answer: String) throws {
        let error = try #require(throws: StatusClientError.self) { try get(answer) }
        guard case .failed(let place, let reason) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(place.hasPrefix("unix:/tmp/nwpath-test-") && !reason.isEmpty)
        #expect(error.description == "the answer from \(place) is not usable: \(reason)")
        #expect(!error.description.contains("\n"))
    }

    @Test(arguments: [
        (["HTTP/1.0 200 OK\r\n\r\n", "all ", "of it"], "all of it"),
        ([ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "2;x=y\r\nde\r\n0\r\n\r\n"], "abcde"),
        (["HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx"], "x"), ([ok + "Content-Length: 0\r\n\r\n"], ""),
        (["HTTP/1.1 100 Continue\r\n\r\n", ok + "Content-Length: 2\r\n\r\nok"], "ok"),
        (["H", "TTP/1.1 200 OK\r", "\nContent-Len", "gth: 3\r\n\r", "\nabc"], "abc"),
    ])
    func `an answer in any lawful form is understood`(script: [String], text: String) throws {
        let server = try ScriptedServer(script)
        let response = try StatusClient(.unix(path: server.path)).get("/x")
        #expect(response.status == 200 && response.text == text)
    }

    @Test func `header fields are found whatever their case, without the blanks around them`() throws {
        let response = try get(
            ok + "ETAG:\"a\"\r\nX-Two:   b c\r\nempty:\r\nContent-Length: 1\r\n\r\nx"
        )
        #expect(response.fields["etag"] == "\"a\"" && response.fields["x-two"] == "b c")
        #expect(response.fields["empty"] == "" && response.fields["content-length"] == "1")
        #expect(response.fields.keys.allSatisfy { $0 == $0.lowercased() })
    }

    @Test(arguments: [(301, "Location: http://127.0.0.1:1/\r\n"), (302, "Location: file:///etc/passwd\r\n"), (204, "")])
    func `nobody is followed anywhere`(status: Int, field: String) throws {
        let answer = "HTTP/1.1 \(status) X\r\n\(field)Content-Length: 0\r\n\r\n"
        guard status >= 300 else {
            #expect(try get(answer).status == status)
            return
        }
        let error = try #require(throws: StatusClientError.self) { try get(answer) }
        let detail = "the service answered with status \(status)"
        #expect(error == .problem(status: status, type: "about:blank", detail: detail))
    }

    @Test(
        arguments: [
            (401, "{\"detail\":\"who are you\"}", .refused(status: 401, detail: "who are you")),
            (403, "<html>no</html>", .refused(status: 403, detail: "the service answered with status 403")),
            (404, "{\"type\":\"/t\",\"detail\":\"d\"}", .problem(status: 404, type: "/t", detail: "d")),
            (
                500, "{\"detail\":5}",
                .problem(status: 500, type: "about:blank", detail: "the service answered with status 500")
            ), (429, "{\"detail\":\"\"}", .problem(status: 429, type: "about:blank", detail: "")),
        ] as [(Int, String, StatusClientError)]
    )
    func `a refusal is told apart from other errors`(status: Int, body: String, expected: StatusClientError) throws {
        let answer = "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        #expect(throws: expected) { try get(answer) }
    }

    @Test func `one who never ends is given up`() throws {
        let server = try ScriptedServer([ok + "Content-Length: 100\r\n\r\nx"], closes: false)
        let client = StatusClient(.unix(path: server.path), timeout: .milliseconds(200))
        #expect(throws: StatusClientError.timedOut(endpoint: "unix:\(server.path)")) { try client.get("/x") }
    }

    @Test func `an answer without an end is cut at 64 MiB`() throws {
        let mebibyte = String(repeating: "x", count: 1 << 20)
        let server = try ScriptedServer([ok + "\r\n"] + Array(repeating: mebibyte, count: 66))
        let client = StatusClient(.unix(path: server.path), timeout: .seconds(60))
        let expected = StatusClientError.failed(endpoint: "unix:\(server.path)", reason: "it is too large")
        #expect(throws: expected) { try client.get("/x") }
    }
}

@Suite struct HostileStreamTests {
    private func lines(_ script: [String], until count: Int = .max) throws -> (lines: [String], wasStopped: Bool) {
        let server = try ScriptedServer([ok + "\r\n"] + script)
        var lines: [String] = []
        let wasStopped = try StatusClient(.unix(path: server.path)).stream("/x") { line in
            lines.append(line)
            return lines.count < count
        }
        return (lines, wasStopped)
    }

    @Test(arguments: [
        (["a\nb\n"], ["a", "b"]), (["a", "b", "\n", "c\n"], ["ab", "c"]), (["\n\n\na\n\n"], ["a"]), ([], []),
        (["a\nwithout an end"], ["a"]), (["ä\u{1F600}\n"], ["ä\u{1F600}"]), (["a\r\n"], ["a\r"]),
        ([String(repeating: "x", count: 300_000) + "\n"], [String(repeating: "x", count: 300_000)]),
    ])
    func `lines come whole, whatever the pieces they come in`(script: [String], expected: [String]) throws {
        let result = try lines(script)
        #expect(result.lines == expected && !result.wasStopped)
    }

    @Test func `who has enough hears no more`() throws {
        let result = try lines(["a\nb\nc\nd\n", "e\n"], until: 2)
        #expect(result.lines == ["a", "b"] && result.wasStopped)
    }

    @Test func `a refusal is an error, and its text is no line`() throws {
        let body = "{\"type\":\"/problems/too-many-streams\",\"detail\":\"full\"}\n"
        let answer = "HTTP/1.1 429 X\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let server = try ScriptedServer([answer])
        let expected = StatusClientError.problem(status: 429, type: "/problems/too-many-streams", detail: "full")
        #expect(throws: expected) {
            try StatusClient(.unix(path: server.path)).stream("/x") { _ in
                Issue.record("a line")
                return true
            }
        }
    }
}

@Suite struct RequestWordTests {
    @Test func `a request says what it was told to, and nothing about the user`() throws {
        let server = try ScriptedServer([ok + "Content-Length: 0\r\n\r\n"])
        let client = StatusClient(.unix(path: server.path), fields: [("X-All", "1")])
        _ = try client.get("/a?b=c%20d", fields: [("If-None-Match", "\"7f3a.1\"")])
        _ = try client.post("/-/reload", body: Array("{}".utf8), fields: [("Content-Type", "application/json")])
        let requests = server.requests
        #expect(requests.hasPrefix("GET /a?b=c%20d HTTP/1.1\r\nHost: localhost\r\n"))
        #expect(requests.contains("\r\nIf-None-Match: \"7f3a.1\"\r\n"))
        #expect(requests.contains("POST /-/reload HTTP/1.1\r\nHost: localhost\r\n"))
        #expect(requests.contains("\r\nContent-Length: 2\r\n") && requests.hasSuffix("\r\n\r\n{}"))
        let fields = requests.split(separator: "\r\n")
        #expect(fields.filter { $0 == "X-All: 1" }.count == 2)
        #expect(!fields.contains { $0.lowercased().hasPrefix("cookie") || $0.lowercased().hasPrefix("authorization") })
    }

    @Test(
        arguments: [
            (.notReachable(endpoint: "unix:/x", reason: "no"), "at unix:/x (no); is it running? Try: systemctl"),
            (.permissionDenied(endpoint: "unix:/x"), "no permission to open unix:/x; become root or join the group"),
            (.timedOut(endpoint: "u"), "timed out waiting for u"),
            (.refused(status: 403, detail: "d"), "refused (403): d"),
            (.problem(status: 404, type: "t", detail: "d"), "d"),
            (.failed(endpoint: "u", reason: "r"), "u is not usable: r"),
            (.libraryMissing(reason: "r"), "libcurl cannot be loaded: r"),
        ] as [(StatusClientError, String)]
    )
    func `every failure says in one line what to do`(error: StatusClientError, words: String) {
        #expect(error.description.contains(words) && !error.description.contains("\n"))
    }

    /// The problem that an answer of 404 with a body tells.
    private func problem(_ body: String) -> StatusClientError? {
        let response = StatusResponse(status: 404, fields: [:], body: Array(body.utf8))
        do throws(StatusClientError) {
            _ = try response.checked(accepting: [])
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("{\"type\":\"/t\",\"detail\":\"a\\\\b\\/c\\b\\f\\r\\t\"}", "a\\b/c\u{8}\u{C}\r\t"),
        ("{\"type\":\"/t\",\"detail\":\"\"}", ""),
        ("{\"type\":\"/t\",\"detail\"\n:\t\"a \\\"b\\\" \\u00e4\"}", "a \"b\" ä"),
        ("{\"a\":[{\"detail\":\"x\"}],\"detail\":\"y\",\"type\":\"/t\"}", "y"),
    ])
    func `type and detail of a problem document are told`(body: String, detail: String) {
        #expect(problem(body) == .problem(status: 404, type: "/t", detail: detail))
    }

    @Test(arguments: [
        "", "{", "{\"detail\":3}", "{\"detail\":\"x", "{\"detail\":\"\\u12\"}", "<html>", "[\"detail\"]",
        "{\"Detail\":\"x\"}",
        "{\"detail\":\"x\"",
    ])
    func `an answer without a detail is told by its status`(body: String) {
        #expect(
            problem(body)
                == .problem(status: 404, type: "about:blank", detail: "the service answered with status 404")
        )
    }
}
