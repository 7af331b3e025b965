// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Probes

@Suite struct PageClassifierTests {
    private static func reason(
        _ status: Int,
        _ location: String? = nil,
        page: String = "http://probe.example.test/generate_204",
        statuses: [Int] = [200, 204]
    ) throws -> ProbeReason? {
        let page = try #require(PageAddress(page))
        let answer = PageAnswer(status: status, location: location)
        let outcome = PageClassifier.outcome(of: answer, to: page, expecting: PageExpectation(statuses: statuses))
        if case .failure(let reason, _) = outcome { return reason }
        return nil
    }

    @Test func `expected statuses are right`() throws {
        #expect(try Self.reason(200) == nil)
        #expect(try Self.reason(204) == nil)
        #expect(try Self.reason(302, "http://elsewhere.test/", statuses: [302]) == nil)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect to another host is a portal's`(status: Int) throws {
        #expect(try Self.reason(status, "http://login.example.test/") == .captivePortal)
        #expect(try Self.reason(status, "//login.example.test/x") == .captivePortal)
        #expect(try Self.reason(status, "http://192.0.2.1:8080/login#form") == .captivePortal)
        #expect(try Self.reason(status, nil) == .captivePortal)
        #expect(try Self.reason(status, "nonsense") == .captivePortal)
    }

    @Test func `a redirect to the same host is a server's`() throws {
        #expect(try Self.reason(301, "https://probe.example.test/") == .status)
        #expect(try Self.reason(301, "HTTP://PROBE.example.test/x#y") == .status)
        #expect(try Self.reason(302, "/elsewhere") == .status)
        #expect(try Self.reason(304, nil) == .status)
    }

    @Test func `an encrypted answer is nobody else's`() throws {
        #expect(try Self.reason(302, "https://other.test/", page: "https://probe.example.test/") == .status)
        #expect(try Self.reason(511, nil, page: "https://probe.example.test/") == .status)
        #expect(try Self.reason(200, nil, page: "https://probe.example.test/", statuses: [204]) == .status)
    }

    @Test func `a page in place of nothing is forged`() throws {
        #expect(try Self.reason(200, statuses: [204]) == .captivePortal)
        #expect(try Self.reason(511) == .captivePortal)
        #expect(try Self.reason(404, statuses: [204]) == .status)
        #expect(try Self.reason(503) == .status)
    }

    @Test func `the words name status, destination and expectation`() throws {
        let page = try #require(PageAddress("http://a.test/"))
        let redirect = PageClassifier.outcome(
            of:
                PageAnswer(status: 302, location: "http://b.test/"),
            to: page,
            expecting: .init()
        )
        #expect(redirect == .failure(.captivePortal, detail: "answered with status 302 to http://b.test/"))
        let missing = PageClassifier.outcome(of: PageAnswer(status: 404), to: page, expecting: .init())
        #expect(missing == .failure(.status, detail: "status 404, expected 200 or 204"))
    }
}

@Suite struct PageHeadTests {
    private static func read(_ lines: [String]) -> PageHead {
        var head = PageHead()
        for line in lines { head.append(Array((line + "\r\n").utf8)) }
        return head
    }

    @Test func `status and destination are read`() {
        let head = Self.read(["HTTP/1.1 302 Found", "Server: x", "LOCATION:  http://login.test/ ", ""])
        #expect(head.status == 302)
        #expect(head.location == "http://login.test/")
    }

    @Test(
        arguments: [
            ("HTTP/1.1 204", 204), ("HTTP/0.1 -1 302", 0), ("HTTP/1.1 +20 OK", 0), ("HTTP/1.1 20", 0), ("HTTP/", 0),
        ]
    )
    func `a status is three digits`(line: String, status: Int) {
        #expect(Self.read([line, ""]).status == status)
    }

    @Test func `the final answer counts`() {
        let head = Self.read(["HTTP/1.1 103 Early Hints", "Location: /x", "", "HTTP/1.1 204 No Content", ""])
        #expect(head.status == 204)
        #expect(head.location == nil)
    }

    @Test func `a head is complete where it ends, and an interim one is not`() {
        #expect(!Self.read(["HTTP/1.1 200 OK", "Server: x"]).isComplete)
        #expect(Self.read(["HTTP/1.1 200 OK", ""]).isComplete)
        #expect(!Self.read(["HTTP/1.1 103 Early Hints", ""]).isComplete)
        #expect(Self.read(["HTTP/1.1 100 Continue", "", "HTTP/1.1 204 No Content", ""]).isComplete)
        let upgraded = Self.read(["HTTP/1.1 101 Switching Protocols", "sec-websocket-ACCEPT:  s3p= ", ""])
        #expect(upgraded.isComplete && upgraded.acceptance == "s3p=")
        #expect(Self.read(["HTTP/1.1 100 Continue", "Sec-WebSocket-Accept: x", "HTTP/1.1 204 No"]).acceptance == nil)
    }

    @Test func `what is missing of a head that does not end is said`() {
        #expect(Self.read([]).gap == nil && Self.read(["HTTP/1.1 200 OK", ""]).gap == nil)
        #expect(Self.read(["HTTP/1.1 200 OK", "A: b"]).gap == "incomplete response header (status 200)")
        let interim = ["HTTP/1.1 100 Continue", ""]
        #expect(Self.read(interim).gap == "only an interim response (status 100) was received")
        #expect(Self.read(interim + ["HTTP/1.1 204 No Content"]).gap == "incomplete response header (status 204)")
        #expect(Self.read(interim + ["HTTP/1.1 101 Switching Protocols", ""]).gap == nil)
    }

    @Test(arguments: ["HTTP/", "HTTP/1.1", "HTTP/1.1 x", "Location", ":", "", "\u{0}"])
    func `odd lines do no harm`(line: String) {
        #expect(Self.read([line]).status == 0)
    }

    @Test func `a destination is cut and made safe`() {
        let head = Self.read([
            "HTTP/1.1 302", "Location: http://a/\u{1B}[31m\u{202E}" + String(repeating: "x", count: 5000),
        ])
        #expect(head.location?.count ?? 0 <= 1024)
        #expect(head.location?.hasPrefix("http://a/[31mxxx") == true)
    }

    @Test func `the answer to a challenge is read, and made safe`() {
        let head = Self.read(["HTTP/1.1 204 No Content", "x-NWPath-response:  response abc", ""])
        #expect(head.response == "response abc" && head.location == nil)
        let odd = Self.read(["HTTP/1.1 204", "X-NWPath-Response: \u{1B}[1m" + String(repeating: "y", count: 5000)])
        #expect(odd.response?.count ?? 0 <= 1024)
        #expect(odd.response?.hasPrefix("[1myy") == true)
        #expect(Self.read(["HTTP/1.1 100 Continue", "X-NWPath-Response: x", "HTTP/1.1 204 No"]).response == nil)
    }
}
