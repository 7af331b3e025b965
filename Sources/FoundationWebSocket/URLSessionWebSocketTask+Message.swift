// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import Network

extension URLSessionWebSocketTask {
    /// One message.
    public enum Message: Sendable {
        /// Any bytes.
        case data(Data)
        /// Text.
        case string(String)
    }

    /// Why a WebSocket is closed (RFC 6455 section 7.4); any number is a code, as on Apple's systems.
    public struct CloseCode: RawRepresentable, Hashable, Sendable {
        /// The number on the wire.
        public let rawValue: Int
        /// Makes a code from its number; never `nil`.
        public init?(rawValue: Int) { self.rawValue = rawValue }
        init(_ number: Int) { rawValue = number }

        /// It is not closed.
        public static let invalid = CloseCode(0)
        /// The purpose was fulfilled.
        public static let normalClosure = CloseCode(1000)
        /// An end goes away.
        public static let goingAway = CloseCode(1001)
        /// An end broke the protocol.
        public static let protocolError = CloseCode(1002)
        /// A kind of message that is not accepted.
        public static let unsupportedData = CloseCode(1003)
        /// The peer gave no code; sent as none.
        public static let noStatusReceived = CloseCode(1005)
        /// There was no close; sent as none.
        public static let abnormalClosure = CloseCode(1006)
        /// A text that is not UTF-8.
        public static let invalidFramePayloadData = CloseCode(1007)
        /// Something that is not accepted.
        public static let policyViolation = CloseCode(1008)
        /// A message that is too long.
        public static let messageTooBig = CloseCode(1009)
        /// The server did not agree to an extension.
        public static let mandatoryExtensionMissing = CloseCode(1010)
        /// The server failed.
        public static let internalServerError = CloseCode(1011)
        /// TLS failed; sent as none.
        public static let tlsHandshakeFailure = CloseCode(1015)
    }
}

extension URLSessionWebSocketTask.CloseCode {
    /// The code of a close that came.
    init(_ code: NWProtocolWebSocket.CloseCode) {
        switch code {
        case .protocolCode(let defined): self.init(Int(defined.rawValue))
        case .applicationCode(let number), .privateCode(let number): self.init(Int(number))
        }
    }

    /// The code as it is sent: one that must not be is sent as none.
    var sendable: NWProtocolWebSocket.CloseCode {
        switch rawValue {
        case 1000...1003, 1007...1011:
            NWProtocolWebSocket.CloseCode.Defined(rawValue: UInt16(rawValue)).map { .protocolCode($0) }
                ?? .protocolCode(.normalClosure)
        case 1012...1014, 3000...3999: .applicationCode(UInt16(rawValue))
        case 4000...4999: .privateCode(UInt16(rawValue))
        default: .protocolCode(.noStatusReceived)
        }
    }

    /// A reason as it is sent: text of 123 bytes at most, and none without a code.
    func sendableReason(_ reason: Data?) -> Data? {
        guard let reason, sendable != .protocolCode(.noStatusReceived) else { return nil }
        var text = String(decoding: reason, as: UTF8.self)
        while text.utf8.count > 123 { text.removeLast() }
        return Data(text.utf8)
    }
}
