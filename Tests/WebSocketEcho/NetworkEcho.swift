// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Network
import Synchronization

/// The same echo by connections and listeners of `Network`, as server and as client.
enum NetworkEcho {
    private static let agent = "nwpath"

    /// Serves for ever on a loopback port.
    static func listen(port: UInt16) throws {
        let parameters = parameters()
        parameters.requiredLocalEndpoint = .hostPort(host: "127.0.0.1", port: NWEndpoint.Port(rawValue: port) ?? .any)
        let listener = try NWListener(using: parameters)
        listener.newConnectionHandler = { connection in
            connection.start(queue: DispatchQueue(label: "echo"))
            echo(connection, first: nil) { _ in }
        }
        listener.start(queue: .global())
        dispatchMain()
    }

    /// Runs all cases of the server at a loopback port, and lets it write its report.
    static func connect(port: UInt16) throws {
        guard let count = try talk("/getCaseCount", port: port).flatMap({ Int($0) }) else {
            throw NWError.posix(.EPROTO)
        }
        for number in 1...max(1, count) { _ = try talk("/runCase?case=\(number)&agent=\(agent)", port: port) }
        _ = try talk("/updateReports?agent=\(agent)", port: port)
        print("\(count) cases were run")
    }

    private static func parameters() -> NWParameters {
        let (parameters, options) = (NWParameters.tcp, NWProtocolWebSocket.Options())
        options.autoReplyPing = true
        options.maximumMessageSize = 1 << 26
        parameters.defaultProtocolStack.applicationProtocols.insert(options, at: 0)
        return parameters
    }

    /// One connection, to its end.
    /// - Returns: The first text that came.
    private static func talk(_ target: String, port: UInt16) throws -> String? {
        guard let url = URL(string: "ws://127.0.0.1:\(port)\(target)") else { return nil }
        let connection = NWConnection(to: .url(url), using: parameters())
        let (first, over) = (Answer(), DispatchSemaphore(value: 0))
        connection.stateUpdateHandler = { state in
            if case .waiting = state { connection.cancel() }
            if case .cancelled = state { over.signal() }
        }
        connection.start(queue: DispatchQueue(label: "talk"))
        echo(connection, first: nil) { text in first.text.withLock { $0 = text } }
        over.wait()
        return first.text.withLock { $0 }
    }

    /// Sends back every message, until there is none.
    private static func echo(
        _ connection: NWConnection,
        first: String?,
        completion: @escaping @Sendable (String?) -> Void
    ) {
        connection.receiveMessage { content, context, _, error in
            guard error == nil, let context, !context.isFinal else {
                completion(first)
                return connection.cancel()
            }
            let metadata = context.protocolMetadata(definition: NWProtocolWebSocket.definition)
            let opcode = (metadata as? NWProtocolWebSocket.Metadata)?.opcode
            if let opcode, opcode == .text || opcode == .binary {
                let metadata = NWProtocolWebSocket.Metadata(opcode: opcode)
                let context = NWConnection.ContentContext(identifier: "echo", metadata: [metadata])
                connection.send(content: content, contentContext: context, completion: .idempotent)
            }
            let text = opcode == .text ? content.map { String(decoding: $0, as: UTF8.self) } : nil
            echo(connection, first: first ?? text, completion: completion)
        }
    }
}

/// What came first.
private final class Answer: Sendable {
    let text = Mutex<String?>(nil)
}
