// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

/// Clients of the unix socket and those of TCP have places of their own.
@Suite(.inNamespace) struct PlacesTests {
    private static let unix = HTTPPeer.unix(process: 1, user: 0, group: 0)
    private static let handshake = [
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Host": "localhost",
    ]

    @Test(arguments: [
        (HTTPPeer.tcp, unix), (unix, HTTPPeer.tcp),
    ])
    func `streams of one kind take no places of the other`(crowd: HTTPPeer, other: HTTPPeer) throws {
        let fixture = APIFixture { $0.streams = 2 }
        let target = "/api/v1/events"
        for format in ["text/event-stream", "application/x-ndjson"] {
            #expect(try fixture.ask(target, ["Accept": format], peer: crowd).answer.status == 200)
        }
        for peer in [crowd, other, other, other] {
            _ = try fixture.ask(target, peer: peer).answer.status
        }
        #expect(fixture.api.streams.count == 4)
        #expect(fixture.api.streams.count(isUnix: true) == 2 && fixture.api.streams.count(isUnix: false) == 2)
        #expect(try fixture.ask(target, peer: crowd).answer.status == 429)
        #expect(try fixture.ask(target, peer: other).answer.status == 429)
        fixture.api.streams.close(reason: "daemon_stopping")
        #expect(fixture.api.streams.count(isUnix: true) == 0 && fixture.api.streams.count(isUnix: false) == 0)
        #expect(try fixture.ask(target, peer: other).answer.status == 200)
    }

    @Test(arguments: ["/api/v1/events/ws", "/api/v1/events/ws?since=1"])
    func `so it is with WebSockets`(target: String) throws {
        let fixture = APIFixture { $0.streams = 1 }
        _ = fixture.provider.add("path.changed")
        #expect(try fixture.ask("/api/v1/events").answer.status == 200)
        #expect(try fixture.ask(target, Self.handshake).answer.status == 429)
        #expect(try fixture.ask(target, Self.handshake, peer: Self.unix).answer.status == 101)
        #expect(try fixture.ask(target, Self.handshake, peer: Self.unix).answer.status == 429)
    }

    @Test func `so it is with requests that wait`() throws {
        let fixture = APIFixture { $0.longPolls = 1 }
        let target = "/api/v1/dns?wait=30s"
        let condition = ["If-None-Match": "*"]
        let first = try fixture.ask(target, condition)
        #expect(try fixture.ask(target, condition).answer.status == 429)
        let second = try fixture.ask(target, condition, peer: Self.unix)
        #expect(first.answers.isEmpty && second.answers.isEmpty)
        #expect(try fixture.ask(target, condition, peer: Self.unix).answer.status == 429)
        second.onCancelled?()
        #expect(fixture.api.polls.count(isUnix: true) == 0 && fixture.api.polls.count(isUnix: false) == 1)
        let third = try fixture.ask(target, condition, peer: Self.unix)
        fixture.api.polls.close()
        #expect(try first.answer.status == 304 && third.answer.status == 304)
    }
}
