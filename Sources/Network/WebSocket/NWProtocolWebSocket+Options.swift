// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Dispatch

extension NWProtocolWebSocket {
    /// How WebSocket behaves.
    public final class Options: NWProtocolOptions {
        typealias Fields = [(name: String, value: String)]
        typealias RequestHandler = @Sendable ([String], [(name: String, value: String)]) -> Response

        struct Values: Sendable {
            var autoReplyPing: Bool = false
            var maximumMessageSize: Int = 0
            var skipHandshake: Bool = false
            var additionalHeaders: Fields = []
            var subprotocols: [String] = []
            var requestHandler: (queue: DispatchQueue, handler: RequestHandler)?
            var answerHandler: (@Sendable (Int, Fields) -> Void)?
        }

        private let storage: Locked<Values>

        private init(_ values: Values) { storage = Locked(values) }

        /// The defaults, for a version of the protocol.
        public convenience init(_ version: Version = .version13) { self.init(Values()) }

        /// A copy of all values.
        var values: Values { storage.value }

        /// The name of the protocol.
        public var name: String { "websocket" }

        /// Options of their own with the same values.
        public func copy() -> Options { Options(values) }

        /// Whether pings are answered without the program; else they are received, and the program sends the pong.
        public var autoReplyPing: Bool {
            get { storage[\.autoReplyPing] }
            set { storage[\.autoReplyPing] = newValue }
        }

        /// The longest message in bytes that is received; 0 is no limit.
        ///
        /// A longer one makes the connection fail with `EMSGSIZE` before it was read; the peer gets 1009.
        public var maximumMessageSize: Int {
            get { storage[\.maximumMessageSize] }
            set { storage[\.maximumMessageSize] = max(0, newValue) }
        }

        /// Whether frames begin at once, because somebody else has shaken hands.
        public var skipHandshake: Bool {
            get { storage[\.skipHandshake] }
            set { storage[\.skipHandshake] = newValue }
        }

        /// Sets header fields of a client's request, such as `Origin` or `Authorization`.
        ///
        /// `Host` replaces that of the endpoint, `Sec-WebSocket-Protocol` offers subprotocols, and other
        /// fields of the handshake itself are left out. A field that would break its line makes the connection fail with
        /// `EINVAL`.
        public func setAdditionalHeaders(_ headers: [(name: String, value: String)]) {
            storage[\.additionalHeaders] = headers
        }

        /// Adds subprotocols: a client offers them, the dearest first, and a server without a handler chooses the
        /// client's first among them.
        public func setSubprotocols(_ subprotocols: [String]) {
            storage[\.subprotocols] = values.subprotocols + subprotocols
        }

        /// Sets who answers a client that wants to connect: called on the queue with the subprotocols that it offers and
        /// the header fields that are not the handshake's own.
        @preconcurrency public func setClientRequestHandler(
            _ queue: DispatchQueue,
            handler:
                @escaping @Sendable (_ subprotocols: [String], _ additionalHeaders: [(name: String, value: String)]) ->
                Response
        ) {
            storage[\.requestHandler] = (queue, handler)
        }

        /// Sets who is notified how a server has answered, also when it refused; called on the engines' thread.
        package func setAnswerHandler(
            _ handler: @escaping @Sendable (_ status: Int, _ fields: [(name: String, value: String)]) -> Void
        ) {
            storage[\.answerHandler] = handler
        }
    }
}
