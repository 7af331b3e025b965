// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import OrderedJSON
import TestSupport
import Testing
import WebSocketWire

@testable import StatusServer

@Suite(.inNamespace) struct WebSocketStreamTests {
    @Test(arguments: [false, true])
    func `each event is one text message, the line of the log`(overTCP: Bool) async throws {
        let fixture = try ServerFixture()
        let socket = try await fixture.socket(overTCP: overTCP)
        #expect(socket.subprotocol == "nwpath.v1" && fixture.server.api.streams.count == 1)
        #expect(fixture.metrics.contains("nwpath_event_stream_clients{transport=\"websocket\"} 1"))
        fixture.publish()
        fixture.publish("service.added", padding: 100_000)
        await socket.wait("both events") { $0.messages.count == 2 }
        #expect(socket.messages == fixture.lines)
        socket.close(WebSocketClose(.normal, reason: "enough"))
        await socket.wait("the answer, and the end") { $0.close != nil && $0.raw.isClosed }
        #expect(socket.close == WebSocketClose(.normal))
        await fixture.loop.eventually { fixture.server.connectionCount == 0 }
        #expect(fixture.server.api.streams.count == 0)
        #expect(fixture.metrics.contains("nwpath_event_stream_clients{transport=\"websocket\"} 0"))
        #expect(fixture.metrics.contains("handler=\"/api/v1/events/ws\",method=\"GET\",code=\"101\"} 1"))
    }

    @Test(arguments: [("since=7f3a.40", 41), ("since=40", 41), ("since=2h", 1), ("since=0", 1), ("", 301)])
    func `resumes where the client was, without gap or repeat`(query: String, first: Int) async throws {
        let fixture = try ServerFixture()
        for _ in 0..<300 { fixture.provider.add() }
        let socket = try WebSocketClient(try fixture.client(), "/api/v1/events/ws?\(query)")
        await fixture.loop.eventually { fixture.server.api.streams.count == 1 }
        // Events that happen while it catches up come behind the past.
        for _ in 0..<200 { fixture.publish() }
        await socket.wait("the present") { $0.messages.count == 500 - first + 1 }
        #expect(socket.messages == Array(fixture.lines[(first - 1)...]))
    }

    @Test func `a client that comes and goes misses nothing`() async throws {
        let fixture = try ServerFixture()
        var seen: [String] = []
        for round in 0..<8 {
            fixture.publish()
            let socket = try await fixture.socket("/api/v1/events/ws?since=7f3a.\(seen.count)")
            for _ in 0..<round { fixture.publish() }
            await socket.wait("all so far") { $0.messages.count == fixture.lines.count - seen.count }
            seen += socket.messages
            if round.isMultiple(of: 2) { socket.close(WebSocketClose(.goingAway)) }
        }
        #expect(seen == fixture.lines)
    }

    @Test func `filters as the other streams do`() async throws {
        let fixture = try ServerFixture()
        for number in 0..<100 { fixture.provider.add(number.isMultiple(of: 2) ? "path.changed" : "service.added") }
        let socket = try await fixture.socket("/api/v1/events/ws?since=0&event=path.*")
        fixture.publish("service.added")
        fixture.publish("path.changed")
        await socket.wait("the last") { $0.messages.count == 51 }
        #expect(socket.messages == fixture.lines.filter { $0.contains("path.changed") })
    }

    @Test func `a slow client is told why, counted and cut, and memory stays bounded`() async throws {
        let fixture = try ServerFixture {
            $0.api.stream = OutgoingStream.Limit(chunks: 16, bytes: 200_000)
            $0.api.farewell = .milliseconds(50)
        }
        let stalled = try await fixture.socket()
        let honest = try await fixture.socket()
        // More than the kernel's buffers take: the rest would have to wait here.
        var sent = 0
        while fixture.server.api.streams.count == 2, sent < 4000 {
            fixture.publish(padding: 8000)
            sent += 1
            await honest.wait("the honest client got it") { $0.messages.count == sent }
        }
        #expect(fixture.server.api.streams.count == 1)
        #expect(fixture.metrics.contains("nwpath_event_stream_dropped_total{transport=\"websocket\"} 1"))
        await fixture.loop.eventually { fixture.server.connectionCount == 1 }
        fixture.publish()
        await honest.wait("the next event") { $0.messages.count == sent + 1 }
        #expect(!stalled.raw.isClosed)
    }

