// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusServer

@Suite struct RequestTargetTests {
    @Test(arguments: [
        ("/", []), ("/a", ["a"]), ("/a/b", ["a", "b"]), ("/a/", ["a", ""]), ("//a", ["", "a"]),
        ("/a%2Fb/c", ["a/b", "c"]), ("/%C3%A4", ["ä"]), ("/a+b", ["a+b"]), ("/..", [".."]), ("/%2e%2e", [".."]),
        ("/a?b/c", ["a"]), ("HTTP://Host/a", ["a"]), ("http://host", []), ("http://host?x", []),
    ])
    func `splits and decodes a path`(target: String, path: [String]) {
        #expect(RequestTarget(Array(target.utf8))?.path == path)
    }

    @Test(arguments: [
        ("/", []), ("/?", []), ("/?a", [QueryItem("a", "")]), ("/?a=", [QueryItem("a", "")]),
        ("/?a=1&b=2", [QueryItem("a", "1"), QueryItem("b", "2")]), ("/?a=b=c", [QueryItem("a", "b=c")]),
        ("/?&&a=1&", [QueryItem("a", "1")]), ("/?%61=%26%3d", [QueryItem("a", "&=")]),
        ("/?t=1+2", [QueryItem("t", "1+2")]), ("/?a=/?", [QueryItem("a", "/?")]),
    ])
    func `splits and decodes a query`(target: String, query: [QueryItem]) {
        #expect(RequestTarget(Array(target.utf8))?.query == query)
    }

    @Test(arguments: [
        "", "a", "*", "localhost:80", "/a b", "/a#b", "/%", "/%4", "/%g0", "/%0g", "/%00", "/a%00b", "/%ff", "/%c3",
        "/%ed%a0%80", "/ä", "/a\u{7F}", "/\t", "https://host/a", "ftp://host/a", "/?a=%", "/?%zz=1",
    ])
    func `refuses what is malformed`(target: String) {
        #expect(RequestTarget(Array(target.utf8)) == nil)
    }

    @Test func `keeps the authority of an absolute target`() {
        #expect(RequestTarget(Array("http://evil.example:80/a".utf8))?.authority == "evil.example:80")
        #expect(RequestTarget(Array("/a".utf8))?.authority == nil)
    }
}

@Suite struct RequestGuardTests {
    private static func head(
        _ fields: [(String, String)],
        version: String = "HTTP/1.1",
        target: String = "/"
    ) -> RequestHead {
        RequestHead(
            method: Array("GET".utf8),
            target: Array(target.utf8),
            version: Array(version.utf8),
            fields: fields.map { RequestHead.Field(name: Array($0.utf8), value: Array($1.utf8)) },
            size: 100
        )
    }

    private func status(_ head: RequestHead, _ limits: RequestLimits = RequestLimits()) -> Int {
        do throws(RequestGuard.Rejection) {
            try RequestGuard(limits: limits).check(head)
            return 200
        } catch {
            return error.status
        }
    }

    @Test(arguments: [
        [("Host", "a")], [("host", "a"), ("Content-Length", "0")], [("Host", "a"), ("Content-Length", "65536")],
        [("Host", "a"), ("Transfer-Encoding", "Chunked")], [("Host", "")], [("Host", "a"), ("X", "a\tb \u{e9}")],
        [("Host", "a"), ("X-!#$%&'*+-.^_`|~9", "b")],
    ])
    func `admits sound heads`(fields: [(String, String)]) {
        #expect(status(Self.head(fields)) == 200)
    }

    @Test(
        arguments: [
            ([], 400), ([("Host", "a"), ("HOST", "a")], 400), ([("Host", "a"), ("Content-Length", "")], 400),
            ([("Host", "a"), ("Content-Length", "1 ")], 400), ([("Host", "a"), ("Content-Length", "0x1")], 400),
            ([("Host", "a"), ("content-length", "1"), ("Content-Length", "1")], 400),
            ([("Host", "a"), ("Content-Length", "65537")], 413),
            ([("Host", "a"), ("Content-Length", "99999999999999999999")], 413),
            ([("Host", "a"), ("Content-Length", "1"), ("Transfer-Encoding", "chunked")], 400),
            ([("Host", "a"), ("Transfer-Encoding", "identity")], 400),
            ([("Host", "a"), ("Transfer-Encoding", "")], 400),
            ([("Host", "a"), ("Transfer-Encoding", "chunked, chunked")], 400), ([("Host", "a"), ("", "b")], 400),
            ([("Host", "a"), ("X ", "b")], 400), ([("Host", "a"), ("X", "a\u{0}b")], 400),
            ([("Host", "a"), ("X", "a\rb")], 400), ([("Host", "a"), ("X", "a\nb")], 400),
            ([("Host", "a"), ("X", "\u{7F}")], 400), ([("Host", "a"), ("Xä", "b")], 400),
        ] as [([(String, String)], Int)]
    )
    func `refuses ambiguous heads`(fields: [(String, String)], expected: Int) {
        #expect(status(Self.head(fields)) == expected)
    }

