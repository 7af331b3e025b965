// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
@testable import Network
import Testing

/// What a completion said, in a form that can be compared.
private struct Handed: Equatable, CustomStringConvertible {
    let token: Int
    var text: String?
    var isComplete = false
    var isFinal = false
    var error: NWError?

    init(_ token: Int, _ text: String?, isComplete: Bool = false, isFinal: Bool = false, error: NWError? = nil) {
        (self.token, self.text, self.isComplete, self.isFinal, self.error) = (token, text, isComplete, isFinal, error)
    }

    init(_ completion: ReceiveQueue<Int>.Completion) {
        self.init(
            completion.token,
            completion.content.map { String(decoding: $0, as: UTF8.self) },
            isComplete: completion.isComplete,
            isFinal: completion.isFinal,
            error: completion.error
        )
    }

    var description: String {
        "\(token): \(text ?? "nil") \(isComplete) \(isFinal) \(error.map { "\($0)" } ?? "")"
    }
}

@Suite struct ReceiveQueueTests {
    private let reset = NWError.posix(.ECONNRESET)

    private func queue(isStream: Bool = true) -> ReceiveQueue<Int> { ReceiveQueue(isStream: isStream) }

    private func receipts(_ queue: inout ReceiveQueue<Int>) -> [Handed] { queue.completions().map { Handed($0) } }

    @Test func `nothing is wanted that nobody asked for`() {
        var queue = queue()
        #expect(queue.wanted == nil && !queue.hasRequests)
        queue.enqueue(.init(minimum: 1, maximum: 10), 1)
        #expect(queue.wanted == 10 && queue.hasRequests)
        queue.append(Data("abc".utf8))
        #expect(receipts(&queue) == [Handed(1, "abc")])
        #expect(queue.wanted == nil && queue.heldBytes == 0)
    }

    @Test func `a stream waits for the least, and gives the most`() {
        var queue = queue()
        queue.enqueue(.init(minimum: 4, maximum: 6), 1)
        queue.append(Data("abc".utf8))
        #expect(receipts(&queue) == [] && queue.wanted == 3)
        queue.append(Data("defgh".utf8))
        #expect(receipts(&queue) == [Handed(1, "abcdef")])
        queue.enqueue(.init(minimum: 1, maximum: 1), 2)
        queue.enqueue(.init(minimum: 1, maximum: 9), 3)
        #expect(receipts(&queue) == [Handed(2, "g"), Handed(3, "h")])
    }

    @Test(arguments: [(0, 5), (-1, 5), (9, 5), (1, 0)]) func `odd bounds are put right`(minimum: Int, maximum: Int) {
        let request = ReceiveQueue<Int>.Request(minimum: minimum, maximum: maximum)
        #expect(request.minimum >= 1 && request.maximum >= request.minimum)
    }

    @Test func `what is handed out begins at index 0`() throws {
        var queue = queue()
        queue.append(Data("abcdef".utf8))
        queue.enqueue(.init(minimum: 1, maximum: 2), 1)
        queue.enqueue(.init(minimum: 1, maximum: 9), 2)
        let contents = queue.completions().compactMap(\.content)
        #expect(contents.map(\.startIndex) == [0, 0])
        #expect(contents.last == Data("cdef".utf8))
    }

    @Test func `the end comes with what is left, once, and then there is no more data`() {
        var queue = queue()
        queue.enqueue(.init(minimum: 5, maximum: 9), 1)
        queue.append(Data("abc".utf8))
        queue.finish()
        #expect(receipts(&queue) == [Handed(1, "abc", isComplete: true, isFinal: true)])
        queue.enqueue(.init(minimum: 1, maximum: 9), 2)
        let over = Handed(2, nil, isComplete: true, isFinal: true, error: .posix(.ENODATA))
        #expect(receipts(&queue) == [over] && queue.wanted == nil && queue.isOver)
    }

    @Test func `an end with nothing left has no content`() {
        var queue = queue()
        queue.finish()
        queue.enqueue(.init(minimum: 1, maximum: 9), 1)
        #expect(receipts(&queue) == [Handed(1, nil, isComplete: true, isFinal: true)])
    }

