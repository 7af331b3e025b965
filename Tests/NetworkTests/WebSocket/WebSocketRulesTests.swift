// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// WebSocket beside peers that do not keep its rules: plain streams of bytes.
@Suite(.inNamespace) struct WebSocketRulesTests {
    private let loop = Namespace.current.loop

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    private func listen(
        _ change: (NWProtocolWebSocket.Options) -> Void = { _ in }
    ) async throws -> (WatchedListener, NWEndpoint.Port) {
        let listener = try WatchedListener(NWParameters.tcp.webSocket(change))
        return (listener, await listener.start())
    }

    private func send(_ bytes: Data, _ peer: Watched) {
        peer.connection.send(content: bytes, completion: .idempotent)
    }

    /// A client of bytes that has shaken hands, and the connection that serves it.
    private func open(
        _ change: (NWProtocolWebSocket.Options) -> Void = { _ in }
    ) async throws -> (Watched, Watched) {
        let (listener, port) = try await listen(change)
        let peer = Watched(to: "localhost", port).start()
        peer.receive(129, 129)
        peer.send(RawFrame.request())
        await eventually("open") {
            listener.accepted.values.first?.state == .ready && peer.received.values.count == 1
        }
        #expect(peer.received.values.first?.text?.hasSuffix("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n") == true)
        return (peer, try #require(listener.accepted.values.first))
    }

    // MARK: - Requests

    @Test(
        arguments: [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "426"), ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", "426"),
            ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", "426"), ("GET / HTTP/1.1\r\n\r\n", "400"),
            ("nonsense\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 17_000), "431"),
        ]
    )
    func `a request that asks for something else is answered`(request: String, status: String) async throws {
        let (listener, port) = try await listen()
        let peer = Watched(to: "localhost", port).start()
        peer.receiveMessage()
        peer.send(request)
        await eventually("an answer") { peer.received.values.first?.isComplete == true }
        #expect(peer.received.values.first?.text?.hasPrefix("HTTP/1.1 \(status) ") == true)
        await eventually("failed") { listener.accepted.values.first?.state == .failed(.posix(.EPROTO)) }
    }

    @Test func `a request may come in pieces, and with the first frames`() async throws {
        let (listener, port) = try await listen()
        let peer = Watched(to: "localhost", port).start()
        let request = Data(RawFrame.request("Sec-WebSocket-Protocol: a\r\n").utf8)
        for part in [request.prefix(3), request.dropFirst(3).prefix(100), request.dropFirst(103).dropLast(1)] {
            send(part, peer)
        }
        await eventually("a client") { !listener.accepted.values.isEmpty }
        let server = try #require(listener.accepted.values.first)
        server.receiveAll()
        #expect(server.state != .ready)
        send(Data("\n".utf8) + RawFrame.bytes(1, Array("early".utf8)), peer)
        await eventually("the message") { server.heard == ["text early"] }
        #expect(server.webSocket?.selectedSubprotocol == nil)
    }

    @Test func `a client that leaves during the handshake makes a connection fail`() async throws {
        let (listener, port) = try await listen()
        let peer = Watched(to: "localhost", port).start()
        peer.send(String(RawFrame.request().prefix(40)), .finalMessage)
        await eventually("failed") { listener.accepted.values.first?.state == .failed(.posix(.ECONNABORTED)) }
    }

    @Test func `a handler may take its time, and its answer may come too late`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let queue = DispatchQueue(label: "slow")
        let asked = Record<Bool>()
        let (listener, port) = try await listen { options in
            options.setClientRequestHandler(queue) { _, _ in
                asked.append(true)
                gate.wait()
                return .init(status: .accept, subprotocol: nil)
            }
        }
        let client = Watched("ws", port, "/", NWParameters.tcp.webSocket()).start()
        await eventually("asked") { asked.values.count == 1 }
        #expect(client.state == .preparing && listener.accepted.values.first?.state == .preparing)
        gate.signal()
        await eventually("ready") { client.state == .ready }
        let other = Watched("ws", port, "/", NWParameters.tcp.webSocket()).start()
        await eventually("asked again") { asked.values.count == 2 }
        let server = try #require(listener.accepted.values.last)
        server.connection.cancel()
        other.connection.cancel()
        await eventually("cancelled") { other.state == .cancelled && server.state == .cancelled }
        gate.signal()
        #expect(!other.states.values.contains(.ready) && !server.states.values.contains(.ready))
    }

    // MARK: - Answers

