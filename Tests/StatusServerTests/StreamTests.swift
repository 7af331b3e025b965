// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import Addressing
import CLinuxShims
import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

@Suite(.inNamespace) struct StreamTests {
    @Test func `streams server-sent events as they happen`() async throws {
        let fixture = try ServerFixture()
        let client = try await fixture.stream()
        #expect(client.text.contains("Content-Type: text/event-stream"))
        #expect(client.text.contains("Cache-Control: no-store"))
        #expect(client.text.contains("X-Accel-Buffering: no"))
        fixture.publish()
        fixture.publish("service.added")
        await client.wait("both events") { $0.chunkedContent.contains("id: 7f3a.2") }
        let expected = """
            retry: 2000

            id: 7f3a.1
            event: path.changed
            data: {"seq":1,"event":"path.changed","pad":""}

            id: 7f3a.2
            event: service.added
            data: {"seq":2,"event":"service.added","pad":""}


            """
        #expect(client.chunkedContent == expected)
        #expect(fixture.metrics.contains("nwpath_event_stream_clients{transport=\"sse\"} 1"))
    }

    @Test func `streams JSON lines`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        client.get("/api/v1/events?since=0", fields: "Accept: application/x-ndjson\r\n")
        await fixture.loop.eventually { fixture.server.api.streams.count == 1 }
        for _ in 0..<3 { fixture.publish() }
        await client.wait("three lines") { $0.chunkedContent.split(separator: "\n").count == 3 }
        #expect(client.chunkedContent == fixture.provider.log.map { String(decoding: $0.line, as: UTF8.self) }.joined())
    }

    @Test(arguments: [
        ("/api/v1/events", "Last-Event-ID: 7f3a.40\r\n", 41), ("/api/v1/events?since=7f3a.40", "", 41),
        ("/api/v1/events?since=40", "", 41), ("/api/v1/events?since=2h", "", 1), ("/api/v1/events?since=0", "", 1),
        ("/api/v1/events?since=0", "Last-Event-ID: 7f3a.299\r\n", 300), ("/api/v1/events", "", 301),
    ])
    func `resumes where the client was`(target: String, fields: String, first: UInt64) async throws {
        let fixture = try ServerFixture()
        for _ in 0..<300 { fixture.provider.add() }
        let client = try await fixture.stream(target, fields: fields)
        await client.wait("the past") { first > 300 || $0.chunkedContent.contains("id: 7f3a.300\n") }
        fixture.publish()
        await client.wait("the present") { $0.chunkedContent.contains("id: 7f3a.301\n") }
        let ids = client.chunkedContent.split(separator: "\n").filter { $0.hasPrefix("id: ") }
        #expect(ids == (first...301).map { "id: 7f3a.\($0)" })
    }

    @Test(arguments: [
        ("7f3a.3", "too_old"), ("beef.3", "other_stream"), ("7f3a.99", "other_stream"), ("garbage", "other_stream"),
    ])
    func `tells a client that cannot resume, with the state as of now`(id: String, reason: String) async throws {
        let fixture = try ServerFixture()
        for _ in 0..<20 { fixture.provider.add() }
        fixture.provider.oldest = 10
        let client = try await fixture.stream(fields: "Last-Event-ID: \(id)\r\n")
        await client.wait("the notice") { $0.chunkedContent.contains("\n\nid: ") }
        let content = client.chunkedContent
        #expect(content.contains("id: 7f3a.20\nevent: stream.reset\n"))
        #expect(
            content.contains(
                "\"reset\":{\"reason\":\"\(reason)\"},\"snapshot\":{\"path\":{\"status\":\"satisfied\"}}}\n\n"
            )
        )
        fixture.publish()
        await client.wait("the present") { $0.chunkedContent.contains("id: 7f3a.21\n") }
    }

    @Test(arguments: [
        ("path.*", [1, 3]), ("*.added", [2]), ("service.added,path.changed", [1, 2, 3]), ("*", [1, 2, 3]), ("p*x", []),
    ])
    func `sends only the types that were asked for`(pattern: String, expected: [Int]) async throws {
        let fixture = try ServerFixture()
        fixture.provider.add("path.changed")
        fixture.provider.add("service.added")
        let client = try await fixture.stream("/api/v1/events?since=0&event=\(pattern)")
        await fixture.loop.sleep(for: .milliseconds(1))
        fixture.publish("path.changed")
        let page = try await fixture.get(
            "/api/v1/events?since=0&event=\(pattern)",
            fields: "Accept: application/json\r\n"
        )
        client.pump()
        if let last = expected.last {
            await client.wait("the last") { $0.chunkedContent.contains("id: 7f3a.\(last)\n") }
        }
        let ids = client.chunkedContent.split(separator: "\n").filter { $0.hasPrefix("id: ") }
        #expect(ids == expected.map { "id: 7f3a.\($0)" })
        for number in 1...3 { #expect(page.body.contains("\"seq\":\(number),") == expected.contains(number)) }
        #expect(page.body.hasSuffix("],\"next\":\"7f3a.3\"}\n"))
    }

    @Test func `pages through the log`() async throws {
        let fixture = try ServerFixture()
        for _ in 0..<250 { fixture.provider.add() }
        var next = "0"
        var seen: [Substring] = []
        for _ in 0..<3 {
            let target = "/api/v1/events?since=\(next)&limit=100"
            let page = try await fixture.get(target, fields: "Accept: application/json\r\n")
            seen += page.body.split(separator: "\"seq\":").dropFirst().map { $0.prefix { $0 != "," } }
            next = String(page.body.split(separator: "\"next\":\"")[1].prefix { $0 != "\"" })
        }
        #expect(seen == (1...250).map { "\($0)" })
        #expect(next == "7f3a.250")
        let newest = try await fixture.get("/api/v1/events?limit=2", fields: "Accept: application/json\r\n")
        #expect(newest.body.contains("\"seq\":249,"))
        #expect(!newest.body.contains("\"seq\":248,"))
    }

    @Test(arguments: [
        ("/api/v1/events?since=3", "application/json", 410, "/problems/since-too-old"),
        ("/api/v1/events?since=beef.15", "application/json", 410, "/problems/since-too-old"),
        ("/api/v1/events?since=x", "application/json", 400, "/problems/bad-parameter"),
        ("/api/v1/events?limit=0", "application/json", 400, "a number from 1 to 1000"),
        ("/api/v1/events?limit=5", "text/event-stream", 400, "Unknown parameter 'limit'"),
        ("/api/v1/events", "image/png", 406, "about:blank"),
    ])
    func `explains what it cannot page`(target: String, accept: String, status: Int, word: String) async throws {
        let fixture = try ServerFixture()
        for _ in 0..<20 { fixture.provider.add() }
        fixture.provider.oldest = 10
        let response = try await fixture.get(target, fields: "Accept: \(accept)\r\n")
        #expect(response.status == status)
        #expect(response.body.contains(word))
    }

    @Test func `refuses more streams than it has room for`() async throws {
        let fixture = try ServerFixture { $0.api.streams = 2 }
        let first = try await fixture.stream()
        let second = try await fixture.stream()
        let refused = try await fixture.get("/api/v1/events")
        #expect(refused.status == 429)
        #expect(refused.body.contains("/problems/too-many-streams"))
        #expect(refused.fields["retry-after"] == "10")
        first.finishSending()
        await fixture.loop.eventually { fixture.server.api.streams.count == 1 }
        let third = try await fixture.stream()
        _ = (second, third)
    }

    @Test func `tells when the first listener comes and the last one leaves`() async throws {
        let fixture = try ServerFixture()
        let first = try await fixture.stream()
        let second = try await fixture.stream()
        #expect(fixture.told == [true])
        first.finishSending()
        await fixture.loop.eventually { fixture.server.api.streams.count == 1 }
        #expect(fixture.told == [true])
        second.finishSending()
        await fixture.loop.eventually { fixture.server.api.streams.count == 0 }
        #expect(fixture.told == [true, false])
        let third = try await fixture.stream()
        #expect(fixture.told == [true, false, true])
        _ = third
    }

    @Test func `writes to idle streams, and has no timer without them`() async throws {
        let fixture = try ServerFixture { $0.api.pingInterval = .milliseconds(5) }
        let client = try await fixture.stream()
        let lines = try fixture.client()
        lines.get("/api/v1/events", fields: "Accept: application/x-ndjson\r\n")
        await client.wait("pings") { $0.chunkedContent.contains(": ping\n\n: ping\n\n") }
        await lines.wait("empty lines") { $0.chunkedContent.hasPrefix("\n\n") }
    }

    @Test(arguments: [false, true])
    func `frees the place of a client that vanished`(overTCP: Bool) async throws {
        let fixture = try ServerFixture()
        var client: RawClient? = try await fixture.stream(overTCP: overTCP)
        #expect(client != nil && fixture.server.api.streams.count == 1)
        client = nil
        await fixture.loop.eventually { fixture.server.api.streams.count == 0 && fixture.server.connectionCount == 0 }
        #expect(fixture.metrics.contains("nwpath_event_stream_clients{transport=\"sse\"} 0"))
    }

    @Test func `frees the place of a client whose cable was pulled`() async throws {
        let fixture = try ServerFixture {
            $0.api.pingInterval = .milliseconds(50)
            $0.server.streamAcknowledgement = .milliseconds(300)
        }
        let peer = try Namespace()
        try Namespace.current.connect("v0", to: peer, as: "v1")
        try Namespace.current.ip("address add 192.0.2.1/24 dev v0")
        try peer.ip("address add 192.0.2.2/24 dev v1")
        try fixture.server.listen(on: .tcp(ScopedAddress(.v4(0xC000_0201)), port: 8353))
        let curl = ["nsenter", "--net=\(peer.path)", "curl", "-sN", "http://192.0.2.1:8353/api/v1/events"]
        let client = try RunningCommand(curl)
        await fixture.loop.eventually { fixture.server.api.streams.count == 1 }
        try peer.set("v1", isUp: false)
        await fixture.loop.eventually { fixture.server.api.streams.count == 0 && fixture.server.connectionCount == 0 }
        client.signal(9)
    }

    @Test func `tells and drops a stalled reader while others get everything`() async throws {
        let fixture = try ServerFixture {
            $0.api.stream = OutgoingStream.Limit(chunks: 100, bytes: 200_000)
            $0.api.farewell = .milliseconds(50)
            $0.server.streamSendBuffer = 4096
        }
        let stalled = try fixture.tcpClient()
        stalled.shrinkReceiveBuffer()
        stalled.get("/api/v1/events")
        await fixture.loop.eventually { fixture.server.api.streams.count == 1 }
        let reader = try await fixture.stream()
        for number in 1...2000 {
            fixture.publish(padding: 1000)
            if number.isMultiple(of: 20) { await reader.wait("all") { $0.chunkedTail("\"seq\":\(number),") } }
        }
        #expect(fixture.server.api.streams.count == 1)
        let ids = reader.chunkedContent.split(separator: "\n").filter { $0.hasPrefix("id: ") }
        #expect(ids == (1...2000).map { "id: 7f3a.\($0)" })
        #expect(fixture.metrics.contains("nwpath_event_stream_dropped_total{transport=\"sse\"} 1"))
        await fixture.loop.eventually("the stalled one is cut") { fixture.server.connectionCount == 1 }
    }

    @Test func `drops one that reads nothing although little waits for it`() async throws {
        let fixture = try ServerFixture {
            $0.api.pingInterval = .milliseconds(100)
            $0.api.farewell = .milliseconds(50)
            $0.server.streamSendBuffer = 4096
        }
        let stalled = try fixture.tcpClient()
        stalled.shrinkReceiveBuffer()
        stalled.get("/api/v1/events")
        await fixture.loop.eventually { fixture.server.api.streams.count == 1 }
        // More than the kernel takes, and far below the bound.
        for _ in 1...10 { fixture.publish(padding: 8000) }
        let reader = try await fixture.stream()
        await fixture.loop.eventually("it is dropped") { fixture.server.api.streams.count == 1 }
        #expect(fixture.metrics.contains("nwpath_event_stream_dropped_total{transport=\"sse\"} 1"))
        await fixture.loop.eventually("it is cut") { fixture.server.connectionCount == 1 }
        #expect(!stalled.isClosed && !reader.isClosed)
    }

    @Test func `a slow reader that still reads finds the reason at the end`() async throws {
        let fixture = try ServerFixture { $0.api.stream = OutgoingStream.Limit(chunks: 8, bytes: 20_000) }
        let client = try await fixture.stream(overTCP: true)
        for _ in 1...50 { fixture.publish(padding: 1000) }
        await client.wait("the end") { $0.isComplete }
        #expect(client.chunkedContent.contains("event: stream.reset\n"))
        #expect(client.chunkedContent.contains("\"reason\":\"slow_client\""))
        await client.waitForClose()
    }
}

extension RawClient {
    /// Whether the newest bytes hold a word; looks at the tail only.
    func chunkedTail(_ word: String) -> Bool {
        String(decoding: received.suffix(3000), as: UTF8.self).contains(word)
    }
}
