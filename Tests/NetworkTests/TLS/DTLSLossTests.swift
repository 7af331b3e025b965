// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// DTLS where datagrams are lost, doubled, changed and made up.
@Suite(.inNamespace) struct DTLSLossTests {
    private let loop = Namespace.current.loop
    private let certificates: Certificates

    init() throws { certificates = try Certificates.shared.get() }

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    /// Both ends with a relay between them, which lives as long as this value.
    private struct Pair {
        let client: Watched
        let server: Watched
        let relay: Relay
    }

    private func pair(_ change: @escaping Relay.Change = { [$2] }) async throws -> Pair {
        let listener = try WatchedListener(NWParameters(dtls: try certificates.serverOptions()))
        let (relay, port) = try await Relay.start(to: await listener.start(), change: change)
        let client = Watched(to: "127.0.0.1", port, NWParameters(dtls: certificates.clientOptions())).start()
        let server = try await listener.serve(client)
        #expect(listener.accepted.values.count == 1)
        return Pair(client: client, server: server, relay: relay)
    }

    /// A datagram that is lost.
    struct Loss: Sendable {
        let way: Relay.Way
        let number: Int
    }

    @Test(
        arguments: [
            Loss(way: .toServer, number: 0), Loss(way: .toClient, number: 0), Loss(way: .toServer, number: 1),
            Loss(way: .toClient, number: 1), Loss(way: .toServer, number: 2),
        ]
    )
    func `the handshake goes on when a datagram of it is lost`(loss: Loss) async throws {
        let pair = try await pair { way, number, datagram in
            way == loss.way && number == loss.number ? [] : [datagram]
        }
        pair.server.receiveMessage()
        pair.client.send("hello")
        await eventually("hello") { pair.server.received.values == [.message("hello")] }
    }

    @Test func `a client that misses the last word hears it again, though the server's program receives nothing`()
        async throws
    {
        // The server's last flight begins with a change of the cipher, content type 20.
        let lost = Record<Data>()
        let pair = try await pair { way, _, datagram in
            guard way == .toClient, datagram.first == 20, lost.values.isEmpty else { return [datagram] }
            lost.append(datagram)
            return []
        }
        #expect(lost.values.count == 1)
        pair.client.receiveMessage()
        pair.server.send("hello")
        await eventually("hello") { pair.client.received.values == [.message("hello")] }
    }

    @Test func `whoever does not answer is asked again, less and less often, and waited for in the end`() async throws {
        let nobody = try WatchedListener(.udp)
        let (relay, port) = try await Relay.start(to: await nobody.start()) { _, _, _ in [] }
        let client = Watched(to: "127.0.0.1", port, NWParameters(dtls: certificates.clientOptions()))
        client.receiveMessage()
        client.send("hello")
        client.start()
        await eventually("three times") { relay.seen.values.count == 3 }
        #expect(client.state == .preparing)
        await eventually("waiting, but \(client.state)") { client.state == .waiting(.posix(.ETIMEDOUT)) }
        // After 1, 3, 7 and 15 seconds of 30: the next time would be the 31st.
        #expect((4...5).contains(relay.seen.values.count))
        #expect(client.received.values.isEmpty && client.sent.values.isEmpty)
        client.connection.cancel()
        await eventually("told") { client.received.values == [.failed(.posix(.ECANCELED))] }
    }

    @Test func `everything twice and in disorder is the same handshake`() async throws {
        let pair = try await pair { way, number, datagram in
            guard way == .toClient, number == 1 else { return [datagram, datagram] }
            return [Data("nonsense".utf8), datagram.dropFirst(5), datagram]
        }
        pair.server.receiveMessage()
        pair.server.receiveMessage()
        pair.client.send("one")
        pair.client.send("two")
        await eventually("once each") { pair.server.received.values == [.message("one"), .message("two")] }
    }

    @Test func `what is made up, changed or said again counts for nothing`() async throws {
        let pair = try await pair { way, _, datagram in
            // Content, of type 23, arrives behind two copies that were changed, and is said again.
            guard datagram.first == 23 else { return [datagram] }
            var (early, late) = (datagram, datagram)
            early[12] ^= 1
            late[datagram.count - 1] ^= 1
            return [early, late, datagram, datagram]
        }
        for way in [Relay.Way.toServer, .toClient] {
            pair.relay.inject(way, Data("nonsense".utf8))
            pair.relay.inject(way, Data())
            pair.relay.inject(way, Data(repeating: 0x17, count: 60_000))
            // An alert that is not protected: fatal, handshake_failure.
            pair.relay.inject(way, Data([21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 99, 0, 2, 2, 40]))
        }
        // The first words of the handshake as well.
        let said = pair.relay.seen.values
        for (way, datagram) in said { pair.relay.inject(way, datagram) }
        for number in 0..<20 {
            pair.client.receiveMessage()
            pair.server.receiveMessage()
            pair.client.send("to server \(number)")
            pair.server.send("to client \(number)")
        }
        await eventually("all") { pair.client.received.values.count == 20 && pair.server.received.values.count == 20 }
        #expect(pair.server.received.values == (0..<20).map { .message("to server \($0)") })
        #expect(pair.client.received.values == (0..<20).map { .message("to client \($0)") })
        #expect(pair.client.state == .ready && pair.server.state == .ready)
    }

    @Test func `a lost message is lost, and those behind it come`() async throws {
        let lost = Record<Data>()
        let pair = try await pair { _, _, datagram in
            guard datagram.first == 23, lost.values.isEmpty else { return [datagram] }
            lost.append(datagram)
            return []
        }
        pair.server.receiveMessage()
        pair.server.receiveMessage()
        for word in ["one", "two", "three"] { pair.client.send(word) }
        await eventually("two of them") { pair.server.received.values == [.message("two"), .message("three")] }
        #expect(pair.client.sent.values == [nil, nil, nil])
    }
}
