// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// The less usual ways to send and to receive.
@Suite(.inNamespace) struct ContentTests {
    private let loop = Namespace.current.loop

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    private func pair() async throws -> (Watched, Watched, WatchedListener) {
        let listener = try WatchedListener()
        let client = Watched(to: "127.0.0.1", await listener.start()).start()
        await eventually("both") { client.state == .ready && listener.accepted.values.first?.state == .ready }
        return (client, try #require(listener.accepted.values.first), listener)
    }

    @Test func `content of any type with bytes is sent`() async throws {
        let (client, server, _) = try await pair()
        server.receive(9, 9)
        client.connection.send(content: [UInt8]("one".utf8), completion: .idempotent)
        client.connection.send(content: "two".data(using: .utf8), completion: .idempotent)
        client.connection.send(content: Array("six".utf8)[...], completion: .idempotent)
        await eventually("all") { server.received.values == [Receipt("onetwosix")] }
    }

    @Test func `a slice of data is sent as what it shows`() async throws {
        let (client, server, _) = try await pair()
        server.receive(3, 3)
        let all = Data("abcdef".utf8)
        client.connection.send(content: all[2..<5], completion: .idempotent)
        await eventually("the slice") { server.received.values == [Receipt("cde")] }
    }

    @Test func `content may come as data of Dispatch`() async throws {
        let (client, server, _) = try await pair()
        let received = Record<String>()
        server.connection.receiveDiscontiguous(minimumIncompleteLength: 5, maximumLength: 5) { content, _, _, error in
            #expect(error == nil)
            received.append(String(decoding: content.map(Array.init) ?? [], as: UTF8.self))
        }
        server.connection.receiveMessageDiscontiguous { content, context, isComplete, _ in
            #expect(isComplete && context?.isFinal == true)
            received.append(String(decoding: content.map(Array.init) ?? [], as: UTF8.self))
        }
        client.send("hello world", .finalMessage)
        await eventually("both") { received.values == ["hello", " world"] }
    }

    @Test func `what has expired before the connection is ready is not sent`() async throws {
        let probe = try WatchedListener()
        let port = await probe.start()
        probe.listener.cancel()
        await eventually("free") { probe.states.values.last == .cancelled }
        let client = Watched(to: "127.0.0.1", port)
        client.send("stale", NWConnection.ContentContext(identifier: "short", expiration: 1))
        client.send("fresh", NWConnection.ContentContext(identifier: "long", expiration: 600_000))
        client.start()
        await loop.eventually("refused", found: client.states.values) {
            client.state == .waiting(.posix(.ECONNREFUSED))
        }
        let listener = try WatchedListener(.tcp, on: port)
        _ = await listener.start()
        client.connection.restart()
        await eventually("ready") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        server.receive(5, 5)
        await eventually("fresh") { server.received.values == [Receipt("fresh")] }
        await eventually("both completions") { client.sent.values.count == 2 }
        #expect(client.sent.values == [.posix(.ETIMEDOUT), nil])
    }

    @Test func `batches may be nested, and what is outside of them goes at once`() async throws {
        let (client, server, _) = try await pair()
        client.connection.batch {
            client.send("a")
            client.connection.batch { client.send("b") }
            server.receive(3, 3)
            client.send("c")
        }
        await eventually("all") { server.received.values == [Receipt("abc")] }
        client.connection.batch {}
        server.receive(1, 1)
        client.send("d")
        await eventually("the next") { server.received.values.last == Receipt("d") }
    }

    @Test func `a batch before the start is handed over with it`() async throws {
        let listener = try WatchedListener()
        let client = Watched(to: "127.0.0.1", await listener.start())
        client.connection.batch {
            client.send("hello ")
            client.send("world", .finalMessage)
        }
        client.start()
        await eventually("the peer") { !listener.accepted.values.isEmpty }
        let server = try #require(listener.accepted.values.first)
        server.receiveMessage()
        let all = Receipt("hello world", isComplete: true, isFinal: true)
        await eventually("all") { server.received.values == [all] }
    }

    @Test func `requests of a connection that waits are kept for when it is ready`() async throws {
        let probe = try WatchedListener()
        let port = await probe.start()
        probe.listener.cancel()
        await eventually("free") { probe.states.values.last == .cancelled }
        let client = Watched(to: "127.0.0.1", port).start()
        await loop.eventually("refused", found: client.states.values) {
            client.state == .waiting(.posix(.ECONNREFUSED))
        }
        client.receive(2, 2)
        client.send("hello")
        #expect(client.connection.currentPath?.remoteEndpoint == nil)
        let listener = try WatchedListener(.tcp, on: port)
        _ = await listener.start()
        client.connection.restart()
        await eventually("the peer") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        server.receive()
        await eventually("hello") { server.received.values == [Receipt("hello")] }
        server.send("ok")
        await eventually("ok") { client.received.values == [Receipt("ok")] }
    }

    @Test func `a URL and a name lead to the same peer`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let url = try #require(URL(string: "any://localhost:\(port.rawValue)/"))
        let clients = [
            Watched(NWConnection(to: .url(url), using: .tcp)),
            Watched(NWConnection(host: "localhost", port: port, using: .tcp)),
        ]
        for client in clients { client.start() }
        await eventually("both") { clients.allSatisfy { $0.state == .ready } }
        #expect(clients[0].connection.endpoint == .url(url))
        let remotes = clients.map { $0.connection.currentPath?.remoteEndpoint }
        #expect(remotes[0] == remotes[1] && remotes[0] != nil)
    }

    @Test func `a connection comes from the port that is required`() async throws {
        let probe = try WatchedListener()
        let own = await probe.start()
        probe.listener.cancel()
        await eventually("free") { probe.states.values.last == .cancelled }
        let listener = try WatchedListener()
        let port = await listener.start()
        let parameters = NWParameters.tcp
        parameters.requiredLocalEndpoint = .hostPort(host: "0.0.0.0", port: own)
        let client = Watched(to: "127.0.0.1", port, parameters).start()
        await eventually("ready") { client.state == .ready && !listener.accepted.values.isEmpty }
        let expected = NWEndpoint.hostPort(host: "127.0.0.1", port: own)
        #expect(listener.accepted.values.first?.connection.endpoint == expected)
        let wrong = NWParameters.tcp
        wrong.requiredLocalEndpoint = .hostPort(host: "::1", port: .any)
        let other = Watched(to: "127.0.0.1", port, wrong).start()
        await eventually("another family") { other.state == .waiting(.posix(.EAFNOSUPPORT)) }
    }

    @Test func `the descriptions say what is connected to what`() async throws {
        let (client, server, listener) = try await pair()
        #expect(client.connection.debugDescription.hasPrefix("NWConnection(127.0.0.1:"))
        #expect(client.connection.debugDescription.hasSuffix("ready)"))
        #expect(listener.listener.debugDescription.hasPrefix("NWListener(port "))
        #expect(server.connection.queue != nil && listener.listener.queue != nil)
        #expect(server.connection.parameters.defaultProtocolStack.transportProtocol?.name == "tcp")
    }
}