    @Test func `a read that fills up before the end is not the last`() {
        var queue = queue()
        queue.append(Data("abcdef".utf8))
        queue.finish()
        queue.enqueue(.init(minimum: 1, maximum: 3), 1)
        queue.enqueue(.init(minimum: 1, maximum: 3), 2)
        #expect(
            receipts(&queue) == [Handed(1, "abc"), Handed(2, "def", isComplete: true, isFinal: true)]
        )
    }

    @Test func `a message of a stream is all of it`() {
        var queue = queue()
        queue.enqueue(.message, 1)
        queue.append(Data("abc".utf8))
        #expect(receipts(&queue) == [] && queue.wanted == .max)
        queue.append(Data("def".utf8))
        queue.finish()
        #expect(receipts(&queue) == [Handed(1, "abcdef", isComplete: true, isFinal: true)])
    }

    @Test func `after a failure comes what was read before, with the error when it is too little`() {
        var queue = queue()
        queue.append(Data("abcde".utf8))
        queue.fail(reset)
        queue.enqueue(.init(minimum: 1, maximum: 3), 1)
        queue.enqueue(.init(minimum: 3, maximum: 3), 2)
        queue.enqueue(.init(minimum: 1, maximum: 3), 3)
        #expect(
            receipts(&queue) == [Handed(1, "abc"), Handed(2, "de", error: reset), Handed(3, nil, error: reset)]
        )
        queue.fail(.posix(.EPIPE))
        queue.finish()
        queue.enqueue(.message, 4)
        #expect(receipts(&queue) == [Handed(4, nil, error: reset)], "the first reason stays")
    }

    @Test func `cancelling drops what came and completes who waits`() {
        var queue = queue()
        queue.enqueue(.init(minimum: 9, maximum: 9), 1)
        queue.enqueue(.message, 2)
        queue.append(Data("abc".utf8))
        let error = NWError.posix(.ECANCELED)
        #expect(queue.cancel(error).map { Handed($0) } == [Handed(1, nil, error: error), Handed(2, nil, error: error)])
        #expect(queue.heldBytes == 0)
    }

    @Test func `each message is one receive, also an empty one`() {
        var queue = queue(isStream: false)
        queue.enqueue(.message, 1)
        queue.enqueue(.message, 2)
        queue.enqueue(.message, 3)
        queue.append(ReceivedMessage(bytes: Data("one".utf8)))
        queue.append(ReceivedMessage(bytes: Data()))
        #expect(receipts(&queue) == [Handed(1, "one", isComplete: true), Handed(2, "", isComplete: true)])
        #expect(queue.wanted == .max)
    }

    @Test func `a long message comes in parts to who asks for less`() {
        var queue = queue(isStream: false)
        queue.append(ReceivedMessage(bytes: Data("abcde".utf8)))
        queue.append(ReceivedMessage(bytes: Data("f".utf8)))
        for token in 1...3 { queue.enqueue(.init(minimum: 1, maximum: 2), token) }
        queue.enqueue(.message, 4)
        #expect(
            receipts(&queue) == [
                Handed(1, "ab"), Handed(2, "cd"), Handed(3, "e", isComplete: true),
                Handed(4, "f", isComplete: true),
            ]
        )
    }

    @Test func `messages end, or fail, when all were handed out`() {
        var queue = queue(isStream: false)
        queue.append(ReceivedMessage(bytes: Data("a".utf8)))
        queue.finish()
        for token in 1...3 { queue.enqueue(.message, token) }
        #expect(
            receipts(&queue) == [
                Handed(1, "a", isComplete: true), Handed(2, nil, isComplete: true, isFinal: true),
                Handed(3, nil, isComplete: true, isFinal: true, error: .posix(.ENODATA)),
            ]
        )
        var broken = ReceiveQueue<Int>(isStream: false)
        broken.fail(reset)
        broken.enqueue(.message, 1)
        #expect(broken.completions().map { Handed($0) } == [Handed(1, nil, error: reset)])
    }
}

@Suite struct SendQueueTests {
    private func item(
        _ text: String,
        _ token: Int,
        ends: Bool = false,
        until deadline: Duration? = nil
    )
        -> SendQueue<Int>.Item
    {
        SendQueue<Int>.Item(bytes: Data(text.utf8), endsStream: ends, deadline: deadline, token: token)
    }

    private func text(_ data: Data?) -> String? { data.map { String(decoding: $0, as: UTF8.self) } }

