// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TestSupport
import Testing

@testable import LinuxIO

/// Counts up to a number, a step at a time.
private struct Count: Worker.Job {
    let end: Int
    var step: @Sendable () throws -> Void = {}
    private var number = 0

    init(to end: Int, step: @escaping @Sendable () throws -> Void = {}) {
        self.end = end
        self.step = step
    }

    mutating func advance() throws -> Int? {
        try step()
        number += 1
        return number < end ? nil : number
    }
}

@Suite(.inNamespace) struct WorkerTests {
    private let loop = Namespace.current.loop

    @Test func `a job is done in pieces beside the loop, and its result comes to the loop`() async throws {
        let worker = Worker(loop: loop)
        let steps = Atomic(0)
        let wasOnLoop = Atomic(false)
        var result: Int?
        let loop = loop
        _ = try worker.start {
            Count(to: 5) {
                steps.add(1, ordering: .relaxed)
                if loop.isCurrent { wasOnLoop.store(true, ordering: .relaxed) }
            }
        } completion: {
            #expect(loop.isCurrent)
            result = try? $0.get()
        }
        #expect(result == nil)
        await loop.eventually { result != nil }
        #expect(result == 5 && steps.load(ordering: .relaxed) == 5 && !wasOnLoop.load(ordering: .relaxed))
    }

    @Test func `a long job does not hold up short ones, and those beyond the turns wait in line`() async throws {
        let worker = Worker(loop: loop)
        let gate = Atomic(false)
        var ended: [String] = []
        let long = try worker.start {
            Count(to: .max) { if gate.load(ordering: .relaxed) { throw Errno.invalid } }
        } completion: { _ in
            ended.append("long")
        }
        for number in 0..<20 {
            _ = try worker.start {
                Count(to: 3)
            } completion: { _ in
                ended.append("\(number)")
            }
        }
        await loop.eventually { ended.count == 20 }
        #expect(ended == (0..<20).map { "\($0)" })
        gate.store(true, ordering: .relaxed)
        await loop.eventually { ended.last == "long" }
        withExtendedLifetime(long) {}
    }

    @Test func `what fails is told, at the beginning and later`() async throws {
        let worker = Worker(loop: loop)
        var codes: [Errno] = []
        let take: (Result<Int, any Error>) -> Void = {
            if case .failure(let error as Errno) = $0 { codes.append(error) }
        }
        _ = try worker.start({ () throws -> Count in throw Errno.noEntry }, completion: take)
        await loop.eventually { codes.count == 1 }
        _ = try worker.start({ Count(to: 2) { throw Errno.invalid } }, completion: take)
        await loop.eventually { codes.count == 2 }
        #expect(codes == [.noEntry, .invalid])
    }

    @Test func `a job that is cancelled ends, and nobody hears of it; a full worker says so`() async throws {
        let worker = Worker(loop: loop, capacity: 8)
        let steps = Atomic(0)
        var results = 0
        var tickets: [Worker.Ticket] = []
        for _ in 0..<8 {
            tickets.append(
                try worker.start {
                    Count(to: .max) { steps.add(1, ordering: .relaxed) }
                } completion: { _ in
                    results += 1
                }
            )
        }
        #expect(throws: Worker.Busy.self) { try worker.start({ Count(to: 1) }, completion: { _ in }) }
        await loop.eventually { steps.load(ordering: .relaxed) > 100 }
        for ticket in tickets { ticket.cancel() }
        var next: Worker.Ticket?
        var isNextDone = false
        await loop.eventually {
            next = try? worker.start({ Count(to: 1) }, completion: { _ in isNextDone = true })
            return next != nil
        }
        await loop.eventually { isNextDone }
        let count = steps.load(ordering: .relaxed)
        await loop.sleep(for: .milliseconds(50))
        #expect(steps.load(ordering: .relaxed) == count && results == 0)
    }

    @Test func `without a thread one job is refused, and those in line are done by the next thread`() async throws {
        let obstacle = Mutex<(@Sendable () -> Void)?>(nil)
        let ended = Mutex<[String]>([])
        let worker = Worker(loop: loop, capacity: 8) { work throws(Errno) in
            let present = obstacle.withLock { $0.take() }
            guard let present else { return try DetachedThread.start(work) }
            present()
            throw .again
        }
        let begin: @Sendable (String) throws(Worker.Busy) -> Void = { name throws(Worker.Busy) in
            _ = try worker.start({ Count(to: 3) }, completion: { _ in ended.withLock { $0.append(name) } })
        }
        obstacle.withLock { $0 = { try? begin("in line") } }
        #expect(throws: Worker.Busy.self) { try begin("refused") }
        try begin("next")
        await loop.eventually { ended.withLock(\.count) == 2 }
        #expect(ended.withLock { Set($0) } == ["in line", "next"])
    }

    /// The directory of the calling thread below /proc.
    private static var thread: String {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = unsafe readlink("/proc/thread-self", &buffer, buffer.count)
        return "/proc/" + String(decoding: buffer.prefix(max(0, count)).map(UInt8.init), as: UTF8.self)
    }

    @Test func `the thread ends with the work`() async throws {
        let worker = Worker(loop: loop)
        for _ in 0..<3 {
            let thread = Mutex("")
            var isDone = false
            _ = try worker.start {
                Count(to: 1) { thread.withLock { $0 = Self.thread } }
            } completion: { _ in
                isDone = true
            }
            await loop.eventually { isDone }
            let path = thread.withLock(\.self)
            #expect(path.hasPrefix("/proc/\(getpid())/task/"))
            await loop.eventually { unsafe access(path, F_OK) != 0 }
        }
    }
}
