// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Slow work (reading old logs, decompression), on a thread beside an event loop that must not wait.
///
/// A job is done in pieces of some milliseconds. A few jobs alternate, so that a long one does not hold up a short one;
/// others wait in line. The thread runs at a lower priority than the loop's and ends when there is nothing to do: idle,
/// nothing is there.
public final class Worker: Sendable {
    /// There are too many jobs already.
    public struct Busy: Error {}

    /// Work in progress on the worker's thread, until ``advance()`` gives the result.
    public protocol Job: SendableMetatype {
        associatedtype Value: Sendable
        /// Does one piece, on the worker's thread.
        /// - Returns: `nil` when there is more to do.
        mutating func advance() throws -> Value?
    }

    /// A job that was handed over; the loop's thread only.
    public final class Ticket {
        fileprivate let id: UInt64
        fileprivate let worker: Worker
        fileprivate var isOver = false

        fileprivate init(_ id: UInt64, _ worker: Worker) {
            self.id = id
            self.worker = worker
        }

        /// Ends the job after its present piece; its completion is not called any more.
        public func cancel() {
            guard !isOver else { return }
            isOver = true
            worker.state.withLock { state in
                state.waiting.removeAll { $0.id == id }
                if state.running.contains(id) { state.cancelled.insert(id) }
            }
        }
    }

    private struct Waiting {
        let id: UInt64
        /// Begins the job, on the worker's thread; what it gives does one piece and returns whether it is over.
        let begin: @Sendable () -> () -> Bool
    }

    private struct State {
        var lastID: UInt64 = 0
        var waiting: [Waiting] = []
        var running: Set<UInt64> = []
        var cancelled: Set<UInt64> = []
        var hasThread = false
    }

    private let loop: EventLoop
    private let capacity: Int
    private let startThread: @Sendable (@escaping @Sendable () -> Void) throws(Errno) -> Void
    private let state = Mutex(State())
    /// How many jobs alternate; each may hold a file open.
    private static let mostRunning = 4
    /// The niceness of the thread, nice(2).
    private static let niceness: Int32 = 10

    /// Makes a worker for up to `capacity` jobs at a time; its thread starts with the first.
    public convenience init(loop: EventLoop, capacity: Int = 512) {
        self.init(loop: loop, capacity: capacity, startThread: DetachedThread.start)
    }

    /// Makes a worker that gets its thread from `startThread`.
    init(
        loop: EventLoop,
        capacity: Int,
        startThread: @escaping @Sendable (@escaping @Sendable () -> Void) throws(Errno) -> Void
    ) {
        self.loop = loop
        self.capacity = capacity
        self.startThread = startThread
    }

    /// Does a job and hands its result to the loop.
    ///
    /// - Parameters:
    ///   - job: Makes the job, on the worker's thread.
    ///   - completion: Receives the result on the loop's thread; not called once the ticket is cancelled.
    /// - Returns: What the job is cancelled with.
    /// - Throws: ``Busy`` when there are as many jobs as the worker accepts, or there is no thread to be had.
    public func start<Work: Job>(
        _ job: @escaping @Sendable () throws -> Work,
        completion: @escaping (Result<Work.Value, any Error>) -> Void
    ) throws(Busy) -> Ticket {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let ticket = Ticket(id, self)
        let box = LoopCompletion<Result<Work.Value, any Error>> { result in
            guard !ticket.isOver else { return }
            ticket.isOver = true
            completion(result)
        }
        let begin: @Sendable () -> () -> Bool = { [loop] in
            var work: Work?
            return {
                let result: Result<Work.Value, any Error>?
                do {
                    if work == nil { work = try job() }
                    result = try work?.advance().map { .success($0) }
                } catch {
                    result = .failure(error)
                }
                guard let result else { return false }
                work = nil
                loop.perform { box.take(result) }
                return true
            }
        }
        // In one step: a thread that is about to end must not be counted upon.
        let mustStart = try state.withLock { state throws(Busy) in
            guard state.waiting.count + state.running.count < capacity else { throw Busy() }
            state.waiting.append(Waiting(id: id, begin: begin))
            defer { state.hasThread = true }
            return !state.hasThread
        }
        guard mustStart else { return ticket }
        do {
            try startThread { [self] in work() }
        } catch {
            state.withLock { state in
                state.hasThread = false
                // Others may have come in line meanwhile: the next thread does them.
                state.waiting.removeAll { $0.id == id }
            }
            throw Busy()
        }
        return ticket
    }

    /// The thread: a piece of each job in rotation, until there is none.
    private func work() {
        // Of this thread alone, sched(7).
        _ = nice(Self.niceness)
        var jobs: [(id: UInt64, advance: () -> Bool)] = []
        while true {
            let (new, dropped, isOver) = state.withLock { state in
                let dropped = state.cancelled
                state.cancelled = []
                state.running.subtract(dropped)
                let new = Array(state.waiting.prefix(Self.mostRunning - state.running.count))
                state.waiting.removeFirst(new.count)
                state.running.formUnion(new.map(\.id))
                let isOver = state.running.isEmpty
                if isOver { state.hasThread = false }
                return (new, dropped, isOver)
            }
            jobs.removeAll { dropped.contains($0.id) }
            if isOver { return }
            jobs += new.map { ($0.id, $0.begin()) }
            var done: [UInt64] = []
            for job in jobs where job.advance() { done.append(job.id) }
            guard !done.isEmpty else { continue }
            jobs.removeAll { done.contains($0.id) }
            state.withLock { state in
                state.running.subtract(done)
                state.cancelled.subtract(done)
            }
        }
    }
}
