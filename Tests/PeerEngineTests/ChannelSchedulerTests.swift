// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PeerEngine

private typealias Turns = ChannelScheduler

/// Bytes that tell one message from another.
private func content(_ number: Int, count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ number) }
}

extension ChannelScheduler {
    /// One call of ``dequeue(room:into:)``, as frames.
    fileprivate mutating func frames(room: Int = 1) throws -> [Frame] {
        var output: [UInt8] = []
        let gone = dequeue(room: room, into: &output)
        var reader = FrameReader(limit: Frame.maximumPayload)
        reader.append(output)
        let frames = try reader.rest()
        #expect(frames.reduce(0) { $0 + $1.wire.count } == output.count)
        let contents = frames.filter { [.fragment, .chunk].contains($0.kind) }
        #expect(gone.reduce(0) { $0 + $1.count } == contents.reduce(0) { $0 + $1.payload.count })
        for id in Set(gone.map(\.channel)) {
            let told = gone.filter { $0.channel == id }.reduce(0) { $0 + $1.count }
            #expect(told == contents.filter { $0.channel == id }.reduce(0) { $0 + $1.payload.count })
        }
        return frames
    }

    /// All that can go.
    fileprivate mutating func rest(room: Int = 1 << 16) throws -> [Frame] {
        var all: [Frame] = []
        while !isIdle { all += try frames(room: room) }
        return all
    }
}

/// The messages of a channel, put together.
private func messages(_ frames: [Frame], on channel: UInt16) -> [[UInt8]] {
    var (whole, part) = ([[UInt8]](), [UInt8]())
    for frame in frames where frame.kind == .fragment && frame.channel == channel {
        part += frame.payload
        guard frame.flags & Frame.isLast != 0 else { continue }
        whole.append(part)
        part = []
    }
    #expect(part.isEmpty)
    return whole
}

private func chunks(_ frames: [Frame], on channel: UInt16) -> [UInt8] {
    frames.filter { $0.kind == .chunk && $0.channel == channel }.flatMap(\.payload)
}

@Suite struct ChannelSchedulerTests {
    private let ping = Frame(kind: .ping)
    private let end = Frame(kind: .end, channel: 16)

