// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// Connections on the loopback interface of a namespace, to listeners of the library and to peers in Python.
@Suite(.inNamespace) struct NWConnectionTests {
    private let namespace = Namespace.current
    private let loop = Namespace.current.loop

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    /// A client and the connection that the listener made of it.
    private func pair(_ parameters: NWParameters = .tcp) async throws -> (Watched, Watched, WatchedListener) {
        let listener = try WatchedListener(parameters)
        let port = await listener.start()
        let client = Watched(to: "127.0.0.1", port, parameters).start()
        if parameters.defaultProtocolStack.transportProtocol?.name == "udp" { client.send("hello") }
        await eventually("the server's end") { listener.accepted.values.first?.state == .ready }
        await eventually("the client's end") { client.state == .ready }
        return (client, try #require(listener.accepted.values.first), listener)
    }

    @Test func `a connection is prepared, ready and cancelled, and tells it in order`() async throws {
        let (client, server, listener) = try await pair()
        #expect(client.states.values == [.preparing, .ready] && client.viability.values == [true])
        let path = try #require(client.connection.currentPath)
        #expect(path.remoteEndpoint == .hostPort(host: "127.0.0.1", port: listener.listener.port ?? .any))
        #expect(path.localEndpoint == server.connection.endpoint && path.status == .satisfied)
        #expect(path.availableInterfaces.map(\.type) == [.loopback])
        client.connection.cancel()
        client.connection.cancel()
        await eventually("the end") { client.state == .cancelled }
        server.receive()
        await eventually("the server's") { server.received.values == [.end] }
        #expect(client.states.values == [.preparing, .ready, .cancelled])
    }

    @Test func `to an address on this machine it is ready when the start returns`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        // The first one finds out what the path is.
        let first = Watched(to: "127.0.0.1", port).start()
        await eventually("the first one") { first.state == .ready }
        let clients = Record<Watched>()
        await eventually("one at once") {
            let client = Watched(to: "127.0.0.1", port).start()
            clients.append(client)
            return client.connection.state == .ready
        }
        let last = try #require(clients.values.last)
        last.connection.cancel()
        await eventually("its end") { last.states.values.last == .cancelled }
        #expect(last.states.values == [.preparing, .ready, .cancelled] && last.viability.values == [true])
        #expect(last.paths.values.last == last.connection.currentPath && last.paths.values.count == 2)
    }

