// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public struct WebSocketOptions: Equatable, Sendable {
    /// The longest message in bytes that is accepted; a longer one fails with 1009 before it is read.
    public var longestMessage = 16 << 20
    /// How many bytes may wait to be sent; one message is accepted even when it alone is longer.
    public var mostOutput = 16 << 20
    /// Whether pings are answered without involving the program.
    public var answersPings = true

    public init() {}
}

/// One WebSocket connection after its opening handshake, without a socket: bytes in, events out; messages in, bytes
/// out (RFC 6455 sections 5 to 7).
///
/// wslay reads and writes frames; messages, text, control frames and closing are handled here, because wslay's own
/// event layer refuses the close codes 1012 to 1014 and answers pings whether the program wants it or not.
public struct WebSocketConnection: ~Copyable {
    private static let (continuation, text, binary, close, ping, pong): (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) =
        (0, 1, 2, 8, 9, 10)

    public let role: WebSocketRole
    public let options: WebSocketOptions
    /// Whether a close frame was sent; no message can follow.
    public private(set) var closeSent = false
    public private(set) var closeReceived = false
    /// Why nothing more is read, when the peer broke the protocol.
    public private(set) var failure: WebSocketFailure?

    private var codec: FrameCodec
    private var output: [UInt8] = []
    /// The latest ping that could not be answered for lack of room (only that one must be, section 5.5.3).
    private var lateAnswer: [UInt8]?
    private var incoming: (opcode: UInt8, bytes: [UInt8], check: TextCheck)?
    private var control: [UInt8] = []
    /// The kind of message of which more is to be sent.
    private var outgoing: UInt8?

    /// Makes one end of a connection.
    /// - Parameters:
    ///   - role: Which end.
    ///   - options: Its bounds.
    ///   - makeMask: The masking keys of a client, from the system's source of randomness unless a test gives them.
    public init(
        role: WebSocketRole,
        options: WebSocketOptions = WebSocketOptions(),
        makeMask: @escaping () -> UInt32 = { UInt32.random(in: 0...UInt32.max) }
    ) {
        self.role = role
        self.options = options
        codec = FrameCodec(makeMask: makeMask)
    }

    /// Whether bytes of the peer still mean something.
    public var isReading: Bool { !closeReceived && failure == nil }

    /// Whether both ends said what they had to: a server now closes the transport, and a client waits for that.
    public var isOver: Bool { closeSent && !isReading }

    /// How many bytes wait to be sent.
    public var outputCount: Int { output.count }

    /// Removes and returns the bytes to send.
    public mutating func drainOutput() -> [UInt8] {
        let drained = output
        output = []
        if let payload = lateAnswer, !closeSent {
            lateAnswer = nil
            emit(Self.pong, payload)
        }
        return drained
    }

    /// Appends bytes of the peer, for ``nextEvent()``.
    public mutating func feed(_ bytes: [UInt8]) {
        if isReading { codec.feed(bytes) }
    }

    /// What the peer did next; `nil` when its bytes so far complete no further event.
    ///
    /// Bytes behind an event are not parsed before the next call, so that a message can be answered before the close
    /// that follows it. After ``WebSocketEvent/closed(_:)`` or ``WebSocketEvent/failed(_:)`` comes nothing.
    public mutating func nextEvent() -> WebSocketEvent? {
        do throws(WebSocketFailure) {
            while isReading, let piece = try codec.next() {
                if let event = try handle(piece) { return event }
            }
            return nil
        } catch {
            failure = error
            incoming = nil
            close(WebSocketClose(error.closeCode))
            return .failed(error)
        }
    }

    /// Parses bytes of the peer, for programs that answer no message.
    /// - Returns: Their events, in order.
    public mutating func receive(_ bytes: [UInt8]) -> [WebSocketEvent] {
        feed(bytes)
        var events: [WebSocketEvent] = []
        while let event = nextEvent() { events.append(event) }
        return events
    }
}

// MARK: - Sending

extension WebSocketConnection {
    /// Queues a message, or a part of one.
    ///
    /// Parts of one message are of one kind, and all but the last have `isFinal` false.
    /// - Throws: ``WebSocketSendError``; nothing was queued then.
    public mutating func send(_ message: WebSocketMessage, isFinal: Bool = true) throws(WebSocketSendError) {
        let (opcode, payload) =
            switch message {
            case .text(let text): (Self.text, Array(text.utf8))
            case .binary(let bytes): (Self.binary, bytes)
            }
        guard !closeSent else { throw .closed }
        guard outgoing == nil || outgoing == opcode else { throw .mixedKinds }
        guard output.isEmpty || output.count + payload.count <= options.mostOutput else { throw .full }
        emit(outgoing == nil ? opcode : Self.continuation, payload, isFinal: isFinal)
        outgoing = isFinal ? nil : opcode
    }

