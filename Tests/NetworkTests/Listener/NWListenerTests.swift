// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Dispatch
import Foundation
import Glibc
import LinuxIO
import MulticastDNS
@testable import Network
import TestSupport
import Testing

@Suite(.inNamespace) struct NWListenerTests {
    private let namespace = Namespace.current
    private let loop = Namespace.current.loop

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    @Test func `a listener is ready at a port of both families, and cancelled`() async throws {
        let listener = try WatchedListener()
        #expect(listener.listener.state == .setup && listener.listener.port == nil)
        let port = await listener.start()
        #expect(listener.states.values == [.ready] && port != .any)
        let clients = ["127.0.0.1", "::1"].map { Watched(to: $0, port).start() }
        await eventually("both") { clients.allSatisfy { $0.state == .ready } && listener.accepted.values.count == 2 }
        let endpoints = Set(listener.accepted.values.map(\.connection.endpoint))
        #expect(endpoints == Set(clients.compactMap { $0.connection.currentPath?.localEndpoint }))
        listener.listener.cancel()
        #expect(listener.listener.port == nil)
        await eventually("cancelled") { listener.states.values == [.ready, .cancelled] }
        await eventually("let go") { listener.listener.newConnectionHandler == nil }
        // What was accepted goes on.
        clients[0].receive()
        listener.accepted.values.first { $0.connection.endpoint.debugDescription.hasPrefix("127") }?.send("hello")
        await eventually("hello") { clients[0].received.values == [Receipt("hello")] }
    }

