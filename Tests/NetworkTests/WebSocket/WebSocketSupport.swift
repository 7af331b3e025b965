// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
@testable import Network
import TestSupport

extension NWParameters {
    /// These parameters with WebSocket on top.
    func webSocket(_ change: (NWProtocolWebSocket.Options) -> Void = { _ in }) -> NWParameters {
        let options = NWProtocolWebSocket.Options()
        change(options)
        defaultProtocolStack.applicationProtocols.insert(options, at: 0)
        return self
    }
}

extension Watched {
    /// Connects to a URL of a loopback port.
    convenience init(_ scheme: String, _ port: NWEndpoint.Port, _ path: String = "/", _ parameters: NWParameters) {
        let url = URL(string: "\(scheme)://localhost:\(port.rawValue)\(path)") ?? URL(filePath: "/")
        self.init(NWConnection(to: .url(url), using: parameters))
    }

    /// What both ends agreed upon.
    var webSocket: NWProtocolWebSocket.Metadata? {
        connection.metadata(definition: NWProtocolWebSocket.definition) as? NWProtocolWebSocket.Metadata
    }

    /// Sends a message of a kind.
    func say(
        _ opcode: NWProtocolWebSocket.Opcode,
        _ text: String?,
        code: NWProtocolWebSocket.CloseCode? = nil,
        pong: (@Sendable (NWError?) -> Void)? = nil
    ) {
        let metadata = NWProtocolWebSocket.Metadata(opcode: opcode)
        if let code { metadata.closeCode = code }
        if let pong { metadata.setPongHandler(.apart, handler: pong) }
        send(text, NWConnection.ContentContext(identifier: "message", metadata: [metadata]))
    }

    /// Receives whatever comes, to the end.
    func receiveAll() {
        connection.receiveMessage { [weak self, received, contexts] content, context, isComplete, error in
            contexts.append(context)
            received.append(Receipt(content, context, isComplete, error))
            if error == nil, context?.isFinal == false { self?.receiveAll() }
        }
    }

    /// What came, such as `text hello`, `close 4001 bye`, `end` or `failed 104`.
    var heard: [String] {
        zip(received.values, contexts.values).map { receipt, context in
            if let error = receipt.error { return "failed \(error.errorCode)" }
            if receipt.isFinal == true { return "end" }
            let metadata = context?.protocolMetadata(definition: NWProtocolWebSocket.definition)
            guard let metadata = metadata as? NWProtocolWebSocket.Metadata else { return "bare \(receipt.text ?? "")" }
            let code = metadata.opcode == .close ? " \(metadata.closeCode.number)" : ""
            return "\(metadata.opcode)\(code) \(receipt.text ?? "nil")"
        }
    }
}

extension PrintingProgram {
    /// Starts a program that uses websockets, from PyPI, in the namespace of the test; `$PORT` in it is replaced.
    convenience init(webSocket program: String, port: NWEndpoint.Port) throws {
        let head = """
            import ssl, sys
            from websockets.exceptions import ConnectionClosed, InvalidStatus
            from websockets.sync.client import connect
            from websockets.sync.server import serve

            """
        try self.init(python: head + program.replacingOccurrences(of: "$PORT", with: "\(port.rawValue)"))
    }
}

/// Frames as RFC 6455 section 5.2 has them, for peers that break its rules.
enum RawFrame {
    /// A frame; the mask of a client is all zeros, so that its payload reads as it is.
    static func bytes(
        _ opcode: UInt8,
        _ payload: [UInt8],
        isFinal: Bool = true,
        isMasked: Bool = true
    ) -> Data {
        let length = UInt8(min(payload.count, 125))
        let head: [UInt8] = [(isFinal ? 0x80 : 0) | opcode, (isMasked ? 0x80 : 0) | length]
        return Data(head + (isMasked ? [0, 0, 0, 0] : []) + payload)
    }

    /// A client's request.
    static func request(_ fields: String = "") -> String {
        "GET /chat HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\(fields)\r\n"
    }
}