    private func scheduler(_ channels: UInt16..., credit: Int = 0) -> ChannelScheduler {
        var scheduler = ChannelScheduler()
        for channel in channels {
            scheduler.openChannel(channel)
            if credit > 0 { #expect(scheduler.grant(credit, on: channel) == true) }
        }
        return scheduler
    }

    @Test func `has nothing at first`() throws {
        var scheduler = scheduler(0, 1)
        #expect(scheduler.isIdle && scheduler.isEmpty && scheduler.waiting(on: 0) == 0 && scheduler.waiting(on: 9) == 0)
        #expect(try scheduler.frames(room: 1 << 20).isEmpty)
    }

    @Test func `what is agreed upon goes first, in order, however little room there is`() throws {
        var scheduler = scheduler(0, 16)
        scheduler.addMessage([1], on: 0)
        scheduler.add(ping)
        scheduler.addChunk([2], on: 16)
        let others = [
            Frame(kind: .open, channel: 16, payload: [1, 2]), Frame(kind: .pong), Frame(kind: .done, channel: 3),
        ]
        for frame in others { scheduler.add(frame) }
        #expect(try scheduler.frames(room: 0) == [ping] + others)
        #expect(!scheduler.isIdle && !scheduler.isEmpty)
        #expect(try scheduler.rest().map(\.payload) == [[1], [2]])
        #expect(scheduler.isIdle && scheduler.isEmpty)
    }

    @Test func `messages go whole and in order, in frames of a quantum at most`() throws {
        var scheduler = scheduler(0, credit: 1 << 22)
        let sizes = [0, 1, Turns.quantum - 1, Turns.quantum, Turns.quantum + 1, 100_000, 0, 0, 5, 1 << 20, 3]
        let all = sizes.enumerated().map { content($0.offset, count: $0.element) }
        for message in all { scheduler.addMessage(message, on: 0) }
        #expect(scheduler.waiting(on: 0) == sizes.reduce(0, +))
        let frames = try scheduler.rest()
        #expect(messages(frames, on: 0) == all)
        #expect(frames.allSatisfy { $0.payload.count <= Turns.quantum && $0.kind == .fragment })
        #expect(frames.count { $0.flags == Frame.isLast } == all.count && frames.allSatisfy { $0.flags <= 1 })
        #expect(scheduler.waiting(on: 0) == 0 && scheduler.isEmpty)
    }

    @Test func `chunks have no ends, and empty ones are none`() throws {
        var scheduler = scheduler(16)
        scheduler.addChunk([], on: 16)
        #expect(scheduler.isEmpty)
        let bytes = content(1, count: 100_000)
        scheduler.addChunk(Array(bytes[..<60_000]), on: 16)
        scheduler.addChunk(Array(bytes[60_000...]), on: 16)
        let frames = try scheduler.rest()
        #expect(chunks(frames, on: 16) == bytes && frames.allSatisfy { $0.flags == 0 && $0.kind == .chunk })
    }

    @Test func `what is added to a channel that is not open is dropped`() throws {
        var scheduler = ChannelScheduler()
        scheduler.addMessage([1], on: 5)
        scheduler.replaceMessage([1], on: 5)
        scheduler.addChunk([1], on: 5)
        scheduler.end(5, with: end)
        #expect(scheduler.isIdle && scheduler.isEmpty && scheduler.waiting(on: 5) == 0)
        #expect(try scheduler.frames().isEmpty)
    }

    @Test func `opening twice changes nothing`() throws {
        var scheduler = scheduler(16)
        scheduler.addChunk(content(0, count: Turns.initialCredit + 1), on: 16)
        #expect(chunks(try scheduler.rest(), on: 16).count == Turns.initialCredit)
        scheduler.openChannel(16)
        #expect(scheduler.isIdle && scheduler.waiting(on: 16) == 1)
    }

    // MARK: - Turns

    @Test func `a message waits for a quantum of each other channel at most`() throws {
        let others: [UInt16] = [16, 17, 18]
        var scheduler = scheduler(0, 16, 17, 18, credit: 1 << 29)
        let piece = [UInt8](repeating: 7, count: 8 << 20)
        for id in others { scheduler.addChunk(piece, on: id) }
        for number in 0..<100 {
            for _ in 0..<number % 5 { _ = try scheduler.frames() }
            let message = content(number, count: 1024)
            scheduler.addMessage(message, on: 0)
            var before: [UInt16: Int] = [:]
            var got: [[UInt8]] = []
            while got.isEmpty {
                let frames = try scheduler.frames()
                for frame in frames where frame.kind == .chunk {
                    before[frame.channel, default: 0] += frame.payload.count
                }
                got = messages(frames, on: 0)
            }
            #expect(got == [message])
            #expect(before.values.allSatisfy { $0 <= Turns.quantum })
            for id in others where scheduler.waiting(on: id) < 1 << 20 { scheduler.addChunk(piece, on: id) }
        }
    }

    @Test func `a channel of small messages gets as much as those of big pieces`() throws {
        var scheduler = scheduler(0, 16, 18, credit: 1 << 29)
        let small = [UInt8](repeating: 3, count: 1024)
        for _ in 0..<5000 { scheduler.addMessage(small, on: 0) }
        for id in [16, 18] as [UInt16] { scheduler.addChunk([UInt8](repeating: 7, count: 8 << 20), on: id) }
        var sent: [UInt16: Int] = [:]
        for _ in 0..<300 { for frame in try scheduler.frames() { sent[frame.channel, default: 0] += frame.wire.count } }
        let shares = [0, 16, 18].map { sent[$0] ?? 0 }
        // A header is charged from what is left of a turn, so that a turn is longer by one at most.
        #expect(shares.allSatisfy { (100 * Turns.quantum...100 * (Turns.quantum + Frame.headerLength)).contains($0) })
    }

    @Test func `no more goes than there is room, and a quantum`() throws {
        var scheduler = scheduler(0, 16, credit: 1 << 29)
        scheduler.addMessage([UInt8](repeating: 3, count: 4 << 20), on: 0)
        for number in 0..<20_000 { scheduler.addMessage(content(number, count: number % 7), on: 16) }
        for room in [1, 100, Turns.quantum, 1 << 16, 200_000] {
            let count = try scheduler.frames(room: room).reduce(0) { $0 + $1.wire.count }
            #expect((room...room + Turns.quantum + Frame.headerLength).contains(count))
        }
    }

    @Test func `empty messages end a turn, too`() throws {
        var scheduler = scheduler(0, 16)
        for _ in 0..<50_000 { scheduler.addMessage([], on: 0) }
        scheduler.addChunk([1], on: 16)
        let first = try scheduler.frames()
        #expect(first.count == Turns.quantum / Frame.headerLength)
        #expect(try scheduler.frames().map(\.payload) == [[1]])
        #expect(messages(first + (try scheduler.rest()), on: 0).count == 50_000)
    }

    @Test func `empty messages need no credit, and keep their order`() throws {
        var scheduler = scheduler(0)
        scheduler.addMessage(content(0, count: Turns.initialCredit), on: 0)
        _ = try scheduler.rest()
        scheduler.addMessage([], on: 0)
        #expect(messages(try scheduler.rest(), on: 0) == [[]])
        scheduler.addMessage([5], on: 0)
        scheduler.addMessage([], on: 0)
        #expect(scheduler.isIdle && !scheduler.isEmpty)
        #expect(scheduler.grant(1, on: 0) == true)
        #expect(messages(try scheduler.rest(), on: 0) == [[5], []])
        #expect(scheduler.isEmpty)
    }

    // MARK: - Credit

    @Test func `no more goes than the peer has granted`() throws {
        var scheduler = scheduler(0, 16)
        let bytes = content(3, count: 1 << 20)
        scheduler.addMessage(bytes, on: 0)
        var got = try scheduler.rest()
        #expect(got.flatMap(\.payload).count == Turns.initialCredit)
        #expect(scheduler.waiting(on: 0) == bytes.count - Turns.initialCredit)
        // Others do not wait for it.
        scheduler.addChunk([1], on: 16)
        #expect(try scheduler.rest().map(\.payload) == [[1]])
        for count in [1, 0, 7, 50_000, 1 << 20] {
            let before = scheduler.waiting(on: 0)
            #expect(scheduler.grant(count, on: 0) == true)
            got += try scheduler.rest()
            #expect(before - scheduler.waiting(on: 0) == min(count, before))
        }
        #expect(messages(got, on: 0) == [bytes] && scheduler.isEmpty)
    }

    @Test func `a peer grants as much as there can be room for, and no more`() {
        var scheduler = scheduler(0)
        #expect(scheduler.grant(Int(UInt32.max), on: 0) == false)
        #expect(scheduler.grant(Turns.maximumCredit - Turns.initialCredit + 1, on: 0) == false)
        #expect(scheduler.grant(Turns.maximumCredit - Turns.initialCredit, on: 0) == true)
        #expect(scheduler.grant(0, on: 0) == true)
        #expect(scheduler.grant(1, on: 0) == false)
        // Channels go while their credit is on the way.
        #expect(scheduler.grant(1 << 20, on: 99) == true)
    }

    @Test func `who was stopped for long has no longer turns afterwards`() throws {
        var scheduler = scheduler(0, 16, credit: 1 << 20)
        scheduler.addChunk([UInt8](repeating: 3, count: 8 << 20), on: 16)
        _ = try scheduler.rest()
        for _ in 0..<100 {
            #expect(scheduler.grant(1, on: 16) == true)
            #expect(try scheduler.rest().map(\.payload.count) == [1])
        }
        #expect(scheduler.grant(4 << 20, on: 16) == true)
        scheduler.addMessage([1], on: 0)
        #expect(try scheduler.frames().reduce(0) { $0 + $1.payload.count } <= Turns.quantum)
        #expect(messages(try scheduler.frames(), on: 0) == [[1]])
    }

    // MARK: - Ends

    @Test func `the end comes after all chunks, whatever they wait for`() throws {
        var scheduler = scheduler(16)
        let bytes = content(4, count: Turns.initialCredit + 10)
        scheduler.addChunk(bytes, on: 16)
        scheduler.end(16, with: end)
        scheduler.add(ping)
        var got = try scheduler.rest()
        #expect(got.first == ping && !got.contains(end) && !scheduler.isEmpty)
        #expect(scheduler.grant(9, on: 16) == true)
        got += try scheduler.rest()
        #expect(!got.contains(end) && !scheduler.isEmpty)
        #expect(scheduler.grant(1, on: 16) == true)
        got += try scheduler.rest()
        #expect(got.last == end && got.count { $0 == end } == 1)
        #expect(chunks(got, on: 16) == bytes && scheduler.isEmpty)
    }

    @Test func `the end of a channel with nothing on it comes at once`() throws {
        var scheduler = scheduler(16)
        scheduler.end(16, with: end)
        #expect(try scheduler.frames(room: 0) == [end])
        scheduler.addChunk([1], on: 16)
        scheduler.end(16, with: end)
        // With the last chunk, though there was room for a byte only.
        #expect(try scheduler.frames().map(\.kind) == [.chunk, .end])
        #expect(scheduler.isEmpty && scheduler.isIdle)
    }

    @Test func `a closed channel is forgotten with what waits on it`() throws {
        var scheduler = scheduler(0, 16)
        scheduler.addChunk(content(0, count: 100_000), on: 16)
        scheduler.end(16, with: end)
        _ = try scheduler.frames()
        scheduler.closeChannel(16)
        #expect(scheduler.isEmpty && scheduler.isIdle && scheduler.waiting(on: 16) == 0)
        scheduler.addMessage([1], on: 0)
        #expect(try scheduler.rest().map(\.channel) == [0])
        scheduler.openChannel(16)
        scheduler.addChunk(content(0, count: Turns.initialCredit + 1), on: 16)
        #expect(chunks(try scheduler.rest(), on: 16).count == Turns.initialCredit)
    }

    @Test func `a channel that is opened again has one turn, as others have`() throws {
        var scheduler = scheduler(0, 16, credit: 1 << 29)
        scheduler.addMessage([UInt8](repeating: 3, count: 8 << 20), on: 0)
        for _ in 0..<3 {
            scheduler.addChunk([UInt8](repeating: 3, count: 4 << 20), on: 16)
            scheduler.closeChannel(16)
            scheduler.openChannel(16)
            #expect(scheduler.grant(1 << 29, on: 16) == true)
        }
        scheduler.addChunk([UInt8](repeating: 3, count: 4 << 20), on: 16)
        let turns = try (0..<20).flatMap { _ in try scheduler.frames().map(\.channel) }
        #expect(turns == (0..<20).map { $0 % 2 == 0 ? 0 : 16 })
    }

    // MARK: - The latest message

    @Test func `of messages that may be lost the latest goes`() throws {
        var scheduler = scheduler(1)
        for number in 0..<10 { scheduler.replaceMessage([UInt8(number), 0], on: 1) }
        #expect(scheduler.waiting(on: 1) == 2)
        #expect(messages(try scheduler.rest(), on: 1) == [[9, 0]])
        scheduler.replaceMessage([], on: 1)
        #expect(messages(try scheduler.rest(), on: 1) == [[]])
        scheduler.replaceMessage([], on: 1)
        scheduler.replaceMessage([7], on: 1)
        #expect(messages(try scheduler.rest(), on: 1) == [[7]])
        #expect(scheduler.isEmpty)
    }

    @Test func `a message that has begun goes whole before the latest`() throws {
        var scheduler = scheduler(1)
        let begun = content(1, count: Turns.quantum * 2 + 5)
        scheduler.replaceMessage(begun, on: 1)
        var got = try scheduler.frames()
        #expect(got.map(\.payload.count) == [Turns.quantum])
        for number in 0..<10 { scheduler.replaceMessage([UInt8(number)], on: 1) }
        #expect(scheduler.waiting(on: 1) == Turns.quantum + 6)
        got += try scheduler.frames()
        scheduler.replaceMessage([42], on: 1)
        #expect(messages(try got + scheduler.rest(), on: 1) == [begun, [42]])
    }

    @Test func `a message that has begun is kept while it waits for credit`() throws {
        var scheduler = scheduler(1)
        let long = content(2, count: Turns.initialCredit + 100)
        scheduler.replaceMessage(long, on: 1)
        var got = try scheduler.rest()
        for number in 0..<10 { scheduler.replaceMessage(content(number, count: 10), on: 1) }
        #expect(scheduler.isIdle && scheduler.waiting(on: 1) == 110)
        #expect(scheduler.grant(1000, on: 1) == true)
        got += try scheduler.rest()
        #expect(messages(got, on: 1) == [long, content(9, count: 10)])
    }
}
