// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Which end of a connection we are: clients mask what they send, servers do not (RFC 6455 section 5.1).
public enum WebSocketRole: Equatable, Sendable {
    case server
    case client
}

public enum WebSocketMessage: Equatable, Sendable {
    case text(String)
    case binary([UInt8])
}

/// Why a connection is closed (RFC 6455 section 7.4, and IANA's registry of close codes).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let normal = WebSocketCloseCode(rawValue: 1000)
    /// The server stops, or the page is left.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// A kind of message that is not accepted.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// A text that is not UTF-8.
    public static let invalidData = WebSocketCloseCode(rawValue: 1007)
    public static let messageTooLong = WebSocketCloseCode(rawValue: 1009)
    /// The server has too much to do; come back.
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)

    /// Whether the code may be in a frame: 1004 to 1006 and 1015 are for programs, the rest is not assigned.
    public var isSendable: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

public struct WebSocketClose: Equatable, Sendable {
    /// The longest reason in bytes of UTF-8: a control frame has 125 bytes, two of them for the code.
    public static let longestReason = 123
    /// Why; `nil` when the frame was empty (shown to programs as 1005).
    public var code: WebSocketCloseCode?
    public var reason: String

    public init(_ code: WebSocketCloseCode?, reason: String = "") {
        self.code = code
        self.reason = reason
    }

    /// Reads the payload of a close frame.
    /// - Throws: ``WebSocketFailure/malformedClose`` for a lone byte or a code that must not be sent,
    ///   ``WebSocketFailure/invalidText`` for a reason that is not UTF-8.
    init(payload: [UInt8]) throws(WebSocketFailure) {
        guard !payload.isEmpty else {
            self.init(nil)
            return
        }
        guard payload.count >= 2 else { throw .malformedClose }
        let code = WebSocketCloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.isSendable else { throw .malformedClose }
        guard let reason = String(validating: payload[2...], as: UTF8.self) else { throw .invalidText }
        self.init(code, reason: reason)
    }

    /// The payload of a close frame; a reason that is too long is cut between two characters, and a code that may not
    /// be sent makes an empty frame.
    var payload: [UInt8] {
        guard let code, code.isSendable else { return [] }
        var text: [UInt8] = []
        for character in reason {
            let bytes = Array(character.utf8)
            guard text.count + bytes.count <= Self.longestReason else { break }
            text += bytes
        }
        return [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)] + text
    }
}

public enum WebSocketFailure: Error, Equatable, Sendable {
    /// A fragmented or overlong control frame, or a length that is not in its shortest form.
    case malformedFrame
    /// A reserved bit is set, and no extension was agreed upon.
    case reservedBits
    case unknownOpcode(UInt8)
    /// A client did not mask its frame, or a server did.
    case wrongMasking
    case strayContinuation
    /// A new message inside another one.
    case interleavedMessage
    /// A text or a reason that is not UTF-8.
    case invalidText
    /// A message is longer than `limit` bytes.
    case messageTooLong(limit: Int)
    /// A close frame with half a code, or one that must not be sent.
    case malformedClose

    public var closeCode: WebSocketCloseCode {
        switch self {
        case .invalidText: .invalidData
        case .messageTooLong: .messageTooLong
        default: .protocolError
        }
    }
}

public enum WebSocketEvent: Equatable, Sendable {
    case message(WebSocketMessage)
    /// The peer sent a ping; a pong was sent, unless that is left to the program.
    case ping([UInt8])
    /// The peer sent a pong, solicited or not.
    case pong([UInt8])
    /// The peer closes; it was answered, unless it answered itself.
    case closed(WebSocketClose)
    /// The peer broke the protocol and was sent a close frame; nothing more is read.
    case failed(WebSocketFailure)
}

/// Why a message was not accepted.
public enum WebSocketSendError: Error, Equatable, Sendable {
    case closed
    /// So much waits to be sent that nothing is added.
    case full
    /// A part of a text is to follow a part of binary data, or vice versa.
    case mixedKinds
    /// A ping of more than 125 bytes.
    case tooLong
}