    @Test func `one that is cancelled from its handler makes room for the next, again and again`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        for _ in 0..<50 {
            let client = Watched(to: "127.0.0.1", port)
            client.connection.stateUpdateHandler = { [states = client.states, connection = client.connection] state in
                states.append(state)
                if state == .ready { connection.cancel() }
            }
            client.start()
            await eventually("its end") { client.states.values.last == .cancelled }
            #expect(client.states.values == [.preparing, .ready, .cancelled] && client.viability.values == [true])
        }
    }

    @Test func `what was sent before the start and before the end arrives`() async throws {
        let listener = try WatchedListener()
        let client = Watched(to: "localhost", await listener.start())
        client.send("early ")
        client.start()
        await eventually("ready") { client.state == .ready && !listener.accepted.values.isEmpty }
        client.send("late")
        client.connection.cancel()
        let server = try #require(listener.accepted.values.first)
        server.receiveMessage()
        let all = Receipt("early late", isComplete: true, isFinal: true)
        await eventually("all of it") { server.received.values == [all] }
        await eventually("the end") { client.state == .cancelled }
        #expect(client.sent.values == [nil, nil])
    }

    @Test func `each receive completes once, with as much as was asked for`() async throws {
        let (client, server, _) = try await pair()
        server.receive(4, 4)
        server.receive(1, 2)
        client.send("ab")
        client.send("cdef")
        await eventually("both") { server.received.values == [Receipt("abcd"), Receipt("ef")] }
        server.receive(10, 20)
        client.send("gh", .finalMessage)
        await eventually("the end") { server.received.values.last == Receipt("gh", isComplete: true, isFinal: true) }
        server.receive()
        await eventually("no more") { server.received.values.last?.error == .posix(.ENODATA) }
        #expect(server.received.values.count == 4)
        // The other direction is open still.
        client.receive()
        server.send("thanks")
        await eventually("the answer") { client.received.values == [Receipt("thanks")] }
        client.send("too late")
        await eventually("refused") { client.sent.values.last == .posix(.EPIPE) }
    }

    @Test func `an empty final message closes one direction`() async throws {
        let (client, server, _) = try await pair()
        server.receiveMessage()
        client.send("all ")
        client.send("of it")
        client.send(nil, .finalMessage)
        await eventually("all") { server.received.values == [Receipt("all of it", isComplete: true, isFinal: true)] }
        client.receiveMessage()
        server.send("and back", .defaultStream)
        await eventually("back") { client.received.values == [Receipt("and back", isComplete: true, isFinal: true)] }
    }

    @Test func `a batch is handed over at once`() async throws {
        let (client, server, _) = try await pair()
        server.receive(9, 9)
        client.connection.batch {
            for piece in ["one", "two", "six"] { client.send(piece) }
            #expect(client.sent.values.isEmpty)
        }
        await eventually("all") { server.received.values == [Receipt("onetwosix")] }
        // The peer may have it before the client's queue has told that it went.
        await eventually("all sent") { client.sent.values == [nil, nil, nil] }
    }

    @Test func `what a batch sends before it cancels has gone`() async throws {
        let (client, server, _) = try await pair()
        server.receive(6, 6)
        client.connection.batch {
            for piece in ["one", "two"] { client.send(piece) }
            client.connection.cancel()
            client.send("late")
        }
        await eventually("both") { server.received.values == [Receipt("onetwo")] }
        await eventually("the end") { client.state == .cancelled }
        await eventually("each is told") { client.sent.values == [nil, nil, .posix(.ECANCELED)] }
    }

    @Test func `much is sent to a reader who asks for little`() async throws {
        let (client, server, _) = try await pair()
        let block = Data((0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let blocks = 64
        for _ in 0..<blocks { client.connection.send(content: block, completion: .idempotent) }
        client.send(nil, .finalMessage)
        let hashes = Record<Data>()
        let done = Record<Bool>()
        @Sendable func next() {
            server.connection.receive(minimumIncompleteLength: 1, maximumLength: 50_000) { content, _, isComplete, _ in
                if let content { hashes.append(content) }
                if isComplete { done.append(true) } else { next() }
            }
        }
        next()
        await eventually("all") { !done.values.isEmpty }
        let all = hashes.values.reduce(into: Data()) { $0 += $1 }
        #expect(all.count == blocks * block.count)
        #expect(all.suffix(block.count) == block && all.prefix(block.count) == block)
    }

    @Test func `refused is waiting, and a restart finds who came`() async throws {
        let first = try WatchedListener()
        let port = await first.start()
        first.listener.cancel()
        let client = Watched(to: "127.0.0.1", port).start()
        await eventually("refused") { client.state == .waiting(.posix(.ECONNREFUSED)) }
        client.send("hello")
        let second = try WatchedListener(.tcp, on: port)
        await eventually("the old one") { first.listener.state == .cancelled }
        #expect(await second.start() == port)
        client.connection.restart()
        await eventually("ready") { client.state == .ready }
        let refused = NWConnection.State.waiting(.posix(.ECONNREFUSED))
        #expect(client.states.values == [.preparing, refused, .preparing, .ready])
        await eventually("sent") { client.sent.values == [nil] }
    }

    @Test func `a connection that waits is cancelled with what waits`() async throws {
        let client = Watched(to: "127.0.0.1", 9).start()
        client.send("hello")
        client.receive()
        await eventually("refused") { client.state == .waiting(.posix(.ECONNREFUSED)) }
        client.connection.cancel()
        await eventually("cancelled") { client.states.values.last == .cancelled && client.received.values.count == 1 }
        #expect(client.received.values == [.failed(.posix(.ECANCELED))])
        #expect(client.sent.values == [.posix(.ECANCELED)])
        client.receive()
        client.send("more")
        await eventually("refused") { client.received.values.count == 2 && client.sent.values.count == 2 }
        await eventually("let go") { client.connection.stateUpdateHandler == nil }
    }

    @Test func `one that is never started is cancelled as well`() async throws {
        let client = Watched(to: "127.0.0.1", 9)
        client.send("hello")
        client.connection.cancel()
        #expect(client.state == .cancelled)
        await eventually("refused") { client.sent.values == [.posix(.ECANCELED)] }
        client.start()
        #expect(client.state == .cancelled && client.connection.queue == nil)
    }

    @Test func `a peer that resets makes the connection fail, and everybody who waits hears why`() async throws {
        let probe = try WatchedListener()
        let port = await probe.start()
        probe.listener.cancel()
        let peer = try PythonPeer.start(
            """
            s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", $PORT)); s.listen()
            c, _ = s.accept(); c.sendall(b"abc"); c.recv(1)
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); c.close()
            s.close(); sys.stdin.read()
            """,
            port: port
        )
        let client = Watched(to: "127.0.0.1", port).start()
        await eventually("ready") {
            if case .waiting = client.state { client.connection.restart() }
            return client.state == .ready
        }
        client.receive(3, 3)
        await eventually("abc") { client.received.values == [Receipt("abc")] }
        client.receive()
        client.receive()
        client.send("x")
        await eventually("failed") { client.received.values.count == 3 }
        let reset = NWError.posix(.ECONNRESET)
        #expect(client.state == .failed(reset))
        #expect(client.received.values.suffix(2) == [.failed(reset), .failed(reset)])
        client.send("y")
        await eventually("refused") { client.sent.values == [nil, reset] }
        #expect(client.states.values.filter { $0 == .failed(reset) }.count == 1)
        client.connection.cancel()
        await eventually("cancelled") { client.states.values.last == .cancelled }
        withExtendedLifetime(peer) {}
    }

    @Test func `a forced end resets the peer`() async throws {
        let (client, server, _) = try await pair()
        server.receive()
        client.connection.forceCancel()
        await eventually("both") { client.state == .cancelled && server.state == .failed(.posix(.ECONNRESET)) }
        await eventually("told") { server.received.values == [.failed(.posix(.ECONNRESET))] }
    }

    @Test func `dropping the last reference ends a connection gracefully`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let kept = Record<NWConnection.State>()
        do {
            let connection = NWConnection(host: "127.0.0.1", port: port, using: .tcp)
            connection.stateUpdateHandler = { [weak connection] state in
                kept.append(state)
                guard state == .ready else { return }
                connection?.send(content: Data("bye".utf8), completion: .contentProcessed { _ in })
            }
            connection.start(queue: .apart)
            await eventually("ready") { kept.values.last == .ready && !listener.accepted.values.isEmpty }
        }
        let server = try #require(listener.accepted.values.first)
        server.receiveMessage()
        await eventually("the end") { server.received.values.count == 1 }
        #expect(server.received.values.first?.isFinal == true && kept.values == [.preparing, .ready])
    }

    @Test func `metadata tells what TCP holds`() async throws {
        let (client, server, _) = try await pair()
        let metadata = server.connection.metadata(definition: NWProtocolTCP.definition) as? NWProtocolTCP.Metadata
        let tcp = try #require(metadata)
        client.send("hello")
        await eventually("five bytes") { tcp.availableReceiveBuffer == 5 }
        #expect(tcp.availableSendBuffer == 0 && tcp.definition == NWProtocolTCP.definition)
        #expect(server.connection.metadata(definition: NWProtocolUDP.definition) == nil)
        #expect(client.connection.maximumDatagramSize == 0)
        server.connection.cancel()
        await eventually("closed") { server.state == .cancelled }
        #expect(tcp.availableReceiveBuffer == 0)
    }

    @Test func `options reach the socket`() async throws {
        let parameters = NWParameters.tcp
        let tcp = try #require(parameters.defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options)
        let internet = try #require(parameters.defaultProtocolStack.internetProtocol as? NWProtocolIP.Options)
        (tcp.noDelay, tcp.enableKeepalive, tcp.keepaliveIdle, tcp.connectionDropTime) = (true, true, 30, 7)
        internet.hopLimit = 9
        parameters.serviceClass = .interactiveVoice
        let settings = try #require(FlowSettings(parameters))
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        settings.apply(to: socket, isIPv6: false)
        func value(_ level: Int, _ option: Int32) -> Int32 {
            var (value, size): (Int32, socklen_t) = (-1, 4)
            unsafe getsockopt(socket, Int32(level), option, &value, &size)
            return value
        }
        #expect(value(IPPROTO_TCP, TCP_NODELAY) == 1 && value(IPPROTO_TCP, TCP_KEEPIDLE) == 30)
        #expect(value(IPPROTO_TCP, TCP_USER_TIMEOUT) == 7000 && value(Int(SOL_SOCKET), SO_KEEPALIVE) == 1)
        #expect(value(IPPROTO_IP, IP_TTL) == 9 && value(IPPROTO_IP, IP_TOS) == 46 << 2)
    }

    @Test func `a unix socket is a stream`() async throws {
        let scratch = try Scratch()
        let path = scratch.file("socket")
        let client = Watched(NWConnection(to: .unix(path: path), using: .tcp)).start()
        await eventually("waiting") { client.state == .waiting(.posix(.ENOENT)) }
        let parameters = NWParameters.tcp
        parameters.requiredLocalEndpoint = .unix(path: path)
        let listener = try WatchedListener(parameters)
        _ = await listener.start()
        #expect(listener.states.values == [.ready] && listener.listener.port == nil)
        client.connection.restart()
        client.send("hello", .finalMessage)
        await eventually("the server's end") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        server.receiveMessage()
        await eventually("hello") { server.received.values == [Receipt("hello", isComplete: true, isFinal: true)] }
        #expect(server.connection.endpoint == .unix(path: path))
        listener.listener.cancel()
        await eventually("no file") { !FileManager.default.fileExists(atPath: path) }
    }

    @Test func `parameters without a transport make a connection fail`() async throws {
        let client = Watched(NWConnection(host: "127.0.0.1", port: 9, using: NWParameters())).start()
        client.receive()
        await eventually("failed") { client.states.values == [.failed(.posix(.EINVAL))] }
        await eventually("refused") { client.received.values.count == 1 }
    }

    @Test(arguments: ["192.0.2.1", "2001:db8::1"]) func `no route is waiting`(host: String) async throws {
        let client = Watched(to: host, 80).start()
        await eventually("waiting") { client.state == .waiting(.posix(.ENETUNREACH)) }
        client.connection.cancel()
        await eventually("cancelled") { client.state == .cancelled }
    }

    @Test func `a version that is not allowed is not tried`() async throws {
        let parameters = NWParameters.tcp
        (parameters.defaultProtocolStack.internetProtocol as? NWProtocolIP.Options)?.version = .v6
        let client = Watched(to: "127.0.0.1", 80, parameters).start()
        await eventually("waiting") { client.state == .waiting(.posix(.EAFNOSUPPORT)) }
    }
}