    @Test(arguments: [
        ("HTTP/1.0", 200), ("HTTP/1.1", 200), ("HTTP/1.2", 505), ("HTTP/2.0", 505), ("HTTP/0.9", 505), ("", 505),
        ("http/1.1", 505), ("HTTP/1.1 ", 505),
    ])
    func `speaks two versions`(version: String, expected: Int) {
        #expect(status(Self.head([("Host", "a")], version: version)) == expected)
    }

    @Test func `needs no host in HTTP 1_0, where chunks do not exist`() {
        #expect(status(Self.head([], version: "HTTP/1.0")) == 200)
        #expect(status(Self.head([("Transfer-Encoding", "chunked")], version: "HTTP/1.0")) == 400)
    }

    @Test func `keeps its limits`() {
        var limits = RequestLimits()
        limits.target = 10
        #expect(status(Self.head([("Host", "a")], target: "/123456789"), limits) == 200)
        #expect(status(Self.head([("Host", "a")], target: "/1234567890"), limits) == 414)
        limits.head = 99
        #expect(status(Self.head([("Host", "a")]), limits) == 431)
        limits.head = 100
        limits.fields = 2
        #expect(status(Self.head([("Host", "a"), ("B", "b")]), limits) == 200)
        #expect(status(Self.head([("Host", "a"), ("B", "b"), ("C", "c")]), limits) == 431)
    }

    @Test(arguments: [-1, 0, 1, 3, 4, 1000])
    func `refuses bytes that no part accounts for`(trailing: Int) {
        var head = Self.head([("Host", "a"), ("X", "b")])
        head.fields[0].trailing = trailing
        #expect(status(head) == 400)
        head.fields[0].trailing = 2
        #expect(status(head) == 200)
        head.hiddenInLine = max(1, trailing)
        #expect(status(head) == 400)
    }
}

@Suite struct HTTPAdmissionTests {
    private func admit(_ target: String, host: String, peer: HTTPPeer) -> HTTPAdmission.Verdict {
        let field = RequestHead.Field(name: Array("Host".utf8), value: Array(host.utf8))
        let head = RequestHead(
            method: Array("GET".utf8),
            target: Array(target.utf8),
            version: Array("HTTP/1.1".utf8),
            fields: [field]
        )
        return HTTPAdmission(limits: RequestLimits(), hosts: HostPolicy(names: [])).admit(head, from: peer)
    }

    private static let local = HTTPPeer.unix(process: 1, user: 0, group: 0)

    @Test func `hands over a decoded request`() {
        let expected = HTTPRequest(
            path: ["a b"],
            query: [QueryItem("c", "d")],
            fields: [HTTPField("Host", "localhost")]
        )
        #expect(admit("/a%20b?c=d", host: "localhost", peer: .tcp) == .admitted(expected))
    }

    @Test(arguments: [
        ("/", "evil.example", 421), ("http://evil.example/", "localhost", 421), ("/%", "localhost", 400),
        ("http://localhost/", "evil.example", 200),
    ])
    func `judges the host that counts`(target: String, host: String, status: Int) {
        switch admit(target, host: host, peer: .tcp) {
        case .admitted: #expect(status == 200)
        case .refused(let problem): #expect(problem.status == status)
        }
        guard status == 421 else { return }
        guard case .admitted = admit(target, host: host, peer: Self.local) else {
            Issue.record("a unix socket is reached by no web page")
            return
        }
    }
}

@Suite struct HTTPRequestTests {
    @Test func `joins fields of one name`() {
        let fields = [HTTPField("Accept", "a"), HTTPField("X", "y"), HTTPField("ACCEPT", "b")]
        let request = HTTPRequest(path: [], fields: fields)
        #expect(request.field("accept") == "a, b")
        #expect(request.field("none") == nil)
    }
}
