// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Foundation
import Glibc
@testable import Network
import TestSupport
import Testing

/// Random sequences of operations: whatever happens, content stays in order and every request is completed once.
@Suite struct QueueModelTests {
    @Test(arguments: 0..<40) func `a stream is handed out in order, each request once`(seed: Int) {
        var numbers = SeededRandom(seed: UInt64(seed + 1))
        var queue = ReceiveQueue<Int>(isStream: true)
        var (fed, taken): (Data, Data) = (Data(), Data())
        var (asked, completed): ([Int], [Int]) = ([], [])
        var requests: [Int: (minimum: Int, maximum: Int)] = [:]
        for step in 0..<200 {
            if Bool.random(using: &numbers) {
                let bytes = Data(
                    (0..<Int.random(in: 1...30, using: &numbers)).map { UInt8(truncatingIfNeeded: fed.count + $0) }
                )
                fed += bytes
                queue.append(bytes)
            } else {
                let minimum = Int.random(in: 1...20, using: &numbers)
                let maximum = minimum + Int.random(in: 0...20, using: &numbers)
                requests[step] = (minimum, maximum)
                asked.append(step)
                queue.enqueue(.init(minimum: minimum, maximum: maximum), step)
            }
            for completion in queue.completions() {
                completed.append(completion.token)
                let content = completion.content ?? Data()
                let request = requests[completion.token] ?? (0, 0)
                #expect(content.count >= request.minimum && content.count <= request.maximum)
                #expect(content.startIndex == 0 && !completion.isComplete && completion.error == nil)
                taken += content
            }
            #expect(queue.heldBytes == fed.count - taken.count)
            #expect(fed.prefix(taken.count) == taken)
        }
        queue.finish()
        for completion in queue.completions() {
            completed.append(completion.token)
            taken += completion.content ?? Data()
        }
        #expect(completed == asked, "each once, in order")
        queue.enqueue(.message, -1)
        taken += queue.completions().first?.content ?? Data()
        #expect(taken == fed)
    }

    @Test(arguments: 0..<40) func `messages are handed out whole or in parts, in order`(seed: Int) {
        var numbers = SeededRandom(seed: UInt64(seed + 101))
        var queue = ReceiveQueue<Int>(isStream: false)
        var sent: [Data] = []
        var heard: [Data] = [Data()]
        for step in 0..<200 {
            if Bool.random(using: &numbers) {
                let message = Data((0..<Int.random(in: 0...12, using: &numbers)).map { UInt8(step &+ $0 & 0xFF) })
                sent.append(message)
                queue.append(ReceivedMessage(bytes: message))
            } else if Bool.random(using: &numbers) {
                queue.enqueue(.message, step)
            } else {
                queue.enqueue(.init(minimum: 1, maximum: Int.random(in: 1...8, using: &numbers)), step)
            }
            for completion in queue.completions() {
                heard[heard.count - 1] += completion.content ?? Data()
                if completion.isComplete { heard.append(Data()) }
            }
        }
        #expect(Array(heard.dropLast()) == Array(sent.prefix(heard.count - 1)))
        #expect(heard.last.map { last in sent.count < heard.count || sent[heard.count - 1].starts(with: last) } == true)
    }

    @Test(arguments: 0..<40, [true, false]) func `what is sent is written in order and done once`(
        seed: Int,
        isStream: Bool
    ) {
        var numbers = SeededRandom(seed: UInt64(seed + 201))
        var queue = SendQueue<Int>()
        var (queued, written): (Data, Data) = (Data(), Data())
        var (tokens, done): ([Int], [Int]) = ([], [])
        for step in 0..<200 {
            if Bool.random(using: &numbers) {
                let bytes = Data(
                    (0..<Int.random(in: 0...40, using: &numbers)).map { UInt8(truncatingIfNeeded: step &* 7 &+ $0) }
                )
                queued += bytes
                tokens.append(step)
                queue.append(.init(bytes: bytes, token: step))
            } else if let front = queue.front(limit: 50, isStream: isStream) {
                // The kernel takes a part of a stream, and all of a datagram.
                let count = isStream ? Int.random(in: 0...front.count, using: &numbers) : front.count
                if isStream && count == 0 && !front.isEmpty { continue }
                written += front.prefix(count)
                done += queue.wrote(count).done
            }
            #expect(queue.count == queued.count - written.count)
        }
        while let front = queue.front(limit: 50, isStream: isStream) {
            written += front
            done += queue.wrote(front.count).done
        }
        #expect(written == queued && done == tokens && queue.isEmpty)
    }

    @Test(arguments: 0..<60) func `whatever fails, every address is tried once or another has won`(seed: Int) {
        var numbers = SeededRandom(seed: UInt64(seed + 301))
        let error = NWError.posix(.ECONNREFUSED)
        var machine = HappyEyeballs(awaiting: [.ipv4, .ipv6], error: error)
        var now = Duration.zero
        var (running, tried, given): (Set<Int>, [SocketEnd], Set<SocketEnd>) = ([], [], [])
        var (winner, isExhausted): (Int?, Bool) = (nil, false)
        func take(_ actions: [HappyEyeballs.Action]) {
            for action in actions {
                switch action {
                case .attempt(let number, let end):
                    running.insert(number)
                    tried.append(end)
                case .abandon(let number): running.remove(number)
                case .exhausted: isExhausted = true
                }
            }
        }
        for family in [AddressFamily.ipv6, .ipv4].shuffled(using: &numbers) {
            let ends = (0..<Int.random(in: 0...4, using: &numbers)).map { (number: Int) -> SocketEnd in
                SocketEnd(address: family == .ipv4 ? .v4(UInt32(number + 1)) : .v6(UInt128(number + 1)), port: 1)
            }
            given.formUnion(ends)
            take(machine.found(ends, at: now))
            now += .milliseconds(Int.random(in: 0...80, using: &numbers))
            take(machine.finished(family, at: now))
        }
        for _ in 0..<100 where winner == nil && !isExhausted {
            now += .milliseconds(Int.random(in: 0...200, using: &numbers))
            take(machine.next(at: now))
            guard let number = running.randomElement(using: &numbers) else { continue }
            running.remove(number)
            if Int.random(in: 0..<6, using: &numbers) == 0 {
                winner = number
                take(machine.connected(number))
            } else {
                take(machine.failed(number, error, at: now))
            }
        }
        #expect(winner != nil || isExhausted)
        #expect(running.isEmpty && Set(tried).count == tried.count && Set(tried).isSubset(of: given))
        if winner == nil { #expect(Set(tried) == given) }
    }
}