    @Test func `a client that is cancelled during the handshake ends at once`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let client = Watched("ws", port, "/", NWParameters.tcp.webSocket())
        client.say(.text, "never")
        client.receive()
        client.start()
        await eventually("a request") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        server.receive(100, 10_000)
        await eventually("it") { server.received.values.first?.text?.hasPrefix("GET / HTTP/1.1\r\n") == true }
        #expect(client.state == .preparing)
        client.connection.cancel()
        await eventually("told") {
            client.sent.values == [.posix(.ECANCELED)] && client.received.values == [.failed(.posix(.ECANCELED))]
        }
        #expect(client.states.values == [.preparing, .cancelled])
    }

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\n\r\n", POSIXErrorCode.ECONNREFUSED), ("HTTP/1.1 301 Moved\r\n\r\n", .ECONNREFUSED),
            ("SSH-2.0-OpenSSH_9.2p1\r\n\r\n", .EPROTO), ("HTTP/1.1 101 Switching\r\n\r\n", .EPROTO),
            ("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", .EPROTO),
            ("", .ECONNABORTED),
        ]
    )
    func `an answer that proves nothing makes a connection fail`(answer: String, code: POSIXErrorCode) async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let client = Watched("ws", port, "/", NWParameters.tcp.webSocket()).start()
        await eventually("a request") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        server.receive(100, 10_000)
        await eventually("it") { server.received.values.count == 1 }
        server.send(answer, .finalMessage)
        await eventually("failed, but \(client.state)") { client.state == .failed(.posix(code)) }
    }

    @Test func `nobody who listens is waited for, as by TCP`() async throws {
        let probe = try WatchedListener()
        let port = await probe.start()
        probe.listener.cancel()
        await eventually("free") { probe.states.values.last == .cancelled }
        let client = Watched("ws", port, "/", NWParameters.tcp.webSocket()).start()
        await eventually("waiting") { client.state == .waiting(.posix(.ECONNREFUSED)) }
        let listener = try WatchedListener(NWParameters.tcp.webSocket(), on: port)
        _ = await listener.start()
        client.connection.restart()
        await eventually("ready") { client.state == .ready }
    }

    // MARK: - Frames

    @Test(
        arguments: [
            (RawFrame.bytes(1, [0x61, 0xC3, 0x28]), POSIXErrorCode.EILSEQ, 1007),
            (RawFrame.bytes(1, [0xC3]), .EILSEQ, 1007), (RawFrame.bytes(1, [0x61], isMasked: false), .EPROTO, 1002),
            (RawFrame.bytes(3, []), .EPROTO, 1002), (RawFrame.bytes(0, [0x61]), .EPROTO, 1002),
            (RawFrame.bytes(9, [], isFinal: false), .EPROTO, 1002), (RawFrame.bytes(8, [3]), .EPROTO, 1002),
            (RawFrame.bytes(8, [3, 0xED]), .EPROTO, 1002), (Data([0xC1, 0x80, 0, 0, 0, 0]), .EPROTO, 1002),
            (RawFrame.bytes(1, [], isFinal: false) + RawFrame.bytes(1, []), .EPROTO, 1002),
            (RawFrame.bytes(2, [UInt8](repeating: 0, count: 101)), .EMSGSIZE, 1009),
        ] as [(Data, POSIXErrorCode, Int)]
    )
    func `whoever breaks the rules is told, and the connection fails`(
        frames: Data,
        code: POSIXErrorCode,
        close: Int
    ) async throws {
        let (peer, server) = try await open { $0.maximumMessageSize = 100 }
        server.receiveAll()
        let answer = Record<Data>()
        peer.connection.receiveMessage { content, _, _, _ in answer.append(content ?? Data()) }
        send(RawFrame.bytes(1, Array("good".utf8)), peer)
        await eventually("a message") { server.heard == ["text good"] }
        send(frames, peer)
        await eventually("failed, but \(server.state)") { server.state == .failed(.posix(code)) }
        await eventually("the end") { server.heard == ["text good", "failed \(code.rawValue)"] }
        await eventually("a close") { !answer.values.isEmpty }
        #expect(answer.values.first == Data([0x88, 2, UInt8(close >> 8), UInt8(close & 0xFF)]))
    }

    @Test func `fragments are put together, with control frames in between`() async throws {
        let (peer, server) = try await open { $0.autoReplyPing = true }
        server.receiveAll()
        peer.receive(6, 6)
        send(
            RawFrame.bytes(1, Array("gr".utf8), isFinal: false) + RawFrame.bytes(9, Array("ping".utf8))
                + RawFrame.bytes(0, [0xC3], isFinal: false) + RawFrame.bytes(10, [])
                + RawFrame.bytes(0, [0xBC] + Array("n".utf8)),
            peer
        )
        await eventually("both") { server.heard == ["pong ", "text grün"] }
        await eventually("the pong") { peer.received.values.count == 2 }
        send(RawFrame.bytes(8, []), peer)
        await eventually("the end") { server.heard.last == "end" }
        #expect(server.heard[2] == "close 1005 ")
    }

    @Test func `an end without a close is a failure, though nobody receives`() async throws {
        let (peer, server) = try await open()
        send(RawFrame.bytes(1, [0x61], isFinal: false), peer)
        peer.send(nil, .finalMessage)
        await eventually("failed") { server.state == .failed(.posix(.ECONNABORTED)) }
        let (other, far) = try await open()
        send(RawFrame.bytes(1, Array("last".utf8)) + RawFrame.bytes(2, [0x61], isFinal: false), other)
        other.send(nil, .finalMessage)
        far.receiveAll()
        await eventually("what came before") { far.heard.count == 2 }
        #expect(far.heard == ["text last", "failed \(POSIXErrorCode.ECONNABORTED.rawValue)"])
    }

    @Test func `a peer that does not answer a close is left alone before long`() async throws {
        let (peer, server) = try await open()
        server.say(.text, "last")
        server.connection.cancel()
        await eventually("cancelled") { server.state == .cancelled }
        peer.receiveMessage()
        await eventually("the end") { peer.received.values.count == 2 }
        #expect(peer.received.values.last?.isFinal == true && server.states.values.suffix(2) == [.ready, .cancelled])
    }

    @Test func `what comes while a connection takes leave is thrown away`() async throws {
        let (peer, server) = try await open()
        server.say(.close, nil, code: .protocolCode(.goingAway))
        await eventually("sent") { server.sent.values == [nil] }
        server.connection.cancel()
        send(RawFrame.bytes(1, Array("still here".utf8)) + RawFrame.bytes(8, [3, 0xE9]), peer)
        await eventually("cancelled") { server.state == .cancelled }
        #expect(server.received.values.isEmpty)
    }
}
