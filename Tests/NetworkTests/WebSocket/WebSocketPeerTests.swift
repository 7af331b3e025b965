// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// WebSocket beside programs in Python that use websockets.
@Suite(.inNamespace) struct WebSocketPeerTests {
    private let loop = Namespace.current.loop

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    /// Starts a server; `before` comes before it, `handle` is the body of its handler, `more` further arguments.
    private func serve(
        _ handle: String,
        more: String = "",
        before: String = ""
    ) async throws -> (PrintingProgram, NWEndpoint.Port) {
        let probe = try WatchedListener()
        let port = await probe.start()
        probe.listener.cancel()
        await eventually("free") { probe.states.values.last == .cancelled }
        let body = handle.split(separator: "\n").map { "    \($0)\n" }.joined()
        let program = """
            \(before)
            def handle(ws):
            \(body)
            with serve(handle, "localhost", $PORT\(more.isEmpty ? "" : ", " + more)) as server: server.serve_forever()
            """
        return (try PrintingProgram(webSocket: program, port: port), port)
    }

    /// Starts a connection, and waits until the server listens.
    private func connect(
        _ port: NWEndpoint.Port,
        _ path: String = "/",
        _ change: (NWProtocolWebSocket.Options) -> Void = { $0.autoReplyPing = true }
    ) async -> Watched {
        let client = Watched("ws", port, path, NWParameters.tcp.webSocket(change)).start()
        await settle(client)
        return client
    }

    private func settle(_ client: Watched) async {
        await eventually("settled") {
            if case .waiting = client.state { client.connection.restart() }
            if case .failed = client.state { return true }
            return client.state == .ready
        }
    }

    // MARK: - Servers in Python

    @Test func `what a server echoes is what was sent, and it knows who asked for what`() async throws {
        let (peer, port) = try await serve(
            """
            say(ws.request.path, ws.request.headers["Host"], ws.request.headers["Authorization"], ws.subprotocol)
            try:
                for message in ws: ws.send(message)
            except ConnectionClosed: say("closed", ws.close_code, ws.close_reason)
            """,
            more: "subprotocols=['chat'], server_header='test'"
        )
        let client = await connect(port, "/room/1?name=a%20b") { options in
            options.setSubprotocols(["other", "chat"])
            options.setAdditionalHeaders([(name: "Authorization", value: "Bearer x")])
        }
        client.receiveAll()
        client.say(.text, "hello, wörld")
        client.say(.binary, "\u{0}bytes")
        client.say(.text, String(repeating: "long ", count: 100_000))
        await eventually("the echo") { client.heard.count == 3 }
        #expect(client.heard[0] == "text hello, wörld" && client.heard[1] == "binary \u{0}bytes")
        #expect(client.heard[2].utf8.count == 500_005)
        #expect(client.webSocket?.selectedSubprotocol == "chat")
        #expect(client.webSocket?.additionalServerHeaders?.contains { $0 == ("Server", "test") } == true)
        client.say(.close, "done", code: .applicationCode(3001))
        await eventually("the end") { client.heard.last == "end" && peer.lines.last == "closed 3001 done" }
        #expect(peer.lines.first == "/room/1?name=a%20b localhost:\(port.rawValue) Bearer x chat")
        #expect(client.heard[3].hasPrefix("close 3001 "))
    }

    @Test func `fragments become one message, with pings in between`() async throws {
        let (peer, port) = try await serve(
            """
            def parts():
                yield "frag"
                pong = ws.ping("between")
                yield "men"
                say("pong", pong.wait(60))
                yield "ted"
            ws.send(parts())
            ws.send([b"1", b"2", b"", b"3"])
            try: ws.recv()
            except ConnectionClosed: say("closed", ws.close_code)
            """
        )
        let client = await connect(port)
        client.receiveAll()
        await eventually("both") { client.heard == ["text fragmented", "binary 123"] }
        client.connection.cancel()
        await eventually("a normal end") { peer.lines == ["pong True", "closed 1000"] }
        await eventually("over") { client.state == .cancelled }
    }

    @Test func `pings go both ways`() async throws {
        let (peer, port) = try await serve(
            """
            say(ws.recv())
            say("pong", ws.ping().wait(60))
            for message in ws: pass
            """
        )
        let client = await connect(port)
        let pongs = Record<NWError?>()
        client.say(.ping, "x") { pongs.append($0) }
        await eventually("the pong") { pongs.values == [nil] }
        client.say(.text, "now you")
        await eventually("theirs, though nobody receives") { peer.lines == ["now you", "pong True"] }
    }

