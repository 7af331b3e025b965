// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// One message, with what protocols say about it.
struct ReceivedMessage: Sendable {
    var bytes: Data
    var metadata: [any NWProtocolMetadata] = []
}

/// Received content and the pending receives: each receive is completed exactly once, in order.
///
/// Pure. A stream completes a request when it has its minimum, a protocol of messages with every
/// message; nothing is to be read without a pending receive (``wanted``).
struct ReceiveQueue<Token> {
    /// How much a program requests.
    struct Request: Hashable, Sendable {
        /// The least number of bytes; fewer come only with the end.
        let minimum: Int
        /// The largest number.
        let maximum: Int
        /// Whether a whole message is wanted, however long; of a stream that is all of it.
        let isMessage: Bool

        /// Bytes within bounds; one byte is the least that can be requested.
        init(minimum: Int, maximum: Int) {
            self.maximum = max(1, maximum)
            self.minimum = min(max(1, minimum), self.maximum)
            isMessage = false
        }

        private init() {
            (minimum, maximum, isMessage) = (.max, .max, true)
        }

        /// A whole message.
        static var message: Request { Request() }
    }

    /// What a request gets.
    struct Completion {
        let token: Token
        let content: Data?
        /// Whether the message, or the stream, ends with this content.
        let isComplete: Bool
        /// Whether nothing comes after it.
        let isFinal: Bool
        let metadata: [any NWProtocolMetadata]
        let error: NWError?
    }

    private enum End {
        case stream
        case reported
        case failure(NWError)
    }

    private let isStream: Bool
    private var requests: [(token: Token, request: Request)] = []
    private var chunks: [ReceivedMessage] = []
    private var buffered = 0
    private var end: End?

    /// A queue for a stream, or for messages.
    init(isStream: Bool) { self.isStream = isStream }

    /// Whether somebody waits.
    private(set) var hasRequests = false

    /// Whether nothing can come any more.
    private(set) var isOver = false

    /// How many bytes are buffered.
    var heldBytes: Int { buffered }

    /// How much of the stream may be read now, or how long a message may be; `nil` without a pending receive.
    var wanted: Int? {
        guard !isOver, let first = requests.first?.request else { return nil }
        return first.isMessage ? Int.max : first.maximum - buffered
    }

    /// Adds a receive.
    mutating func enqueue(_ request: Request, _ token: Token) {
        requests.append((token, request))
        hasRequests = true
    }

    /// Bytes of the stream came.
    mutating func append(_ bytes: Data) { append(ReceivedMessage(bytes: bytes)) }

    /// A message came.
    mutating func append(_ message: ReceivedMessage) {
        chunks.append(message)
        buffered += message.bytes.count
    }

    /// The peer sends no more.
    mutating func finish() {
        guard !isOver else { return }
        isOver = true
        end = .stream
    }

    /// Nothing comes any more, for this reason; what came before is still handed out.
    mutating func fail(_ error: NWError) {
        if case .failure = end { return }
        isOver = true
        end = .failure(error)
    }

    /// The requests that can be completed, in order.
    mutating func completions() -> [Completion] {
        var completions: [Completion] = []
        while let (token, request) = requests.first {
            let completion = isStream ? ofStream(request, token) : ofMessages(request, token)
            guard let completion else { break }
            requests.removeFirst()
            completions.append(completion)
        }
        hasRequests = !requests.isEmpty
        return completions
    }

    /// Completes all requests with an error, and refuses to hold what came.
    mutating func cancel(_ error: NWError) -> [Completion] {
        chunks = []
        buffered = 0
        isOver = true
        end = .failure(error)
        return completions()
    }

    // MARK: - Completing

    private mutating func ofStream(_ request: Request, _ token: Token) -> Completion? {
        if buffered >= request.minimum {
            let bytes = removeBytes(upTo: request.maximum)
            return completed(token, bytes, isLast: hasStreamEnded && buffered == 0)
        }
        switch end {
        case nil: return nil
        case .stream: return completed(token, removeBytes(upTo: .max), isLast: true)
        case .reported:
            let error = NWError.posix(.ENODATA)
            return Completion(token: token, content: nil, isComplete: true, isFinal: true, metadata: [], error: error)
        case .failure(let error):
            let bytes = removeBytes(upTo: request.maximum)
            return Completion(
                token: token,
                content: bytes.isEmpty ? nil : bytes,
                isComplete: false,
                isFinal: false,
                metadata: [],
                error: error
            )
        }
    }

    private var hasStreamEnded: Bool {
        if case .stream = end { true } else { false }
    }

    private mutating func completed(_ token: Token, _ bytes: Data, isLast: Bool) -> Completion {
        if isLast { end = .reported }
        return Completion(
            token: token,
            content: bytes.isEmpty ? nil : bytes,
            isComplete: isLast,
            isFinal: isLast,
            metadata: [],
            error: nil
        )
    }

    private mutating func ofMessages(_ request: Request, _ token: Token) -> Completion? {
        guard let message = chunks.first else {
            switch end {
            case nil: return nil
            case .stream: return completed(token, Data(), isLast: true)
            case .reported: return ofStream(request, token)
            case .failure: return ofStream(request, token)
            }
        }
        let fits = message.bytes.count <= request.maximum
        let bytes = fits ? message.bytes : Data(message.bytes.prefix(request.maximum))
        if fits {
            chunks.removeFirst()
        } else {
            chunks[0].bytes = message.bytes.dropFirst(request.maximum)
        }
        buffered -= bytes.count
        return Completion(
            token: token,
            content: bytes.startIndex == 0 ? bytes : Data(bytes),
            isComplete: fits,
            isFinal: false,
            metadata: message.metadata,
            error: nil
        )
    }

    /// Removes bytes from the front; one chunk that fits is handed on as it is.
    private mutating func removeBytes(upTo limit: Int) -> Data {
        var removed = Data()
        while let first = chunks.first, removed.count < limit {
            let room = limit - removed.count
            if first.bytes.count <= room {
                chunks.removeFirst()
                if removed.isEmpty && first.bytes.startIndex == 0 {
                    removed = first.bytes
                } else {
                    removed += first.bytes
                }
            } else {
                removed += first.bytes.prefix(room)
                chunks[0].bytes = first.bytes.dropFirst(room)
            }
        }
        buffered -= removed.count
        return removed
    }
}
