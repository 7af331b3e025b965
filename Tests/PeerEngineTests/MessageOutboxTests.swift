// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import PeerEngine

/// How often the loop was woken up.
private final class Bell: Sendable {
    private let rung = Atomic(0)

    var count: Int { rung.load(ordering: .relaxed) }

    func ring() { rung.add(1, ordering: .relaxed) }
}

@Suite struct MessageOutboxTests {
    private let bell = Bell()
    private let outbox: MessageOutbox

    init() {
        let bell = bell
        outbox = MessageOutbox { bell.ring() }
    }

    @Test func `gives messages in order, as many as there is room for`() throws {
        let all = (0..<10).map { [UInt8](repeating: UInt8($0), count: 1000) }
        for message in all { try outbox.add(message) }
        #expect(outbox.dequeue(room: 0).reliable.isEmpty)
        // The one that goes past the room is given, too, so that none is too long for any room.
        #expect(outbox.dequeue(room: 1).reliable == [all[0]])
        #expect(outbox.dequeue(room: 2000 + 2 * MessageOutbox.overhead).reliable == Array(all[1...2]))
        #expect(outbox.dequeue(room: 2000 + 2 * MessageOutbox.overhead + 1).reliable == Array(all[3...5]))
        #expect(outbox.dequeue(room: .max).reliable == Array(all[6...]))
        #expect(outbox.dequeue(room: .max).reliable.isEmpty)
    }

    @Test func `counts what waits until it has gone to the kernel`() throws {
        try outbox.add([UInt8](repeating: 1, count: 100))
        try outbox.add([])
        #expect(outbox.waiting == 100 + 2 * MessageOutbox.overhead)
        _ = outbox.dequeue(room: .max)
        #expect(outbox.waiting == 100 + 2 * MessageOutbox.overhead)
        outbox.gone(2 * MessageOutbox.overhead)
        outbox.gone(60)
        #expect(outbox.waiting == 40)
        outbox.gone(41)
        #expect(outbox.waiting == 0)
    }

    @Test func `has a capacity, which counts what was taken and has not gone`() throws {
        let most = MessageOutbox.capacity - MessageOutbox.overhead
        #expect(throws: MessageOutbox.Failure.full) { try outbox.add([UInt8](repeating: 1, count: most + 1)) }
        #expect(outbox.waiting == 0 && bell.count == 0)
        try outbox.add([UInt8](repeating: 1, count: most))
        #expect(outbox.waiting == MessageOutbox.capacity)
        #expect(throws: MessageOutbox.Failure.full) { try outbox.add([]) }
        #expect(outbox.dequeue(room: 1).reliable.map(\.count) == [most])
        #expect(throws: MessageOutbox.Failure.full) { try outbox.add([]) }
        outbox.gone(MessageOutbox.overhead)
        try outbox.add([])
        #expect(throws: MessageOutbox.Failure.full) { try outbox.add([]) }
    }

    @Test func `empty messages are bounded, too`() throws {
        let most = MessageOutbox.capacity / MessageOutbox.overhead
        for _ in 0..<most { try outbox.add([]) }
        #expect(throws: MessageOutbox.Failure.full) { try outbox.add([]) }
        #expect(outbox.dequeue(room: .max).reliable.count == most)
    }

    @Test func `wakes the loop once, until that has taken all`() throws {
        for number in 0..<5 { try outbox.add([UInt8](repeating: 1, count: number)) }
        try outbox.addUnreliable([1])
        #expect(bell.count == 1)
        _ = outbox.dequeue(room: 1)
        // It comes again by itself, but for what does not wait for room.
        try outbox.add([])
        #expect(bell.count == 1)
        try outbox.addUnreliable([1])
        try outbox.addUnreliable([2])
        #expect(bell.count == 2)
        _ = outbox.dequeue(room: .max)
        try outbox.addUnreliable([2])
        try outbox.add([3])
        #expect(bell.count == 3)
        _ = outbox.dequeue(room: 0)
        // A message is left.
        try outbox.add([4])
        #expect(bell.count == 3)
    }

    @Test func `messages that may be lost do not wait for room, and take none`() throws {
        for number in 0..<10 { try outbox.addUnreliable([UInt8(number)]) }
        try outbox.add([1])
        #expect(outbox.waiting == 1 + MessageOutbox.overhead)
        let taken = outbox.dequeue(room: 0)
        #expect(taken.reliable.isEmpty && taken.unreliable == (0..<10).map { [UInt8($0)] })
        #expect(outbox.dequeue(room: 0).unreliable.isEmpty)
    }

    @Test func `of messages that may be lost the last 1024 are kept`() throws {
        for number in 0..<3000 { try outbox.addUnreliable([UInt8(number >> 8), UInt8(number & 0xFF)]) }
        let kept = outbox.dequeue(room: 0).unreliable
        let latest = (1976..<3000).map { (number: Int) -> [UInt8] in [UInt8(number >> 8), UInt8(number & 0xFF)] }
        #expect(kept == latest)
    }

    @Test func `messages that may be lost have a capacity of their own, and the latest is kept`() throws {
        let long = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<100 { try outbox.addUnreliable(long) }
        try outbox.addUnreliable([2])
        let kept = outbox.dequeue(room: 0).unreliable
        #expect(kept.count == MessageOutbox.capacity >> 20 && kept.last == [2])
        // However long it is.
        try outbox.addUnreliable([3])
        try outbox.addUnreliable([UInt8](repeating: 4, count: MessageOutbox.capacity + 1))
        #expect(outbox.dequeue(room: 0).unreliable.map(\.count) == [MessageOutbox.capacity + 1])
        for _ in 0..<10 { try outbox.addUnreliable(long) }
        #expect(outbox.dequeue(room: 0).unreliable.count == 10)
    }

    @Test func `a full outbox still takes messages that may be lost`() throws {
        try outbox.add([UInt8](repeating: 1, count: MessageOutbox.capacity - MessageOutbox.overhead))
        try outbox.addUnreliable([1])
        #expect(outbox.dequeue(room: 0).unreliable == [[1]])
    }

    @Test func `takes and gives nothing when it is closed`() throws {
        try outbox.add([1])
        try outbox.addUnreliable([2])
        outbox.close()
        outbox.close()
        #expect(throws: MessageOutbox.Failure.closed) { try outbox.add([1]) }
        #expect(throws: MessageOutbox.Failure.closed) { try outbox.addUnreliable([1]) }
        let taken = outbox.dequeue(room: .max)
        #expect(taken.reliable.isEmpty && taken.unreliable.isEmpty)
        outbox.gone(5)
        #expect(bell.count == 1)
    }

    @Test func `nothing is lost or doubled between many threads and the loop`() async throws {
        let (outbox, bell) = (outbox, bell)
        var taken: [[UInt8]] = []
        await withTaskGroup(of: Bool.self) { group in
            for task in 0..<4 as Range<UInt8> {
                group.addTask {
                    (0..<200 as Range<UInt8>).allSatisfy { (try? outbox.add([task, $0])) != nil }
                }
            }
            for await isWhole in group {
                #expect(isWhole)
                taken += outbox.dequeue(room: 500).reliable
            }
        }
        taken += outbox.dequeue(room: .max).reliable
        for task in 0..<4 as Range<UInt8> {
            #expect(taken.filter { $0[0] == task } == (0..<200 as Range<UInt8>).map { [task, $0] })
        }
        #expect(taken.count == 800 && bell.count >= 1)
    }
}