    /// Sends a ping; the pong echoes `payload`.
    public mutating func ping(_ payload: [UInt8] = []) throws(WebSocketSendError) {
        try sendControl(Self.ping, payload)
    }

    /// Sends an unsolicited pong.
    public mutating func pong(_ payload: [UInt8] = []) throws(WebSocketSendError) {
        try sendControl(Self.pong, payload)
    }

    /// Closes this end; the peer's messages still come until it closes as well.
    public mutating func close(_ close: WebSocketClose) {
        guard !closeSent else { return }
        emit(Self.close, close.payload)
        closeSent = true
        lateAnswer = nil
    }

    private mutating func sendControl(_ opcode: UInt8, _ payload: [UInt8]) throws(WebSocketSendError) {
        guard !closeSent else { throw .closed }
        guard payload.count <= 125 else { throw .tooLong }
        guard output.count <= options.mostOutput else { throw .full }
        emit(opcode, payload)
    }

    private mutating func emit(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) {
        let frame = codec.encode(opcode, payload, isFinal: isFinal, isMasked: role == .client)
        if output.isEmpty { output = frame } else { output += frame }
    }
}

// MARK: - Receiving

extension WebSocketConnection {
    private mutating func handle(_ piece: FrameCodec.Piece) throws(WebSocketFailure) -> WebSocketEvent? {
        if piece.isStart { try begin(piece) }
        guard piece.opcode < Self.close else {
            control += piece.bytes
            return piece.isEnd ? try handleControl(piece.opcode) : nil
        }
        guard incoming != nil else { throw .strayContinuation }
        incoming?.bytes += piece.bytes
        if incoming?.opcode == Self.text, incoming?.check.accept(piece.bytes) == false { throw .invalidText }
        guard piece.isEnd, piece.isFinal, let message = incoming else { return nil }
        incoming = nil
        guard message.opcode == Self.text else { return .message(.binary(message.bytes)) }
        guard message.check.missing == 0 else { throw .invalidText }
        return .message(.text(String(decoding: message.bytes, as: UTF8.self)))
    }

    private mutating func begin(_ piece: FrameCodec.Piece) throws(WebSocketFailure) {
        guard piece.reserved == 0 else { throw .reservedBits }
        switch piece.opcode {
        case Self.close, Self.ping, Self.pong: control = []
        case Self.continuation: guard incoming != nil else { throw .strayContinuation }
        case Self.text, Self.binary: guard incoming == nil else { throw .interleavedMessage }
        default: throw .unknownOpcode(piece.opcode)
        }
        guard piece.isMasked == (role == .server) else { throw .wrongMasking }
        guard piece.opcode < Self.close else { return }
        if piece.opcode != Self.continuation { incoming = (piece.opcode, [], TextCheck()) }
        let room = options.longestMessage - (incoming?.bytes.count ?? 0)
        guard piece.length <= UInt64(max(0, room)) else { throw .messageTooLong(limit: options.longestMessage) }
    }

    private mutating func handleControl(_ opcode: UInt8) throws(WebSocketFailure) -> WebSocketEvent {
        let payload = control
        control = []
        switch opcode {
        case Self.ping:
            if options.answersPings, !closeSent {
                if output.count < options.mostOutput { emit(Self.pong, payload) } else { lateAnswer = payload }
            }
            return .ping(payload)
        case Self.pong: return .pong(payload)
        default:
            let close = try WebSocketClose(payload: payload)
            closeReceived = true
            incoming = nil
            // The answer repeats the code (section 5.5.1).
            self.close(WebSocketClose(close.code))
            return .closed(close)
        }
    }
}

/// Frames that a server sends to many clients at once: encoded once, not masked, the same for all.
public enum WebSocketServerFrame {
    /// A whole text message; the bytes must be UTF-8.
    public static func text(_ bytes: [UInt8]) -> [UInt8] { encode(1, bytes) }

    /// A ping without content.
    public static let ping = encode(9, [])

    public static func close(_ close: WebSocketClose) -> [UInt8] { encode(8, close.payload) }

    private static func encode(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
        FrameCodec(makeMask: { 0 }).encode(opcode, payload, isMasked: false)
    }
}
