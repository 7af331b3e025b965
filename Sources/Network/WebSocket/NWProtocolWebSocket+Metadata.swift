// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Dispatch

extension NWProtocolWebSocket {
    /// What a message is, or what both ends of a connection agreed upon.
    public final class Metadata: NWProtocolMetadata {
        struct PongHandler: Sendable {
            let queue: DispatchQueue
            let handler: @Sendable (NWError?) -> Void

            /// Reports that the pong came, or why none will.
            func notify(_ error: NWError?) { queue.async { handler(error) } }
        }

        private struct Values: Sendable {
            var closeCode = CloseCode.protocolCode(.normalClosure)
            var pongHandler: PongHandler?
        }

        /// What both ends agreed upon.
        struct Agreement: Sendable {
            var subprotocol: String?
            var headers: [(String, String)]?
        }

        /// What a message is.
        public let opcode: Opcode
        private let storage = Locked(Values())
        private let agreement: Agreement

        /// Says what a message to be sent is.
        public convenience init(opcode: Opcode) { self.init(opcode, Agreement()) }

        init(_ opcode: Opcode, _ agreement: Agreement, closeCode: CloseCode = .protocolCode(.normalClosure)) {
            self.opcode = opcode
            self.agreement = agreement
            storage[\.closeCode] = closeCode
        }

        /// The protocol.
        public var definition: NWProtocolDefinition { NWProtocolWebSocket.definition }

        /// Why the connection is closed, when the message is a close.
        public var closeCode: CloseCode {
            get { storage[\.closeCode] }
            set { storage[\.closeCode] = newValue }
        }

        /// The subprotocol that the server chose; `nil` when it chose none.
        public var selectedSubprotocol: String? { agreement.subprotocol }

        /// The header fields of the server's answer that are not the handshake's own; `nil` without a handshake.
        public var additionalServerHeaders: [(String, String)]? { agreement.headers }

        /// Sets the handler of the pong to a ping, once it was sent: without an error when it came, with one when the
        /// connection was over before.
        ///
        /// Such a pong is not received as a message.
        @preconcurrency public func setPongHandler(
            _ queue: DispatchQueue,
            handler: @escaping @Sendable (_ error: NWError?) -> Void
        ) {
            storage[\.pongHandler] = PongHandler(queue: queue, handler: handler)
        }

        var pongHandler: PongHandler? { storage[\.pongHandler] }
    }
}