    @Test func `a program may answer pings itself`() async throws {
        let (peer, port) = try await serve(#"say("pong", ws.ping("mine").wait(60))"#)
        let client = await connect(port) { _ in }
        client.receiveAll()
        await eventually("a ping") { client.heard == ["ping mine"] }
        client.say(.pong, "mine")
        await eventually("the pong") { peer.lines == ["pong True"] }
    }

    @Test(arguments: [(1001, ""), (1012, "restart"), (4999, "bye")])
    func `a server's close comes with its code`(code: Int, reason: String) async throws {
        let (peer, port) = try await serve(
            "ws.send('last'); ws.close(\(code), '\(reason)'); say(ws.close_code, ws.close_reason)"
        )
        let client = await connect(port)
        client.receiveAll()
        await eventually("the end") { client.heard == ["text last", "close \(code) \(reason)", "end"] }
        await eventually("the server") { peer.lines.first?.hasPrefix("\(code)") == true }
        #expect(client.state == .ready)
        client.say(.text, "too late")
        await eventually("told") { client.sent.values == [.posix(.ENOTCONN)] }
    }

    @Test func `a server may refuse`() async throws {
        let (peer, port) = try await serve(
            "pass",
            more: "process_request=lambda ws, request: ws.respond(404, 'nothing here')"
        )
        let statuses = Record<Int>()
        let client = await connect(port) { options in
            options.setAnswerHandler { status, _ in statuses.append(status) }
        }
        #expect(client.state == .failed(.posix(.ECONNREFUSED)) && statuses.values == [404])
        let other = await connect(port) { $0.setSubprotocols(["a"]) }
        #expect(other.state == .failed(.posix(.ECONNREFUSED)))
        withExtendedLifetime(peer) {}
    }

    @Test func `a message that is too long is refused with 1009`() async throws {
        let (peer, port) = try await serve(
            """
            ws.send(b"x" * 100)
            try:
                ws.send(b"x" * 101); ws.recv()
            except ConnectionClosed: say("closed", ws.close_code)
            """
        )
        let client = await connect(port) { $0.maximumMessageSize = 100 }
        client.receiveAll()
        await eventually("failed") { client.state == .failed(.posix(.EMSGSIZE)) }
        await eventually("both know") { client.heard.count == 2 && peer.lines == ["closed 1009"] }
        #expect(client.heard.first?.utf8.count == 107)
    }

    @Test func `a server that vanishes makes a connection fail, though nobody receives`() async throws {
        let (peer, port) = try await serve("ws.send('hello'); ws.recv()")
        let client = await connect(port)
        client.receive()
        await eventually("a message") { client.heard == ["text hello"] }
        peer.kill()
        await eventually("failed, but \(client.state)") {
            client.state == .failed(.posix(.ECONNABORTED)) || client.state == .failed(.posix(.ECONNRESET))
        }
        client.receive()
        await eventually("told") { client.received.values.count == 2 && client.received.values.last?.error != nil }
    }

    @Test func `a server is talked to by TLS`() async throws {
        let certificates = try Certificates.shared.get()
        let (peer, port) = try await serve(
            """
            say(ws.request.headers["Host"])
            for message in ws: ws.send(message[::-1])
            say("closed", ws.close_code)
            """,
            more: "ssl=tls",
            before: """
                tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                tls.load_cert_chain("\(certificates.path("server"))", "\(certificates.key("server"))")
                """
        )
        let client = Watched("wss", port, "/", certificates.client().webSocket()).start()
        await settle(client)
        client.receiveAll()
        client.say(.text, "hello")
        client.say(.text, String(repeating: "x", count: 900_000) + "y")
        await eventually("backwards") { client.heard.count == 2 }
        #expect(client.heard.first == "text olleh" && client.heard.last?.hasPrefix("text yx") == true)
        let tls = client.connection.metadata(definition: NWProtocolTLS.definition)
        #expect(tls is NWProtocolTLS.Metadata)
        client.connection.cancel()
        await eventually("closed") { peer.lines == ["localhost:\(port.rawValue)", "closed 1000"] }
        let doubtful = Watched("wss", port, "/", NWParameters.tls.webSocket()).start()
        await eventually("nobody trusts it") {
            if case .failed(.tls) = doubtful.state { true } else { false }
        }
    }

    // MARK: - Clients in Python

    private func listen(
        _ parameters: NWParameters = .tcp,
        _ change: (NWProtocolWebSocket.Options) -> Void = { $0.autoReplyPing = true }
    ) async throws -> (WatchedListener, NWEndpoint.Port) {
        let listener = try WatchedListener(parameters.webSocket(change))
        return (listener, await listener.start())
    }

    private func accepted(_ listener: WatchedListener) async throws -> Watched {
        await eventually("the client") { listener.accepted.values.last?.state == .ready }
        return try #require(listener.accepted.values.last)
    }

    @Test func `a client is served`() async throws {
        let (listener, port) = try await listen { options in
            options.autoReplyPing = true
            options.setClientRequestHandler(.apart) { subprotocols, headers in
                let agent = headers.first { $0.name == "User-Agent" }?.value
                return NWProtocolWebSocket.Response(
                    status: subprotocols == ["a", "b"] ? .accept : .reject,
                    subprotocol: "b",
                    additionalHeaders: [(name: "X-Agent", value: agent ?? "")]
                )
            }
        }
        let peer = try PrintingProgram(
            webSocket: """
                with connect("ws://localhost:$PORT/", subprotocols=["a", "b"], user_agent_header="tester") as ws:
                    say(ws.subprotocol, ws.response.headers["X-Agent"])
                    ws.send("hello"); ws.send(b"bytes"); ws.send(["in ", "three ", "parts"])
                    say(ws.recv())
                    say("pong", ws.ping().wait(60))
                    ws.close(4000, "enough")
                say("closed", ws.close_code)
                """,
            port: port
        )
        let server = try await accepted(listener)
        server.receiveAll()
        await eventually("three") { server.heard == ["text hello", "binary bytes", "text in three parts"] }
        server.say(.text, "welcome")
        await eventually("the end") { server.heard.last == "end" }
        #expect(server.heard[3] == "close 4000 enough")
        await eventually("the client") { peer.lines.count == 4 }
        #expect(peer.lines == ["b tester", "welcome", "pong True", "closed 4000"])
    }

    @Test func `a client that is refused is told so`() async throws {
        let (listener, port) = try await listen { options in
            options.autoReplyPing = true
            options.setClientRequestHandler(.apart) { _, headers in
                let isPage = headers.contains { $0.name.lowercased() == "origin" }
                return .init(
                    status: isPage ? .reject : .accept,
                    subprotocol: nil,
                    additionalHeaders: [(name: "X-Why", value: "pages")]
                )
            }
        }
        let peer = try PrintingProgram(
            webSocket: """
                try:
                    with connect("ws://localhost:$PORT/", origin="https://example.net"): pass
                except InvalidStatus as error: say(error.response.status_code, error.response.headers["X-Why"])
                """,
            port: port
        )
        await eventually("refused") { peer.lines == ["403 pages"] }
        await eventually("failed") {
            listener.accepted.values.first?.state == .failed(.posix(.ECONNABORTED))
        }
    }

    @Test func `a client hears why it is closed`() async throws {
        let (listener, port) = try await listen()
        let peer = try PrintingProgram(
            webSocket: """
                with connect("ws://localhost:$PORT/") as ws:
                    try: ws.recv()
                    except ConnectionClosed: say(ws.close_code, ws.close_reason)
                """,
            port: port
        )
        let server = try await accepted(listener)
        server.say(.close, "maintenance", code: .protocolCode(.goingAway))
        await eventually("told") { peer.lines == ["1001 maintenance"] }
        let next = try PrintingProgram(
            webSocket: """
                with connect("ws://localhost:$PORT/") as ws:
                    for message in ws: say(message)
                    say(ws.close_code)
                """,
            port: port
        )
        await eventually("the second") { listener.accepted.values.count == 2 }
        let second = try await accepted(listener)
        second.say(.text, "last")
        second.connection.cancel()
        await eventually("told") { next.lines == ["last", "1000"] }
        await eventually("over") { second.state == .cancelled }
    }

    @Test func `a client that vanishes makes a connection fail`() async throws {
        let (listener, port) = try await listen()
        let peer = try PrintingProgram(
            webSocket: """
                with connect("ws://localhost:$PORT/") as ws:
                    ws.send("hello"); ws.recv()
                """,
            port: port
        )
        let server = try await accepted(listener)
        server.receive()
        await eventually("a message") { server.heard == ["text hello"] }
        peer.kill()
        await eventually("failed, but \(server.state)") {
            server.state == .failed(.posix(.ECONNABORTED)) || server.state == .failed(.posix(.ECONNRESET))
        }
    }

    @Test func `a client is served by TLS`() async throws {
        let certificates = try Certificates.shared.get()
        let (listener, port) = try await listen(certificates.server())
        let peer = try PrintingProgram(
            webSocket: """
                tls = ssl.create_default_context(cafile="\(certificates.path("authority"))")
                with connect("wss://localhost:$PORT/", ssl=tls, max_size=None) as ws:
                    ws.send("hello" * 200000)
                    say(len(ws.recv()))
                say("closed", ws.close_code)
                """,
            port: port
        )
        let server = try await accepted(listener)
        server.receiveAll()
        await eventually("a message") { server.received.values.first?.text?.utf8.count == 1_000_000 }
        server.say(.text, String(repeating: "x", count: 2_000_000))
        await eventually("closed") { peer.lines == ["2000000", "closed 1000"] }
        await eventually("the end") { server.heard.last == "end" }
    }
}