    @Test func `it is told that a listener is cancelled when its port is free`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let gate = DispatchSemaphore(value: 0)
        try EngineThread.current().perform { _ in gate.wait() }
        listener.listener.cancel()
        #expect(listener.listener.state == .cancelled)
        // Whatever was told by now has been called.
        listener.listener.queue?.sync {}
        #expect(listener.states.values == [.ready])
        gate.signal()
        await eventually("cancelled") { listener.states.values == [.ready, .cancelled] }
        let client = Watched(to: "127.0.0.1", port).start()
        await loop.eventually("refused", found: client.states.values) {
            client.states.values == [.preparing, .waiting(.posix(.ECONNREFUSED))]
        }
    }

    @Test func `a port in use makes a listener fail once it is started`() async throws {
        let first = try WatchedListener()
        let port = await first.start()
        let second = try WatchedListener(.tcp, on: port)
        #expect(second.listener.state == .setup)
        _ = await second.start()
        await eventually("failed") { second.states.values == [.failed(.posix(.EADDRINUSE))] }
        let udp = try WatchedListener(.udp, on: port)
        #expect(await udp.start() == port)
        let shared = NWParameters.udp
        shared.allowLocalEndpointReuse = true
        let other = try WatchedListener(shared, on: port)
        _ = await other.start()
        await eventually("the first does not share") { other.states.values == [.failed(.posix(.EADDRINUSE))] }
    }

    @Test func `nobody to tell, and no transport, are errors`() async throws {
        let listener = try NWListener(using: .tcp)
        let states = Record<NWListener.State>()
        listener.stateUpdateHandler = { states.append($0) }
        listener.start(queue: .apart)
        await eventually("failed") { states.values == [.failed(.posix(.EINVAL))] }
        #expect(throws: NWError.posix(.EINVAL)) { try NWListener(using: NWParameters()) }
    }

    @Test func `the limit counts down, and those who come later wait until it is raised`() async throws {
        let listener = try WatchedListener()
        listener.listener.newConnectionLimit = 2
        let port = await listener.start()
        let clients = (0..<3).map { _ in Watched(to: "127.0.0.1", port).start() }
        await eventually("three") { clients.allSatisfy { $0.state == .ready } }
        await eventually("two") { listener.accepted.values.count == 2 && listener.listener.newConnectionLimit == 0 }
        listener.listener.newConnectionLimit = 5
        await eventually("the third") { listener.accepted.values.count == 3 }
        #expect(listener.listener.newConnectionLimit == 4)
    }

    @Test func `a connection that nobody keeps is closed`() async throws {
        let listener = try NWListener(using: .tcp)
        listener.newConnectionHandler = { _ in }
        listener.start(queue: .apart)
        await eventually("ready") { listener.port != nil }
        let client = Watched(to: "127.0.0.1", try #require(listener.port)).start()
        client.receive()
        await eventually("closed") { client.received.values == [.end] }
    }

    @Test func `it listens at the address that is required`() async throws {
        let parameters = NWParameters.tcp
        parameters.requiredLocalEndpoint = .hostPort(host: "127.0.0.2", port: .any)
        let listener = try WatchedListener(parameters)
        let port = await listener.start()
        let (wrong, right) = (Watched(to: "127.0.0.1", port).start(), Watched(to: "127.0.0.2", port).start())
        await eventually("both") { wrong.state == .waiting(.posix(.ECONNREFUSED)) && right.state == .ready }
        let away = NWParameters.tcp
        away.requiredLocalEndpoint = .hostPort(host: "192.0.2.1", port: 80)
        let other = try WatchedListener(away)
        _ = await other.start()
        await eventually("failed") { other.states.values == [.failed(.posix(.EADDRNOTAVAIL))] }
    }

    @Test func `one version of the protocol is heard alone`() async throws {
        let parameters = NWParameters.tcp
        (parameters.defaultProtocolStack.internetProtocol as? NWProtocolIP.Options)?.version = .v6
        let port = await (try WatchedListener(parameters)).start()
        let clients = ["127.0.0.1", "::1"].map { Watched(to: $0, port).start() }
        #expect(port != .any)
        await eventually("refused") { clients[0].state != .preparing && clients[0].state != .setup }
        #expect(clients[0].state != .ready)
    }

    // MARK: - UDP

    @Test(arguments: ["127.0.0.1", "::1"])
    func `a listener on the port of one that has connections still gets every new peer`(host: String) async throws {
        let parameters = NWParameters.udp
        parameters.allowLocalEndpointReuse = true
        let first = try WatchedListener(parameters)
        let port = await first.start()
        let old = Watched(to: host, port, .udp).start()
        old.send("first")
        await eventually("the old peer") { first.accepted.values.first?.state == .ready }
        let kept = try #require(first.accepted.values.first)
        kept.receiveMessage()
        await eventually("first") { kept.received.values == [.message("first")] }
        old.send("while it ends")
        first.listener.cancel()
        let second = try WatchedListener(parameters, on: port)
        #expect(await second.start() == port)
        let clients = (0..<24).map { _ in Watched(to: host, port, .udp).start() }
        for (number, client) in clients.enumerated() { client.send("\(number)") }
        await eventually("all of them") { second.accepted.values.count == 24 }
        for server in second.accepted.values {
            server.send("hello")
        }
        for client in clients { client.receiveMessage() }
        await eventually("answers") { clients.allSatisfy { $0.received.values == [.message("hello")] } }
        // The old connection goes on, both ways, and lost nothing.
        kept.receiveMessage()
        kept.receiveMessage()
        old.receiveMessage()
        old.send("later")
        kept.send("back")
        await eventually("the old connection") {
            kept.received.values.map(\.text) == ["first", "while it ends", "later"]
                && old.received.values == [.message("back")]
        }
        #expect(first.accepted.values.count == 1 && second.accepted.values.count == 24)
    }

    @Test func `each peer by UDP is a connection that begins with its first datagram`() async throws {
        let listener = try WatchedListener(.udp)
        let port = await listener.start()
        let clients = ["127.0.0.1", "::1", "127.0.0.1"].map { Watched(to: $0, port, .udp).start() }
        await eventually("ready without a packet") { clients.allSatisfy { $0.state == .ready } }
        #expect(listener.accepted.values.isEmpty)
        for (number, client) in clients.enumerated() { client.send("hello \(number)") }
        await eventually("three") { listener.accepted.values.count == 3 }
        for server in listener.accepted.values { server.receiveMessage() }
        await eventually("the first datagrams") {
            listener.accepted.values.allSatisfy { $0.received.values.count == 1 }
        }
        let first = Set(listener.accepted.values.compactMap { $0.received.values.first?.text })
        #expect(first == ["hello 0", "hello 1", "hello 2"])
        for (server, client) in zip(listener.accepted.values, clients) {
            client.receiveMessage()
            server.send("you said \(server.received.values.first?.text ?? "")")
        }
        await eventually("the answers") { clients.allSatisfy { $0.received.values.count == 1 } }
        #expect(Set(clients.compactMap { $0.received.values.first?.text }).count == 3)
        let metadata = try #require(clients[0].contexts.values.first ?? nil)
        #expect(metadata.protocolMetadata(definition: NWProtocolIP.definition) != nil)
    }

    @Test func `datagrams keep their bounds, also empty ones, and too long ones are refused`() async throws {
        let listener = try WatchedListener(.udp)
        let client = Watched(to: "127.0.0.1", await listener.start(), .udp).start()
        client.send("one")
        client.send("")
        client.send("th", isComplete: false)
        client.send("ree")
        await eventually("the peer") { !listener.accepted.values.isEmpty }
        let server = try #require(listener.accepted.values.first)
        for _ in 0..<3 { server.receiveMessage() }
        await eventually("three") {
            server.received.values == [.message("one"), .message(""), .message("three")]
        }
        #expect(client.sent.values == [nil, nil, nil, nil])
        #expect(client.connection.maximumDatagramSize > 60_000)
        client.send(String(repeating: "x", count: 70_000))
        await eventually("refused") { client.sent.values.last == .posix(.EMSGSIZE) }
        #expect(client.state == .ready)
        server.receive(1, 2)
        server.receive(1, 2)
        client.send("abc")
        await eventually("in parts") { server.received.values.suffix(2) == [Receipt("ab"), .message("c")] }
    }

    @Test func `a port where nobody listens makes a connection by UDP fail`() async throws {
        let client = Watched(to: "127.0.0.1", 9, .udp).start()
        client.receiveMessage()
        client.send("hello")
        await eventually("failed") { client.state == .failed(.posix(.ECONNREFUSED)) }
        await eventually("told") { client.received.values == [.failed(.posix(.ECONNREFUSED))] }
    }

    @Test func `a peer by UDP that is cancelled comes again with its next datagram`() async throws {
        let listener = try WatchedListener(.udp)
        let client = Watched(to: "127.0.0.1", await listener.start(), .udp).start()
        client.send("one")
        await eventually("the peer") { listener.accepted.values.first?.state == .ready }
        listener.accepted.values.first?.connection.cancel()
        await eventually("gone") { listener.accepted.values.first?.state == .cancelled }
        client.send("two")
        await eventually("again") { listener.accepted.values.count == 2 }
        listener.accepted.values.last?.receiveMessage()
        await eventually("two") { listener.accepted.values.last?.received.values == [.message("two")] }
        listener.listener.newConnectionLimit = 0
        let other = Watched(to: "127.0.0.1", listener.listener.port ?? .any, .udp).start()
        other.send("nobody hears")
        await eventually("sent") { other.sent.values == [nil] }
        #expect(listener.accepted.values.count == 2)
    }
}
