// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StatusServer

@Suite(.inNamespace) struct ContentCodingTests {
    private static let long = "{\"text\":\"" + String(repeating: "path ", count: 400) + "\"}\n"

    /// What gunzip(1) makes of it.
    private func plain(_ response: HTTPResponse) throws -> String {
        guard case .bytes(let bytes) = response.body else { return "" }
        let text = Base64.text(of: bytes.bytes)
        return try Command.run(["sh", "-c", "base64 -d | gunzip"], input: text)
    }

    @Test(
        arguments: [
            (nil, false), ("", false), ("identity", false), ("deflate, br", false), ("gzip", true), ("x-gzip", true),
            ("GZIP", true), ("deflate, gzip;q=1.0, *;q=0.5", true), ("gzip;q=0", false), ("gzip;q=0.000, *", false),
            ("*", true), ("*;q=0", false), ("gzip ; q=0.5", true), ("gzip;q=0.5, identity;q=0.8", false),
            ("gzip;q=0.8, identity;q=0.5", true), ("gzip;q=nonsense", false), (",,gzip", true),
            ("gzip, identity", true),
        ] as [(String?, Bool)]
    )
    func `follows the wishes of Accept-Encoding`(field: String?, expected: Bool) {
        #expect(ContentCoding.acceptsGzip(field) == expected)
    }

    @Test func `a document is compressed once, and has a tag of its own`() throws {
        let fixture = APIFixture()
        fixture.provider.documents[.status] = Snapshot(Array(Self.long.utf8), tag: "7f3a.9")
        let first = try fixture.get("/api/v1/status", ["Accept-Encoding": "gzip"])
        #expect(first.field("Content-Encoding") == "gzip" && first.field("ETag") == "\"7f3a.9-gzip\"")
        #expect(first.field("Vary") == "Accept-Encoding")
        #expect(try plain(first) == Self.long)
        let second = try fixture.get("/api/v1/status", ["Accept-Encoding": "gzip"])
        guard case .bytes(let one) = first.body, case .bytes(let two) = second.body else { return }
        #expect(one === two && one.count < Self.long.utf8.count / 10)
        let identity = try fixture.get("/api/v1/status")
        #expect(identity.field("Content-Encoding") == nil && identity.field("ETag") == "\"7f3a.9\"")
        #expect(identity.field("Vary") == "Accept-Encoding" && identity.text == Self.long)
    }

    @Test func `either tag is known, and 304 names the one that the client has`() throws {
        let fixture = APIFixture()
        fixture.provider.documents[.status] = Snapshot(Array(Self.long.utf8), tag: "7f3a.9")
        for tag in ["\"7f3a.9\"", "\"7f3a.9-gzip\""] {
            let answer = try fixture.get("/api/v1/status", ["Accept-Encoding": "gzip", "If-None-Match": tag])
            #expect(answer.status == 304 && answer.field("ETag") == tag)
        }
        let changed = try fixture.get("/api/v1/status", ["If-None-Match": "\"7f3a.8-gzip\""])
        #expect(changed.status == 200)
    }

    @Test func `what waited for a change is compressed as well`() throws {
        let fixture = APIFixture()
        fixture.provider.documents[.status] = Snapshot(Array(Self.long.utf8), tag: "a")
        let fields = ["Accept-Encoding": "gzip", "If-None-Match": "\"a-gzip\""]
        let waiting = try fixture.ask("/api/v1/status?wait=30s", fields)
        #expect(waiting.answers.isEmpty)
        fixture.provider.documents[.status] = Snapshot(Array(Self.long.utf8), tag: "b")
        fixture.api.polls.changed()
        #expect(try waiting.answer.field("ETag") == "\"b-gzip\"")
        #expect(try plain(try waiting.answer) == Self.long)
    }

    @Test func `small answers, problems and streams stay as they are`() throws {
        let fixture = APIFixture()
        let wish = ["Accept-Encoding": "gzip"]
        let small = try fixture.get("/api/v1/dns", wish)
        #expect(small.field("Content-Encoding") == nil && small.field("Vary") == nil)
        let problem = try fixture.get("/api/v1/paths/" + String(repeating: "x", count: 1500), wish)
        #expect(problem.status == 404 && problem.field("Content-Encoding") == nil)
        let stream = try fixture.get("/api/v1/events", wish)
        #expect(stream.field("Content-Encoding") == nil)
        let page = try fixture.get("/", wish)
        #expect(page.field("Content-Encoding") == "gzip" && page.field("ETag")?.hasSuffix("-gzip\"") == true)
        #expect(try plain(page).hasPrefix("<!DOCTYPE html>"))
    }

    @Test func `bytes of any kind come back`() throws {
        for count in [0, 1, 1023, 70_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
            let shared = SharedBytes(bytes)
            let text = Base64.text(of: try #require(shared.compressed).bytes)
            let back = try Command.run(["sh", "-c", "base64 -d | gunzip | base64 -w 0"], input: text)
            #expect(back == Base64.text(of: bytes))
        }
    }
}
