// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// WebSocket between connections and listeners of the library.
@Suite(.inNamespace) struct WebSocketPairTests {
    private let loop = Namespace.current.loop

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    private func pair(
        client change: (NWProtocolWebSocket.Options) -> Void = { _ in },
        server: (NWProtocolWebSocket.Options) -> Void = { _ in },
        path: String = "/"
    ) async throws -> (Watched, Watched) {
        let listener = try WatchedListener(NWParameters.tcp.webSocket(server))
        let port = await listener.start()
        let client = Watched("ws", port, path, NWParameters.tcp.webSocket(change)).start()
        await eventually("both, but \(client.state)") {
            client.state == .ready && listener.accepted.values.last?.state == .ready
        }
        return (client, try #require(listener.accepted.values.last))
    }

    @Test func `messages go both ways, with their kind`() async throws {
        let (client, server) = try await pair()
        server.receiveAll()
        client.say(.text, "grün")
        client.say(.binary, "bytes")
        client.send("without metadata")
        client.say(.text, "")
        client.say(.binary, nil)
        await eventually("five") { server.heard.count == 5 }
        #expect(server.heard == ["text grün", "binary bytes", "binary without metadata", "text ", "binary "])
        #expect(server.received.values.allSatisfy { $0.isComplete && $0.isFinal == false })
        client.receiveAll()
        server.say(.text, "answer")
        await eventually("the answer") { client.heard == ["text answer"] }
        await eventually("all sent") { client.sent.values == [nil, nil, nil, nil, nil] }
        #expect(client.states.values == [.preparing, .ready] && client.connection.maximumDatagramSize == 0)
        let tcp = client.connection.metadata(definition: NWProtocolTCP.definition)
        #expect(tcp is NWProtocolTCP.Metadata, "the protocols below are there as well")
    }

    @Test func `a message is sent when all of its parts are there, and may be received in parts`() async throws {
        let (client, server) = try await pair()
        let context = NWConnection.ContentContext(
            identifier: "long",
            metadata: [NWProtocolWebSocket.Metadata(opcode: .text)]
        )
        client.send("hel", context, isComplete: false)
        client.say(.text, "between")
        client.send("lo", context)
        server.receiveAll()
        await eventually("both") { server.heard == ["text between", "text hello"] }
        client.receive(1, 3)
        client.receive(1, 3)
        server.say(.text, "hello")
        await eventually("both parts") { client.received.values.count == 2 }
        #expect(client.received.values == [Receipt("hel"), .message("lo")])
        #expect(client.heard == ["text hel", "text lo"])
    }

    @Test func `messages of any length come whole and in order`() async throws {
        let (client, server) = try await pair()
        let lengths = [0, 1, 125, 126, 65_535, 65_536, 1_000_000, 5_000_000, 3]
        let received = Record<Data?>()
        @Sendable func next() {
            server.connection.receiveMessage { content, _, _, error in
                received.append(content)
                if error == nil { next() }
            }
        }
        next()
        for length in lengths {
            let bytes = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ length) })
            client.connection.send(
                content: bytes,
                completion: .contentProcessed { [sent = client.sent] in sent.append($0) }
            )
        }
        await eventually("all") { received.values.count == lengths.count }
        for (length, content) in zip(lengths, received.values) {
            let last = length > 0 ? UInt8(truncatingIfNeeded: (length - 1) &* 31 &+ length) : nil
            #expect(content?.count == length && content?.last == last)
        }
        #expect(client.sent.values == lengths.map { _ in nil })
    }

    @Test func `hundreds of small messages are not held up by anything`() async throws {
        let (client, server) = try await pair()
        server.receiveAll()
        client.connection.batch {
            for number in 0..<500 { client.say(.text, "\(number)") }
        }
        await eventually("all") { server.received.values.count == 500 }
        #expect(server.heard == (0..<500).map { "text \($0)" })
    }

    // MARK: - Handshake

    @Test func `a handler answers clients, and both ends know what was agreed upon`() async throws {
        let asked = Record<([String], [String])>()
        let queue = DispatchQueue(label: "asked")
        let (client, server) = try await pair { options in
            options.setSubprotocols(["one"])
            options.setSubprotocols(["two"])
            options.setAdditionalHeaders([
                (name: "Origin", value: "https://example.net"), (name: "Sec-WebSocket-Protocol", value: "three"),
                (name: "Sec-WebSocket-Key", value: "mine"), (name: "Host", value: "example.net"),
            ])
        } server: { options in
            options.setClientRequestHandler(queue) { subprotocols, headers in
                dispatchPrecondition(condition: .onQueue(queue))
                asked.append((subprotocols, headers.map { "\($0.name): \($0.value)" }))
                return NWProtocolWebSocket.Response(
                    status: .accept,
                    subprotocol: "two",
                    additionalHeaders: [(name: "X-Room", value: "1")]
                )
            }
        }
        #expect(asked.values.count == 1 && asked.values.first?.0 == ["one", "two", "three"])
        #expect(asked.values.first?.1 == ["Host: example.net", "Origin: https://example.net"])
        for end in [client, server] {
            #expect(end.webSocket?.selectedSubprotocol == "two")
            #expect(end.webSocket?.additionalServerHeaders?.map { "\($0.0): \($0.1)" } == ["X-Room: 1"])
        }
    }

    @Test func `without a handler the client's first subprotocol is chosen that the server has`() async throws {
        let (client, server) = try await pair {
            $0.setSubprotocols(["a", "b", "c"])
        } server: {
            $0.setSubprotocols(["c", "b"])
        }
        #expect(client.webSocket?.selectedSubprotocol == "b" && server.webSocket?.selectedSubprotocol == "b")
        let (other, _) = try await pair { $0.setSubprotocols(["a"]) }
        #expect(other.webSocket?.selectedSubprotocol == nil)
        #expect(other.webSocket?.additionalServerHeaders?.isEmpty == true)
    }

    @Test func `a handler may refuse, and a subprotocol that was not offered is not sent`() async throws {
        let listener = try WatchedListener(
            NWParameters.tcp.webSocket { options in
                options.setClientRequestHandler(.apart) { subprotocols, _ in
                    .init(status: subprotocols.contains("good") ? .accept : .reject, subprotocol: "other")
                }
            }
        )
        let port = await listener.start()
        let refused = Watched("ws", port, "/", NWParameters.tcp.webSocket())
        refused.say(.text, "secret")
        refused.receive()
        refused.start()
        await eventually("refused, but \(refused.state)") { refused.state == .failed(.posix(.ECONNREFUSED)) }
        await eventually("told") { refused.received.values == [.failed(.posix(.ECONNREFUSED))] }
        await eventually("the sender as well") { refused.sent.values == [.posix(.ECONNREFUSED)] }
        #expect(!refused.states.values.contains(.ready))
        await eventually("the server") {
            listener.accepted.values.first?.state == .failed(.posix(.ECONNABORTED))
        }
        let good = Watched("ws", port, "/", NWParameters.tcp.webSocket { $0.setSubprotocols(["good"]) }).start()
        await eventually("accepted") { good.state == .ready }
        #expect(good.webSocket?.selectedSubprotocol == nil)
    }

    @Test func `fields that would break a line make a connection fail`() async throws {
        let bad: (NWProtocolWebSocket.Options) -> Void = {
            $0.setAdditionalHeaders([(name: "X", value: "a\r\nHost: b")])
        }
        let listener = try WatchedListener(
            NWParameters.tcp.webSocket { options in
                options.setClientRequestHandler(.apart) { _, _ in
                    .init(status: .accept, subprotocol: nil, additionalHeaders: [(name: "X\r\n", value: "")])
                }
            }
        )
        let port = await listener.start()
        let client = Watched("ws", port, "/", NWParameters.tcp.webSocket(bad)).start()
        await eventually("the client") { client.state == .failed(.posix(.EINVAL)) }
        let other = Watched("ws", port, "/", NWParameters.tcp.webSocket()).start()
        await eventually("the server") {
            other.state == .failed(.posix(.ECONNREFUSED))
                && listener.accepted.values.last?.state == .failed(.posix(.ECONNABORTED))
        }
    }

    @Test func `two who have shaken hands otherwise need no handshake`() async throws {
        let (client, server) = try await pair {
            $0.skipHandshake = true
        } server: {
            $0.skipHandshake = true
        }
        server.receiveAll()
        client.say(.text, "at once")
        await eventually("it") { server.heard == ["text at once"] }
        #expect(client.webSocket?.additionalServerHeaders == nil)
    }

    // MARK: - Pings

    @Test func `a pong handler is called once, though nobody receives`() async throws {
        let (client, server) = try await pair(server: { $0.autoReplyPing = true })
        let pongs = Record<NWError?>()
        client.say(.ping, "one") { pongs.append($0) }
        await eventually("a pong") { pongs.values == [nil] }
        client.say(.ping, nil) { pongs.append($0) }
        client.say(.ping, nil) { pongs.append($0) }
        await eventually("two more") { pongs.values == [nil, nil, nil] }
        #expect(client.received.values.isEmpty && server.received.values.isEmpty)
        client.receiveAll()
        client.say(.ping, "plain")
        await eventually("a pong for the program") { client.heard == ["pong plain"] }
    }

    @Test func `pings are received unless they are answered`() async throws {
        let (client, server) = try await pair()
        let pongs = Record<NWError?>()
        server.receiveAll()
        client.say(.ping, "one") { pongs.append($0) }
        client.say(.ping, "two") { pongs.append($0) }
        await eventually("both") { server.heard == ["ping one", "ping two"] }
        #expect(pongs.values.isEmpty)
        server.say(.pong, "two")
        await eventually("the latest answers all") { pongs.values == [nil, nil] }
        client.say(.ping, "three") { pongs.append($0) }
        await eventually("the third") { server.heard.last == "ping three" }
        server.connection.cancel()
        await eventually("no answer") { pongs.values.last == .posix(.ENOTCONN) }
    }

    // MARK: - Closing

    @Test func `a close comes as a message, with its code and reason, and then the end`() async throws {
        let (client, server) = try await pair()
        server.receiveAll()
        client.receiveAll()
        client.say(.text, "last")
        client.say(.close, "see you", code: .privateCode(4001))
        client.say(.text, "too late")
        await eventually("the end") { server.heard.last == "end" && client.heard.last == "end" }
        #expect(server.heard == ["text last", "close 4001 see you", "end"])
        #expect(client.heard == ["close 4001 ", "end"], "the answer has the code")
        #expect(client.sent.values == [nil, nil, .posix(.ENOTCONN)])
        #expect(client.state == .ready && server.state == .ready, "a close is no failure")
        server.receive()
        await eventually("no more data") { server.received.values.last?.error == .posix(.ENODATA) }
        server.say(.text, "too late")
        await eventually("told") { server.sent.values == [.posix(.ENOTCONN)] }
    }

    @Test(
        arguments: [
            (.protocolCode(.noStatusReceived), nil, "close 1005 "), (.protocolCode(.goingAway), nil, "close 1001 "),
            (.applicationCode(3999), "a", "close 3999 a"), (.applicationCode(1013), nil, "close 1013 "),
            (.privateCode(4000), String(repeating: "x", count: 123), "close 4000 "),
        ] as [(NWProtocolWebSocket.CloseCode, String?, String)]
    )
    func `codes go over as they are`(
        code: NWProtocolWebSocket.CloseCode,
        reason: String?,
        heard: String
    ) async throws {
        let (client, server) = try await pair()
        server.receiveAll()
        client.say(.close, reason, code: code)
        await eventually("the close") { server.heard.last == "end" }
        #expect(server.heard.first?.hasPrefix(heard) == true && server.received.values.first?.text == reason ?? "")
        let context = server.contexts.values.first.flatMap { $0 }
        let metadata = context?.protocolMetadata(definition: NWProtocolWebSocket.definition)
        #expect((metadata as? NWProtocolWebSocket.Metadata)?.closeCode == code)
    }

    @Test func `what cannot be sent is refused alone`() async throws {
        let (client, server) = try await pair()
        server.receiveAll()
        let long = String(repeating: "x", count: 126)
        client.say(.ping, long)
        client.say(.pong, long)
        client.say(.close, long)
        client.say(.cont, "x")
        client.say(.close, nil, code: .protocolCode(.abnormalClosure))
        client.say(.close, nil, code: .protocolCode(.tlsHandshake))
        client.say(.close, nil, code: .applicationCode(5000))
        client.say(.close, "reason", code: .protocolCode(.noStatusReceived))
        let text = NWConnection.ContentContext(identifier: "", metadata: [NWProtocolWebSocket.Metadata(opcode: .text)])
        client.connection.send(
            content: Data([0xC3]),
            contentContext: text,
            completion: .contentProcessed { [sent = client.sent] in sent.append($0) }
        )
        client.say(.text, "good")
        await eventually("the good one") { server.heard == ["text good"] }
        let (size, invalid) = (NWError.posix(.EMSGSIZE), NWError.posix(.EINVAL))
        await eventually("all told") { client.sent.values.count == 10 }
        #expect(
            client.sent.values == [size, size, size, invalid, invalid, invalid, invalid, invalid, invalid, nil]
        )
    }

    @Test func `the final message is followed by a close, and cancelling closes as well`() async throws {
        let (client, server) = try await pair()
        server.receiveAll()
        client.send("last", .finalMessage)
        client.send("too late")
        await eventually("the end") { server.heard == ["binary last", "close 1000 ", "end"] }
        #expect(client.sent.values == [nil, .posix(.EPIPE)])
        let (other, far) = try await pair()
        far.receiveAll()
        other.say(.text, "still sent")
        other.connection.cancel()
        await eventually("cancelled") { other.state == .cancelled }
        await eventually("the end") { far.heard == ["text still sent", "close 1000 ", "end"] }
        let (bare, end) = try await pair()
        end.receiveAll()
        bare.send(nil, .finalMessage)
        await eventually("the end") { end.heard == ["close 1000 ", "end"] }
        #expect(bare.sent.values == [nil])
    }

    @Test func `a connection that is dropped says goodbye, and one that is forced does not`() async throws {
        let listener = try WatchedListener(NWParameters.tcp.webSocket())
        let port = await listener.start()
        do {
            let client = Watched("ws", port, "/", NWParameters.tcp.webSocket()).start()
            client.say(.text, "hello")
            await eventually("sent") { client.sent.values == [nil] }
        }
        await eventually("the client") { listener.accepted.values.first?.state == .ready }
        let first = try #require(listener.accepted.values.first)
        first.receiveAll()
        await eventually("the end") { first.heard == ["text hello", "close 1000 ", "end"] }
        let forced = Watched("ws", port, "/", NWParameters.tcp.webSocket()).start()
        await eventually("the second") {
            listener.accepted.values.count == 2 && listener.accepted.values[1].state == .ready && forced.state == .ready
        }
        forced.connection.forceCancel()
        await eventually("failed, though nobody receives") {
            listener.accepted.values[1].state == .failed(.posix(.ECONNRESET))
        }
    }

    // MARK: - Limits

    @Test func `a message that is too long ends the connection before it was read`() async throws {
        let (client, server) = try await pair(server: { $0.maximumMessageSize = 1000 })
        server.receiveAll()
        client.receiveAll()
        client.say(.binary, String(repeating: "x", count: 1000))
        client.say(.binary, String(repeating: "x", count: 1001))
        await eventually("failed") { server.state == .failed(.posix(.EMSGSIZE)) }
        await eventually("both ends") { server.heard.count == 2 && client.heard.count == 2 }
        #expect(server.heard.last == "failed \(NWError.posix(.EMSGSIZE).errorCode)")
        #expect(client.heard == ["close 1009 ", "end"])
    }

    @Test func `a reader who does not read holds the sender up, and gets everything later`() async throws {
        let (client, server) = try await pair()
        let block = String(repeating: "x", count: 1 << 20)
        for _ in 0..<32 { client.say(.text, block) }
        let metadata = client.connection.metadata(definition: NWProtocolTCP.definition) as? NWProtocolTCP.Metadata
        await eventually("full") { (metadata?.availableSendBuffer ?? 0) > 0 && !client.sent.values.isEmpty }
        #expect(client.sent.values.count < 32, "nobody has read 32 MiB")
        server.receiveAll()
        await eventually("all") { server.received.values.count == 32 && client.sent.values.count == 32 }
        #expect(server.received.values.allSatisfy { $0.text?.utf8.count == 1 << 20 })
    }
}