    @Test func `a slow client that reads again finds the reason and the code`() async throws {
        let fixture = try ServerFixture { $0.api.stream = OutgoingStream.Limit(chunks: 4, bytes: 100_000) }
        let slow = try await fixture.socket()
        for _ in 0..<200 where fixture.server.api.streams.count == 1 {
            // Eight at once are over the bound, whatever the kernel takes.
            for _ in 0..<8 { fixture.publish() }
        }
        #expect(fixture.server.api.streams.count == 0)
        await slow.wait("the close") { $0.close != nil }
        #expect(slow.close == WebSocketClose(.tryAgainLater, reason: "slow_client"))
        let notice = try JSONValue(parsing: try #require(slow.messages.last))
        #expect(notice["event"]?.string == "stream.reset" && notice["reset"]?["reason"]?.string == "slow_client")
        #expect(notice["snapshot"] != nil)
        await slow.wait("the end") { $0.raw.isClosed }
        await fixture.loop.eventually { fixture.server.connectionCount == 0 }
    }

    @Test func `one that answers pings stays, one that does not is dropped at the next`() async throws {
        let fixture = try ServerFixture { $0.api.pingInterval = .milliseconds(100) }
        let (alive, dead) = (try await fixture.socket(), try await fixture.socket(answersPings: false))
        await alive.wait("four pings") {
            dead.pump()
            return $0.pings >= 4
        }
        #expect(dead.pings == 1 && dead.raw.isClosed && dead.close == nil)
        #expect(!alive.raw.isClosed && fixture.server.api.streams.count == 1)
        #expect(fixture.metrics.contains("nwpath_event_stream_dropped_total{transport=\"websocket\"} 0"))
    }

    @Test func `a client's pings are answered between events`() async throws {
        let fixture = try ServerFixture()
        let socket = try await fixture.socket()
        for _ in 0..<20 {
            try socket.ping([1, 2, 3])
            fixture.publish()
        }
        await socket.wait("everything") { $0.messages.count == 40 }
        #expect(socket.messages.filter { $0 != "pong" } == fixture.lines)
    }

    @Test func `a flood of pings that nobody reads takes no memory and ends the client`() async throws {
        let fixture = try ServerFixture {
            $0.api.stream = OutgoingStream.Limit(chunks: 64, bytes: 10_000)
            $0.api.pingInterval = .milliseconds(100)
        }
        let flooder = try await fixture.socket()
        await fixture.loop.eventually {
            for _ in 0..<100 { try? flooder.ping([UInt8](repeating: 1, count: 125)) }
            return fixture.server.api.streams.count == 0
        }
        await fixture.loop.eventually { fixture.server.connectionCount == 0 }
    }

    @Test(
        arguments: [
            (.text("hello"), .unsupportedData), (.binary([1, 2]), .unsupportedData),
            (.text(String(repeating: "x", count: 5000)), .messageTooLong),
        ] as [(WebSocketMessage, WebSocketCloseCode)]
    )
    func `messages of the client are refused`(message: WebSocketMessage, code: WebSocketCloseCode) async throws {
        let fixture = try ServerFixture()
        let socket = try await fixture.socket()
        try socket.send(message)
        await socket.wait("the close") { $0.close != nil && $0.raw.isClosed }
        #expect(socket.close?.code == code)
        await fixture.loop.eventually { fixture.server.api.streams.count == 0 }
        fixture.publish()
        // Who is refused is no slow client.
        #expect(fixture.metrics.contains("nwpath_event_stream_dropped_total{transport=\"websocket\"} 0"))
    }

    @Test(arguments: [[0x81, 0x01, 0x41], [0xF1, 0x80, 0, 0, 0, 0], [0x88, 0x81, 0, 0, 0, 0, 1]] as [[UInt8]])
    func `a client that breaks the protocol is told`(bytes: [UInt8]) async throws {
        let fixture = try ServerFixture()
        let socket = try await fixture.socket()
        socket.raw.send(bytes)
        await socket.wait("the close") { $0.close != nil && $0.raw.isClosed }
        #expect(socket.close?.code == .protocolError)
    }

    @Test func `frames that come with the request are read`() async throws {
        let fixture = try ServerFixture()
        var end = WebSocketConnection(role: .client)
        try end.ping([5])
        end.close(WebSocketClose(.normal))
        let socket = try WebSocketClient(try fixture.client(), early: end.drainOutput())
        await socket.wait("pong and close") { $0.messages == ["pong"] && $0.close?.code == .normal }
        await fixture.loop.eventually { fixture.server.connectionCount == 0 }
    }

    @Test func `a client that vanishes frees its place`() async throws {
        let fixture = try ServerFixture()
        var sockets: [WebSocketClient] = []
        for overTCP in [false, true] { sockets.append(try await fixture.socket(overTCP: overTCP)) }
        #expect(fixture.server.api.streams.count == 2)
        sockets = []
        await fixture.loop.eventually { fixture.server.connectionCount == 0 }
        #expect(fixture.server.api.streams.count == 0)
    }

    @Test func `when the service stops, clients get the reason and 1001`() async throws {
        let fixture = try ServerFixture()
        let sockets = [try await fixture.socket(), try await fixture.socket(overTCP: true)]
        var isStopped = false
        fixture.server.stop(within: .seconds(1)) { isStopped = true }
        for socket in sockets {
            await socket.wait("the end") { $0.close != nil && $0.raw.isClosed }
            #expect(socket.close == WebSocketClose(.goingAway, reason: "daemon_stopping"))
            #expect(socket.messages.last?.contains("\"event\":\"stream.closed\"") == true)
        }
        await fixture.loop.eventually { isStopped }
        #expect(fixture.server.connectionCount == 0)
    }

    @Test func `a service that stops does not wait for clients that say nothing`() async throws {
        let fixture = try ServerFixture()
        let socket = try await fixture.socket()
        var isStopped = false
        fixture.server.stop(within: .milliseconds(100)) { isStopped = true }
        await fixture.loop.eventually { isStopped }
        #expect(fixture.server.connectionCount == 0)
        await socket.wait("the end") { $0.raw.isClosed }
    }

    @Test func `a thousand clients get every event once`() async throws {
        let fixture = try ServerFixture {
            $0.api.streams = 1000
            $0.server.connections = 2000
            $0.server.connectionsPerListener = 2000
        }
        var sockets: [WebSocketClient] = []
        // In portions that the queue of a listening socket holds: the server accepts on this very thread.
        for _ in 0..<10 {
            for _ in 0..<100 { sockets.append(try WebSocketClient(try fixture.client())) }
            await fixture.loop.eventually {
                for socket in sockets where !socket.isOpen { socket.pump() }
                return sockets.allSatisfy(\.isOpen)
            }
        }
        #expect(fixture.server.api.streams.count == 1000)
        for _ in 0..<20 { fixture.publish() }
        await fixture.loop.eventually {
            for socket in sockets where socket.messages.count < 20 { socket.pump() }
            return sockets.allSatisfy { $0.messages.count == 20 }
        }
        let lines = fixture.lines
        #expect(sockets.allSatisfy { $0.messages == lines })
        let refused = try await fixture.get("/api/v1/events/ws", fields: RawClient.upgrade)
        #expect(refused.status == 429 && refused.body.contains("/problems/too-many-streams"))
        sockets = []
        await fixture.loop.eventually { fixture.server.connectionCount <= 1 }
    }
}
