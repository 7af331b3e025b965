// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import WebSocketWire

/// Either end of an opening handshake, in the terms of a connection; pure.
enum WebSocketOpening: Sendable {
    typealias Fields = [(name: String, value: String)]

    /// How far it is.
    enum Progress: Sendable {
        /// More bytes are needed.
        case waiting
        /// The server has answered, and the first bytes of its frames are the rest.
        case opened(status: Int, subprotocol: String?, fields: Fields, rest: [UInt8])
        /// A client's request, which is to be answered.
        case requested(WebSocketRequest, rest: [UInt8])
        /// It is over; the peer gets the answer, and a status of 0 is none.
        case failed(NWError, answer: [UInt8], status: Int, fields: Fields)
    }

    case client(WebSocketClientHandshake)
    case server(WebSocketRequest.Reader)

    /// Parses bytes of the peer.
    mutating func parse(_ bytes: [UInt8]) -> Progress {
        switch self {
        case .client(var handshake):
            let progress = Self.parse(bytes, &handshake)
            self = .client(handshake)
            return progress
        case .server(var reader):
            let progress = Self.parse(bytes, &reader)
            self = .server(reader)
            return progress
        }
    }

    private static func parse(_ bytes: [UInt8], _ handshake: inout WebSocketClientHandshake) -> Progress {
        do throws(WebSocketClientHandshake.Failure) {
            switch try handshake.receive(bytes) {
            case .waiting: return .waiting
            case .opened(let subprotocol, let rest):
                return .opened(status: 101, subprotocol: subprotocol, fields: handshake.fields, rest: rest)
            }
        } catch .refused(let status) {
            return .failed(.posix(.ECONNREFUSED), answer: [], status: status, fields: handshake.fields)
        } catch {
            let status = handshake.fields.isEmpty ? 0 : 101
            return .failed(.posix(.EPROTO), answer: [], status: status, fields: handshake.fields)
        }
    }

    private static func parse(_ bytes: [UInt8], _ reader: inout WebSocketRequest.Reader) -> Progress {
        do throws(WebSocketRequest.Failure) {
            guard let (request, rest) = try reader.receive(bytes) else { return .waiting }
            return .requested(request, rest: rest)
        } catch {
            return .failed(.posix(.EPROTO), answer: error.answer, status: 0, fields: [])
        }
    }
}
