// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// Connections and listeners beside programs in Python that use plain sockets.
@Suite(.inNamespace) struct PythonPeerTests {
    private let loop = Namespace.current.loop

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    /// A port that nobody uses.
    private func freePort(_ parameters: NWParameters = .tcp) async throws -> NWEndpoint.Port {
        let listener = try WatchedListener(parameters)
        let port = await listener.start()
        listener.listener.cancel()
        await eventually("cancelled") { listener.states.values.last == .cancelled }
        // A process that another test starts at this moment has the socket open, too, until it runs its program.
        await eventually("free") {
            (try? Namespace.current.run("ss -Hltun sport = :\(port)"))?.isEmpty == true
        }
        return port
    }

    /// Connects once the peer listens: it takes one connection only, so none may be given up.
    private func connect(to port: NWEndpoint.Port) async -> Watched {
        await eventually("a listener") {
            (try? Namespace.current.run("ss -Hltn sport = :\(port)"))?.isEmpty == false
        }
        let client = Watched(to: "127.0.0.1", port).start()
        await eventually("ready") { client.state == .ready }
        return client
    }

    private let server = """
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", $PORT)); s.listen()
        c, _ = s.accept()

        """

    @Test func `what a server in Python echoes is what was sent`() async throws {
        let port = try await freePort()
        let peer = try PythonPeer.start(
            server + """
                while True:
                    data = c.recv(4096)
                    if not data: break
                    c.sendall(data)
                c.close(); sys.stdin.read()
                """,
            port: port
        )
        let client = await connect(to: port)
        client.receive(11, 11)
        client.send("hello ")
        client.send("world")
        await eventually("the echo") { client.received.values == [Receipt("hello world")] }
        client.receive()
        client.send(nil, .finalMessage)
        await eventually("the end") { client.received.values.last == .end }
        #expect(client.state == .ready, "an end is no failure")
        client.connection.cancel()
        await eventually("cancelled") {
            client.states.values == client.states.values.filter { $0 != .failed(.posix(.EIO)) }
        }
        withExtendedLifetime(peer) {}
    }

    @Test func `a peer that has closed its direction still hears`() async throws {
        let port = try await freePort()
        let peer = try PythonPeer.start(
            server + """
                c.sendall(b"only this"); c.shutdown(socket.SHUT_WR)
                data = b""
                while len(data) < 8: data += c.recv(8)
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); c.close()
                sys.stdin.read()
                """,
            port: port
        )
        let client = await connect(to: port)
        client.receiveMessage()
        let all = Receipt("only this", isComplete: true, isFinal: true)
        await eventually("all of it") { client.received.values == [all] }
        #expect(client.state == .ready)
        client.send("question")
        await eventually("sent") { client.sent.values == [nil] }
        // So the kernel calls a reset once the peer has said that it sends no more (tcp_reset).
        await eventually("the reset") { client.state == .failed(.posix(.EPIPE)) }
        withExtendedLifetime(peer) {}
    }

    @Test func `what came before a reset is still handed out`() async throws {
        let port = try await freePort()
        let peer = try PythonPeer.start(
            server + """
                c.sendall(b"last words")
                c.recv(1)
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); c.close()
                sys.stdin.read()
                """,
            port: port
        )
        let client = await connect(to: port)
        let metadata = client.connection.metadata(definition: NWProtocolTCP.definition) as? NWProtocolTCP.Metadata
        await eventually("ten bytes wait") { metadata?.availableReceiveBuffer == 10 }
        client.send("x")
        await eventually("failed") { client.state == .failed(.posix(.ECONNRESET)) }
        client.receive(10, 100)
        client.receive()
        await eventually("both") { client.received.values.count == 2 }
        #expect(client.received.values == [Receipt("last words"), .failed(.posix(.ECONNRESET))])
        withExtendedLifetime(peer) {}
    }

    @Test func `a reader who does not read holds the sender up`() async throws {
        let port = try await freePort()
        let peer = try PythonPeer.start(
            server + """
                c.recv(1); total = 1
                sys.stdin.read()
                while True:
                    data = c.recv(1 << 20)
                    if not data: break
                    total += len(data)
                """,
            port: port
        )
        let client = await connect(to: port)
        let block = Data(count: 1 << 20)
        let done = Record<NWError?>()
        for _ in 0..<64 {
            client.connection.send(content: block, completion: .contentProcessed { done.append($0) })
        }
        let metadata = client.connection.metadata(definition: NWProtocolTCP.definition) as? NWProtocolTCP.Metadata
        await eventually("full") { (metadata?.availableSendBuffer ?? 0) > 0 && !done.values.isEmpty }
        #expect(done.values.count < 64, "nobody has read 64 MiB")
        client.connection.forceCancel()
        await eventually("told") { done.values.count == 64 }
        #expect(done.values.last == .posix(.ECANCELED))
        withExtendedLifetime(peer) {}
    }

    @Test func `a client in Python is served by a listener`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let peer = try RunningCommand(
            [
                "nsenter", "--net=\(Namespace.current.path)", "python3", "-c",
                """
                import socket
                s = socket.create_connection(("::1", \(port.rawValue)))
                s.sendall(b"from python"); s.shutdown(socket.SHUT_WR)
                print(s.makefile().read())
                """,
            ],
            captures: true
        )
        await eventually("the client") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        server.receiveMessage()
        let all = Receipt("from python", isComplete: true, isFinal: true)
        await eventually("all of it") { server.received.values == [all] }
        server.send("from swift", .finalMessage)
        await eventually("sent") { server.sent.values == [nil] }
        #expect(try peer.finish() == "from swift\n")
    }

    @Test func `datagrams go to Python and back, with their marks`() async throws {
        let port = try await freePort(.udp)
        let peer = try PythonPeer.start(
            """
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", $PORT))
            while True:
                data, who = s.recvfrom(65536)
                s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 46 << 2 | 3)
                s.sendto(data[::-1], who)
            """,
            port: port
        )
        let parameters = NWParameters.udp
        (parameters.defaultProtocolStack.internetProtocol as? NWProtocolIP.Options)?.shouldCalculateReceiveTime = true
        // Until the peer listens, a datagram makes the connection fail: each try is a connection of its own.
        let answered = Record<Watched>()
        var last: Watched?
        await eventually("an answer") {
            if last == nil || last?.state == .failed(.posix(.ECONNREFUSED)) {
                let client = Watched(to: "127.0.0.1", port, parameters).start()
                client.receiveMessage()
                client.send("hello")
                last = client
            }
            if let last, last.received.values.first?.text != nil { answered.append(last) }
            return !answered.values.isEmpty
        }
        let client = try #require(answered.values.first)
        #expect(client.received.values == [.message("olleh")])
        let context = try #require(client.contexts.values.first ?? nil)
        let metadata = context.protocolMetadata(definition: NWProtocolIP.definition) as? NWProtocolIP.Metadata
        let ip = try #require(metadata)
        #expect(ip.ecn == .ce && ip.serviceClass == .interactiveVoice && ip.receiveTime > 0)
        withExtendedLifetime(peer) {}
    }
}