    @Test func `small pieces of a stream are gathered, and done one by one`() {
        var queue = SendQueue<Int>()
        for (token, piece) in ["ab", "cd", "", "ef"].enumerated() { queue.append(item(piece, token)) }
        #expect(text(queue.front(limit: 100, isStream: true)) == "abcdef" && queue.count == 6)
        #expect(text(queue.front(limit: 5, isStream: true)) == "abcd")
        #expect(queue.wrote(3).done == [0])
        #expect(text(queue.front(limit: 100, isStream: true)) == "def")
        #expect(queue.wrote(3).done == [1, 2, 3] && queue.isEmpty && queue.count == 0)
        #expect(queue.front(limit: 100, isStream: true) == nil)
    }

    @Test func `a long piece goes as it is`() {
        var queue = SendQueue<Int>()
        queue.append(item("abcdef", 1))
        queue.append(item("g", 2))
        #expect(text(queue.front(limit: 4, isStream: true)) == "abcdef")
    }

    @Test func `messages go one by one`() {
        var queue = SendQueue<Int>()
        for (token, piece) in ["ab", "", "c"].enumerated() { queue.append(item(piece, token)) }
        var sent: [String?] = []
        var done: [Int] = []
        while let front = queue.front(limit: 100, isStream: false) {
            sent.append(text(front))
            done += queue.wrote(front.count).done
        }
        #expect(sent == ["ab", "", "c"] && done == [0, 1, 2])
    }

    @Test func `what is written next has the metadata of its message, and an end alone has none`() {
        var queue = SendQueue<Int>()
        let ping = NWProtocolWebSocket.Metadata(opcode: .ping)
        #expect(queue.frontMetadata.isEmpty && !queue.isFrontBare)
        queue.append(.init(bytes: Data("a".utf8), metadata: [ping], token: 1))
        queue.append(.init(bytes: Data(), token: 2))
        queue.append(.init(bytes: Data(), endsStream: true, isBare: true, token: 3))
        #expect(queue.frontMetadata.first === ping && !queue.isFrontBare)
        #expect(queue.wrote(1).done == [1] && queue.frontMetadata.isEmpty && !queue.isFrontBare)
        #expect(queue.wrote(0).done == [2] && queue.isFrontBare)
        let last = queue.wrote(0)
        #expect(last.done == [3] && last.endsStream && queue.isEmpty && !queue.isFrontBare)
    }

    @Test func `the end of a stream is told when all before it was written`() {
        var queue = SendQueue<Int>()
        queue.append(item("ab", 1))
        queue.append(item("", 2, ends: true))
        #expect(queue.isEnded)
        #expect(text(queue.front(limit: 100, isStream: true)) == "ab")
        let first = queue.wrote(2)
        #expect(first.done == [1] && !first.endsStream)
        #expect(text(queue.front(limit: 100, isStream: true)) == "")
        let second = queue.wrote(0)
        #expect(second.done == [2] && second.endsStream && queue.isEmpty)
        var together = SendQueue<Int>()
        together.append(item("ab", 1))
        together.append(item("cd", 2, ends: true))
        #expect(text(together.front(limit: 100, isStream: true)) == "abcd")
        let all = together.wrote(4)
        #expect(all.done == [1, 2] && all.endsStream)
    }

    @Test func `what has expired is dropped unless it has begun`() {
        var queue = SendQueue<Int>()
        queue.append(item("abc", 1, until: .seconds(1)))
        queue.append(item("def", 2, until: .seconds(1)))
        queue.append(item("ghi", 3, until: .seconds(9)))
        queue.append(item("jkl", 4))
        _ = queue.wrote(1)
        #expect(queue.expire(at: .milliseconds(999)) == [])
        #expect(queue.expire(at: .seconds(1)) == [2] && queue.count == 8)
        #expect(text(queue.front(limit: 100, isStream: true)) == "bcghijkl")
        #expect(queue.expire(at: .seconds(20)) == [3])
        #expect(queue.cancel() == [1, 4] && queue.isEmpty && queue.count == 0)
    }

    @Test func `many pieces come off in order`() {
        var queue = SendQueue<Int>()
        for token in 0..<2000 { queue.append(item("x", token)) }
        var done: [Int] = []
        while let front = queue.front(limit: 7, isStream: true) { done += queue.wrote(front.count).done }
        #expect(done == Array(0..<2000))
    }
}
