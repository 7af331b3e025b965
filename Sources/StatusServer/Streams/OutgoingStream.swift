// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Bytes on their way to one client, in a queue with a bound.
///
/// Whoever produces them never waits: ``send(_:)`` says no when the client is too far behind. Confined to the
/// server's event loop.
@safe public final class OutgoingStream {
    /// How far a client may fall behind.
    public struct Limit: Equatable, Sendable {
        /// The most chunks that may wait.
        public var chunks: Int
        /// The most bytes that may wait.
        public var bytes: Int

        /// Makes a limit; one event is one chunk.
        public init(chunks: Int = 1024, bytes: Int = 1 << 20) {
            self.chunks = chunks
            self.bytes = bytes
        }
    }

    enum Read: Equatable {
        case bytes(Int)
        case wait
        case end
        case broken
    }

    private let limit: Limit
    /// Chunks to send; those before `head` are sent.
    private var chunks: [[UInt8]] = []
    private var head = 0
    /// How much of the first chunk is sent.
    private var offset = 0

    public private(set) var queuedBytes = 0
    /// Whether something waits of which nothing was taken since ``look()``.
    private(set) var isStuck = false
    /// Whether no more will be sent.
    public private(set) var isFinished = false
    public private(set) var isClosed = false

    /// Whether the client was asked for a sign of life that has not come.
    public var isAwaitingAnswer = false

    /// Called when everything is sent, to ask for more; it may call ``send(_:)``.
    public var onDrained: (() -> Void)?
    /// Called once, when the connection is over, whoever ended it.
    public var onClosed: (() -> Void)?

    /// Set by the server: there is something to read again.
    var wake: (() -> Void)?
    /// Set by the server: break the connection off.
    var breakOff: (() -> Void)?
    private var isBroken = false

    /// Makes an empty stream.
    public init(limit: Limit = Limit()) {
        self.limit = limit
    }

    public var queuedChunks: Int { chunks.count - head }

    /// Queues bytes.
    /// - Returns: `false` when the client is too far behind or gone, and nothing was queued.
    public func send(_ bytes: [UInt8]) -> Bool {
        guard !isFinished, !isClosed, queuedChunks < limit.chunks, queuedBytes + bytes.count <= limit.bytes else {
            return false
        }
        guard !bytes.isEmpty else { return true }
        append(bytes)
        return true
    }

    /// Ends the stream after what is queued and `last`, which is sent even over the limit.
    public func finish(with last: [UInt8] = []) {
        guard !isFinished else { return }
        if last.isEmpty { isFinished = true } else { append(last) }
        isFinished = true
        wake?()
    }

    /// Drops what waits, but for a chunk that is partly sent, and ends the stream with `last`.
    public func overflow(with last: [UInt8]) {
        guard !isFinished else { return }
        let partial = offset > 0 && head < chunks.count ? [chunks[head]] : []
        chunks = partial
        head = 0
        queuedBytes = partial.isEmpty ? 0 : partial[0].count - offset
        if partial.isEmpty { offset = 0 }
        finish(with: last)
    }

    /// Breaks the connection off without sending the rest.
    public func abort() {
        guard !isClosed, !isBroken else { return }
        isBroken = true
        breakOff?()
    }

    /// Begins a new look at whether the client takes what waits.
    func look() { isStuck = queuedBytes > 0 }

    private func append(_ bytes: [UInt8]) {
        chunks.append(bytes)
        queuedBytes += bytes.count
        wake?()
    }

    /// Moves queued bytes into `buffer`.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Read {
        if isBroken { return .broken }
        if head == chunks.count, !isFinished { onDrained?() }
        var written = 0
        while written < buffer.count, head < chunks.count {
            let chunk = chunks[head]
            let count = min(chunk.count - offset, buffer.count - written)
            let from = offset
            unsafe chunk.withUnsafeBytes { source in
                let part = unsafe UnsafeRawBufferPointer(rebasing: source[from..<from + count])
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[written...]).copyMemory(from: part)
            }
            written += count
            offset += count
            if offset == chunk.count { advance() }
        }
        queuedBytes -= written
        if written > 0 { isStuck = false }
        if written > 0 { return .bytes(written) }
        return isFinished ? .end : .wait
    }

    private func advance() {
        chunks[head] = []
        head += 1
        offset = 0
        if head == chunks.count {
            chunks.removeAll(keepingCapacity: chunks.capacity <= 64)
            head = 0
        } else if head > 256 {
            chunks.removeFirst(head)
            head = 0
        }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        isFinished = true
        chunks = []
        head = 0
        queuedBytes = 0
        wake = nil
        breakOff = nil
        onDrained = nil
        let closed = onClosed
        onClosed = nil
        closed?()
    }
}
