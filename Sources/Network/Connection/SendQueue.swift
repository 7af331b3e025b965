// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// What a program sends and the kernel has not accepted yet, in order.
///
/// Pure; the clock is an argument. Content that has expired before its first byte went is dropped.
struct SendQueue<Token> {
    /// One piece of content.
    struct Item {
        var bytes: Data
        /// Whether nothing follows on this stream.
        var endsStream = false
        /// When it is not worth sending any more; `nil` never.
        var deadline: Duration?
        /// What protocols are to do with it.
        var metadata: [any NWProtocolMetadata] = []
        /// Whether there is no message, but only the end of the stream.
        var isBare = false
        let token: Token
    }

    private var items: [Item] = []
    private var head = 0
    /// How much of the first item was written.
    private var offset = 0
    private var hasDeadlines = false
    /// Whether the end of the stream was queued: nothing can follow.
    private(set) var isEnded = false

    /// Whether everything was written.
    var isEmpty: Bool { head == items.count }

    /// What protocols are to do with what is written next.
    var frontMetadata: [any NWProtocolMetadata] { head < items.count ? items[head].metadata : [] }

    /// Whether what is written next is no message, but only the end of the stream.
    var isFrontBare: Bool { head < items.count && items[head].isBare }

    /// How many bytes wait.
    private(set) var count = 0

    /// Adds content.
    mutating func append(_ item: Item) {
        items.append(item)
        count += item.bytes.count
        if item.endsStream { isEnded = true }
        if item.deadline != nil { hasDeadlines = true }
    }

    /// What is to be written next: of a stream as much as `limit` bytes, else one message; `nil` when nothing waits.
    ///
    /// Small pieces of a stream are gathered; a piece that is long enough goes as it is, without a copy.
    func front(limit: Int, isStream: Bool) -> Data? {
        guard head < items.count else { return nil }
        let first = items[head].bytes.dropFirst(offset)
        guard isStream, first.count < limit, head + 1 < items.count, !items[head].endsStream else { return first }
        var gathered = Data(first)
        for item in items[(head + 1)...] {
            guard gathered.count + item.bytes.count <= limit else { break }
            gathered += item.bytes
            if item.endsStream { break }
        }
        return gathered
    }

    /// So many bytes were written; items that are done come off.
    /// - Returns: The tokens of what is done, and whether the end of the stream is reached.
    mutating func wrote(_ written: Int) -> (done: [Token], endsStream: Bool) {
        var left = written
        var done: [Token] = []
        count -= written
        while head < items.count {
            let rest = items[head].bytes.count - offset
            guard left >= rest else {
                offset += left
                break
            }
            left -= rest
            offset = 0
            done.append(items[head].token)
            let endsStream = items[head].endsStream
            items[head].bytes = Data()
            head += 1
            compact()
            if endsStream { return (done, true) }
            // A message without bytes, or an end that waits, needs a turn of its own.
            if left == 0 { break }
        }
        return (done, false)
    }

    /// Drops what has expired before it began.
    /// - Returns: The tokens of what was dropped.
    mutating func expire(at now: Duration) -> [Token] {
        guard hasDeadlines else { return [] }
        var expired: [Token] = []
        var kept: [Item] = []
        for (index, item) in items[head...].enumerated() {
            let hasBegun = index == 0 && offset > 0
            if let deadline = item.deadline, deadline <= now, !hasBegun, !item.endsStream {
                expired.append(item.token)
                count -= item.bytes.count
            } else {
                kept.append(item)
            }
        }
        (items, head) = (kept, 0)
        hasDeadlines = kept.contains { $0.deadline != nil }
        return expired
    }

    /// Drops everything.
    /// - Returns: The tokens of what was dropped, in order.
    mutating func cancel() -> [Token] {
        let tokens = items[head...].map(\.token)
        (items, head, offset, count) = ([], 0, 0, 0)
        return tokens
    }

    private mutating func compact() {
        guard head == items.count || head > 256 && 2 * head > items.count else { return }
        items.removeFirst(head)
        head = 0
    }
}
