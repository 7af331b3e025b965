// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Network

/// Hands what one says to all who are there, over WebSocket.
final class WebSocketRoom {
    private let listener: NWListener
    private var members: [NWConnection] = []

    init(port: UInt16) throws {
        let parameters = NWParameters(tls: nil)
        parameters.allowLocalEndpointReuse = true
        let options = NWProtocolWebSocket.Options()
        options.autoReplyPing = true
        options.maximumMessageSize = 1_000
        options.setClientRequestHandler(.main) { subprotocols, headers in
            let isWanted = subprotocols.contains("room")
            return NWProtocolWebSocket.Response(
                status: isWanted ? .accept : .reject,
                subprotocol: isWanted ? "room" : nil,
                additionalHeaders: [(name: "X-Headers", value: "\(headers.count)")]
            )
        }
        parameters.defaultProtocolStack.applicationProtocols.insert(options, at: 0)
        listener = try NWListener(using: parameters, on: NWEndpoint.Port(rawValue: port) ?? .any)
    }

    func open() {
        listener.stateUpdateHandler = { state in
            if case .ready = state { print("room open") }
        }
        listener.newConnectionHandler = { [weak self] in self?.welcome($0) }
        listener.start(queue: .main)
    }

    private func welcome(_ connection: NWConnection) {
        connection.stateUpdateHandler = { [weak self] state in
            switch state {
            case .ready:
                self?.members.append(connection)
                self?.say("welcome", to: connection)
            case .failed(let error):
                print("failed: \(error)")
                connection.cancel()
            case .cancelled: self?.members.removeAll { $0 === connection }
            default: break
            }
        }
        connection.start(queue: .main)
        listen(to: connection)
    }

    private func listen(to connection: NWConnection) {
        connection.receiveMessage { [weak self] content, context, _, error in
            guard error == nil, let context = context, !context.isFinal else { return connection.cancel() }
            let metadata = context.protocolMetadata(definition: NWProtocolWebSocket.definition)
            guard let message = metadata as? NWProtocolWebSocket.Metadata else { return }
            let text = String(decoding: content ?? Data(), as: UTF8.self)
            switch message.opcode {
            case .text:
                print("heard \(text)")
                self?.members.forEach { self?.say(text, to: $0) }
            case .close:
                if case .privateCode(let code) = message.closeCode { print("left with \(code): \(text)") }
            default: break
            }
            self?.listen(to: connection)
        }
    }

    private func say(_ text: String, to connection: NWConnection) {
        let metadata = NWProtocolWebSocket.Metadata(opcode: .text)
        let context = NWConnection.ContentContext(identifier: "text", metadata: [metadata])
        connection.send(
            content: text.data(using: .utf8),
            contentContext: context,
            isComplete: true,
            completion: .contentProcessed { error in
                if let error = error { print("cannot say \(text): \(error)") }
            }
        )
    }
}

/// Goes into a room, says what it was told to say, and leaves when all of it came back.
final class RoomGuest {
    private let connection: NWConnection
    private var rest: [String]

    init(_ url: URL, subprotocol: String, words: [String]) {
        let parameters = NWParameters.tcp
        let options = NWProtocolWebSocket.Options(.version13)
        options.setSubprotocols([subprotocol])
        options.setAdditionalHeaders([(name: "X-Guest", value: "yes")])
        parameters.defaultProtocolStack.applicationProtocols.insert(options, at: 0)
        connection = NWConnection(to: .url(url), using: parameters)
        rest = words
    }

    func enter() {
        connection.stateUpdateHandler = { [weak self] state in
            switch state {
            case .ready: self?.entered()
            case .waiting(let error), .failed(let error):
                print("not let in: \(error)")
                exit(1)
            case .cancelled: exit(0)
            default: break
            }
        }
        connection.start(queue: .main)
    }

    private func entered() {
        let metadata = connection.metadata(definition: NWProtocolWebSocket.definition) as? NWProtocolWebSocket.Metadata
        let headers = metadata?.additionalServerHeaders?.map { "\($0.0)=\($0.1)" }.joined() ?? ""
        print("entered \(metadata?.selectedSubprotocol ?? "-") \(headers)")
        let ping = NWProtocolWebSocket.Metadata(opcode: .ping)
        ping.setPongHandler(.main) { error in print(error.map { "no pong: \($0)" } ?? "pong") }
        connection.send(
            content: "ping".data(using: .utf8),
            contentContext: NWConnection.ContentContext(identifier: "ping", metadata: [ping]),
            completion: .idempotent
        )
        listen()
    }

    private func listen() {
        connection.receiveMessage { [weak self] content, context, isComplete, error in
            guard let self = self, let content = content, isComplete, error == nil else { return }
            let metadata = context?.protocolMetadata(definition: NWProtocolWebSocket.definition)
            guard (metadata as? NWProtocolWebSocket.Metadata)?.opcode == .text else { return }
            print("heard \(String(decoding: content, as: UTF8.self))")
            if self.rest.isEmpty {
                self.leave()
            } else {
                self.say(self.rest.removeFirst())
            }
            self.listen()
        }
    }

    private func say(_ text: String) {
        let metadata = NWProtocolWebSocket.Metadata(opcode: .text)
        connection.send(
            content: text.data(using: .utf8),
            contentContext: NWConnection.ContentContext(identifier: text, metadata: [metadata]),
            completion: .idempotent
        )
    }

    private func leave() {
        let metadata = NWProtocolWebSocket.Metadata(opcode: .close)
        metadata.closeCode = .privateCode(4000)
        connection.send(
            content: "tired".data(using: .utf8),
            contentContext: NWConnection.ContentContext(identifier: "close", metadata: [metadata]),
            completion: .contentProcessed { [connection] _ in connection.cancel() }
        )
    }
}

extension ArticlePrograms {
    static func openRoom(_ port: String) async {
        guard let number = UInt16(port), let room = try? WebSocketRoom(port: number) else { return print("no port") }
        room.open()
        await waitForever()
        withExtendedLifetime(room) {}
    }

    static func enterRoom(_ address: String, _ subprotocol: String, _ words: [String]) async {
        guard let url = URL(string: address) else { return print("no address") }
        let guest = RoomGuest(url, subprotocol: subprotocol, words: words)
        guest.enter()
        await waitForever()
        withExtendedLifetime(guest) {}
    }
}
