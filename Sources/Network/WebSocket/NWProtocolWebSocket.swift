// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The WebSocket protocol (RFC 6455), for clients and servers, upon TCP or TLS.
///
/// Put its options upon the other protocols:
/// `parameters.defaultProtocolStack.applicationProtocols.insert(NWProtocolWebSocket.Options(), at: 0)`.
public enum NWProtocolWebSocket {
    /// Identifies metadata of WebSocket.
    public static let definition = NWProtocolDefinition("websocket")

    /// A version of the protocol.
    public enum Version: Hashable, Sendable, CaseIterable {
        /// That of RFC 6455, the only one.
        case version13
    }

    /// What a message is, with its number on the wire.
    public enum Opcode: Int, Hashable, Sendable, CaseIterable {
        /// The continuation of a message; messages are whole here, so that none is received, and none can be sent.
        case cont = 0
        /// Text in UTF-8.
        case text = 1
        /// Any bytes.
        case binary = 2
        /// The end, with a code and a reason.
        case close = 8
        /// A ping.
        case ping = 9
        /// A pong.
        case pong = 10
    }

    /// Why a connection is closed (RFC 6455 section 7.4).
    public enum CloseCode: Hashable, Sendable {
        /// A code that the protocol defines.
        public enum Defined: UInt16, Hashable, Sendable, CaseIterable {
            /// The purpose was fulfilled.
            case normalClosure = 1000
            /// A server goes down, or a page was left.
            case goingAway = 1001
            /// The peer broke the protocol.
            case protocolError = 1002
            /// A kind of message that is not accepted.
            case unsupportedData = 1003
            /// The peer gave no code; sent as none.
            case noStatusReceived = 1005
            /// There was no close; cannot be sent.
            case abnormalClosure = 1006
            /// A text that is not UTF-8.
            case invalidFramePayloadData = 1007
            /// Something that is not accepted.
            case policyViolation = 1008
            /// A message that is too long.
            case messageTooBig = 1009
            /// The server did not agree to an extension.
            case mandatoryExtension = 1010
            /// The server failed.
            case internalServerError = 1011
            /// TLS failed; cannot be sent.
            case tlsHandshake = 1015
        }

        /// A code that the protocol defines.
        case protocolCode(Defined)
        /// A code of libraries and frameworks, 3000 to 3999; and those that were registered later, such as 1013.
        case applicationCode(UInt16)
        /// A code of the program, 4000 to 4999.
        case privateCode(UInt16)
    }

    /// A server's answer to a client that wants to connect.
    public struct Response: Sendable {
        /// Whether the client may connect.
        public enum Status: Hashable, Sendable, CaseIterable {
            /// It may.
            case accept
            /// It may not: it is answered with 403, and the connection fails with `ECONNABORTED`.
            case reject
        }

        /// Whether the client may connect.
        public let status: Status
        /// One of the subprotocols that the client offers; another one is not sent.
        public let subprotocol: String?
        /// Further header fields of the answer.
        public let additionalHeaders: [(name: String, value: String)]?

        /// Makes an answer.
        public init(
            status: Status,
            subprotocol: String?,
            additionalHeaders: [(name: String, value: String)]? = nil
        ) {
            self.status = status
            self.subprotocol = subprotocol
            self.additionalHeaders = additionalHeaders
        }
    }
}

extension NWProtocolWebSocket.CloseCode {
    /// The code of a number on the wire; `nil` is a close without a code.
    init(_ number: UInt16?) {
        guard let number else {
            self = .protocolCode(.noStatusReceived)
            return
        }
        if let defined = Defined(rawValue: number) {
            self = .protocolCode(defined)
        } else {
            self = (4000...4999).contains(number) ? .privateCode(number) : .applicationCode(number)
        }
    }

    /// The number on the wire.
    var number: UInt16 {
        switch self {
        case .protocolCode(let code): code.rawValue
        case .applicationCode(let code), .privateCode(let code): code
        }
    }
}
