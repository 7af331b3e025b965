// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension NWConnection {
    /// What a piece of content belongs to: a message, or the stream as a whole.
    public final class ContentContext: Sendable {
        /// The name, for people.
        public let identifier: String
        /// After how many milliseconds it is not worth sending any more; 0 never.
        public let expirationMilliseconds: UInt64
        /// What matters more, from 0 to 1; Linux sends in order, and ignores it.
        public let relativePriority: Double
        /// Whether nothing follows: TCP closes its direction when such content is complete.
        public let isFinal: Bool
        /// What is to be sent first; content is sent in order, so that this is always so.
        public let antecedent: ContentContext?
        /// What protocols say about the content, or are to do with it.
        public let protocolMetadata: [any NWProtocolMetadata]

        /// Makes a context.
        /// - Parameters:
        ///   - identifier: The name, for people.
        ///   - expiration: After how many milliseconds the content is not worth sending any more; 0 never.
        ///   - priority: From 0 to 1: what matters more.
        ///   - isFinal: Whether nothing follows.
        ///   - antecedent: What is to be sent first.
        ///   - metadata: What protocols are to do with the content.
        public init(
            identifier: String,
            expiration: UInt64 = 0,
            priority: Double = 0.5,
            isFinal: Bool = false,
            antecedent: ContentContext? = nil,
            metadata: [any NWProtocolMetadata]? = []
        ) {
            self.identifier = identifier
            expirationMilliseconds = expiration
            relativePriority = min(max(priority, 0), 1)
            self.isFinal = isFinal
            self.antecedent = antecedent
            protocolMetadata = metadata ?? []
        }

        /// What one protocol says about the content.
        public func protocolMetadata(definition: NWProtocolDefinition) -> (any NWProtocolMetadata)? {
            protocolMetadata.first { $0.definition == definition }
        }

        /// A message, or a piece of a stream that goes on.
        public static let defaultMessage = ContentContext(identifier: "Default Message")
        /// The last message: TCP closes its direction behind it.
        public static let finalMessage = ContentContext(identifier: "Final Message", isFinal: true)
        /// The stream as a whole: complete content closes this direction of TCP.
        public static let defaultStream = ContentContext(identifier: "Default Stream", isFinal: true)
    }
}

extension NWConnection.ContentContext {
    /// The context of content that came.
    static func received(_ metadata: [any NWProtocolMetadata], isFinal: Bool) -> NWConnection.ContentContext {
        guard !metadata.isEmpty else { return isFinal ? .finalMessage : .defaultMessage }
        return NWConnection.ContentContext(identifier: "Message", isFinal: isFinal, metadata: metadata)
    }

    /// Whether metadata says what kind of WebSocket message the content is, so that it needs no bytes.
    var isWebSocketMessage: Bool { protocolMetadata(definition: NWProtocolWebSocket.definition) != nil }
}
