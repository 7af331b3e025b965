// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Metrics
import WebSocketWire

@testable import StatusServer

/// Sends back every message, through the daemon's own HTTP server: the other side of a conformance suite.
enum EchoServer {
    /// Serves for ever on a loopback port.
    static func run(port: UInt16) throws {
        let loop = try EventLoop()
        let server = try MicrohttpdServer(
            loop: loop,
            limits: ServerLimits(),
            hosts: HostPolicy(names: []),
            metrics: HTTPMetrics(),
            handler: answer
        )
        try server.listen(on: .tcp(ScopedAddress(.v4(0x7F00_0001)), port: port))
        loop.run()
        server.close()
    }

    private static func answer(_ request: HTTPRequest, _ responder: any HTTPResponder) {
        do throws(WebSocketServerHandshake.Refusal) {
            let handshake = try WebSocketServerHandshake(
                method: request.method,
                isHTTP11: request.isHTTP11,
                supported: [],
                field: request.field
            )
            let stream = OutgoingStream(limit: OutgoingStream.Limit(chunks: 1 << 20, bytes: 1 << 27))
            let response = HTTPResponse(
                status: 101,
                fields: handshake.fields.map { HTTPField($0.name, $0.value) },
                body: .upgrade(HTTPUpgrade(stream: stream, receive: Echo(stream).receive))
            )
            responder.respond(response, route: "echo")
        } catch {
            responder.respond(HTTPResponse(Problem(status: 426, detail: "\(error)")), route: "echo")
        }
    }
}

/// One connection of the echo server.
private final class Echo {
    private var connection: WebSocketConnection
    private let stream: OutgoingStream

    init(_ stream: OutgoingStream) {
        self.stream = stream
        var options = WebSocketOptions()
        options.longestMessage = 1 << 26
        options.mostOutput = 1 << 26
        connection = WebSocketConnection(role: .server, options: options)
    }

    func receive(_ bytes: [UInt8]) {
        connection.feed(bytes)
        while let event = connection.nextEvent() {
            guard case .message(let message) = event else { continue }
            try? connection.send(message)
        }
        let answer = connection.drainOutput()
        if connection.closeSent { stream.finish(with: answer) } else { _ = stream.send(answer) }
    }
}
