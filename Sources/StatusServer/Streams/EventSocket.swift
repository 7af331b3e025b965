// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import WebSocketWire

/// What a WebSocket client sends to an event stream: answers to pings, pings of its own, and its close.
///
/// The stream only goes one way, so a message is refused with 1003 and one of more than 4 KiB with 1009 before it is
/// read. Answers go through the stream's queue, between whole frames and within its bound.
final class EventSocket {
    /// The longest message in bytes that is read before it is refused.
    static let longestMessage = 4096

    private var connection: WebSocketConnection
    private let stream: OutgoingStream

    init(_ stream: OutgoingStream) {
        self.stream = stream
        var options = WebSocketOptions()
        options.longestMessage = Self.longestMessage
        options.mostOutput = Self.longestMessage
        connection = WebSocketConnection(role: .server, options: options)
    }

    /// Takes bytes of the client.
    func receive(_ bytes: [UInt8]) {
        guard connection.isReading else { return }
        for event in connection.receive(bytes) {
            // Whatever comes shows that somebody is there.
            stream.isAwaitingAnswer = false
            switch event {
            case .ping, .pong: break
            case .message:
                connection.close(WebSocketClose(.unsupportedData, reason: "this stream accepts no messages"))
            case .closed, .failed: break
            }
        }
        let answer = connection.drainOutput()
        guard !answer.isEmpty else { return }
        // A client that closes gets its answer before what was queued for it; one that is too far behind to be
        // answered is dropped by the next event.
        if connection.closeSent { stream.overflow(with: answer) } else { _ = stream.send(answer) }
    }
}
