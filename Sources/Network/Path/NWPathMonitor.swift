// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@_exported public import Dispatch
internal import LinuxIO
internal import PathModel
internal import Synchronization

/// Follows the network path, and reports to a handler or a loop every material change.
///
/// A monitor is in the network namespace of the thread that makes it; all monitors of one namespace share one engine and
/// one subscription to the kernel. It must be kept: dropping the last reference ends it.
public final class NWPathMonitor: Sendable {
    private struct State {
        var delivery = PathDelivery()
        var handler: (@Sendable (NWPath) -> Void)?
        var queue: DispatchQueue?
        var isCancelled = false
        var streams: [UInt64: AsyncStream<NWPath>.Continuation] = [:]
        var lastStream: UInt64 = 0
    }

    private let state = Mutex(State())
    private let id: UInt64
    private let thread: EngineThread?
    private let firstUpdate = DispatchSemaphore(value: 0)

    /// Monitors the path of all interfaces.
    public convenience init() { self.init(PathQuestion()) }

    /// Monitors the path by interfaces of one type only.
    public convenience init(requiredInterfaceType: NWInterface.InterfaceType) {
        self.init(PathQuestion(requiredType: requiredInterfaceType))
    }

    /// Monitors the path by interfaces of other types than these.
    public convenience init(prohibitedInterfaceTypes: [NWInterface.InterfaceType]) {
        self.init(PathQuestion(prohibitedTypes: Set(prohibitedInterfaceTypes)))
    }

    init(_ question: PathQuestion) {
        id = EngineThread.makeID()
        thread = try? EngineThread.current()
        guard let thread else {
            apply(NWPath(Path()))
            firstUpdate.signal()
            return
        }
        thread.perform { [weak self, id, firstUpdate] engines in
            engines.paths.subscribe(id, to: question) { [weak self] path in self?.apply(NWPath(path)) }
            firstUpdate.signal()
        }
    }

    deinit { cancel() }

    /// The path as it was last seen.
    ///
    /// It is true before ``start(queue:)`` as well; a new monitor waits for the first state of the kernel, for
    /// about a millisecond.
    public var currentPath: NWPath {
        if let path = state.withLock({ $0.delivery.current }) { return path }
        if firstUpdate.wait(timeout: .now() + .seconds(2)) == .success { firstUpdate.signal() }
        return state.withLock { $0.delivery.current } ?? NWPath(Path())
    }

    /// Called on the queue of ``start(queue:)`` with the current path soon after the start, and with every one that
    /// differs from the one before.
    ///
    /// Calls are serial. While the queue is busy paths are not kept: it receives the newest one. A handler that is set
    /// late receives the current path.
    @preconcurrency public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { state.withLock { $0.handler } }
        set {
            act { state in
                guard !state.isCancelled else { return false }
                state.handler = newValue
                return state.delivery.setHandler(newValue != nil)
            }
        }
    }

    /// The queue of ``start(queue:)``; `nil` before.
    public var queue: DispatchQueue? { state.withLock { $0.queue } }

    /// Starts calling the handler; only the first call counts.
    public func start(queue: DispatchQueue) {
        act { state in
            guard state.queue == nil, !state.isCancelled else { return false }
            state.queue = queue
            return state.delivery.start()
        }
    }

    /// Ends the monitor for good: the handler is not called again, and loops over the monitor end.
    ///
    /// A call of the handler that another thread is in now runs to its end.
    public func cancel() {
        let streams = state.withLock { state -> [AsyncStream<NWPath>.Continuation] in
            guard !state.isCancelled else { return [] }
            state.isCancelled = true
            state.delivery.cancel()
            state.handler = nil
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
        thread?.perform { [id] engines in engines.paths.unsubscribe(id) }
    }

    // MARK: - Delivery

    private func apply(_ path: NWPath) {
        act { state in
            defer { for stream in state.streams.values { stream.yield(path) } }
            return state.delivery.offer(path)
        }
    }

    /// Changes the state, and has the handler called when that is due.
    private func act(_ change: (inout State) -> Bool) {
        let queue = state.withLock { state in change(&state) ? state.queue : nil }
        queue?.async { [weak self] in self?.notify() }
    }

    private func notify() {
        let work = state.withLock { state -> (path: NWPath, handler: @Sendable (NWPath) -> Void)? in
            guard let path = state.delivery.dequeue(), let handler = state.handler else { return nil }
            return (path, handler)
        }
        guard let work else { return }
        work.handler(work.path)
        act { $0.delivery.end() }
    }

    // MARK: - Loops

    /// A stream of the newest paths, the current one first; it ends with the monitor.
    fileprivate func makeStream() -> AsyncStream<NWPath> {
        let (stream, continuation) = AsyncStream.makeStream(of: NWPath.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state -> UInt64? in
            guard !state.isCancelled else { return nil }
            state.lastStream += 1
            state.streams[state.lastStream] = continuation
            if let path = state.delivery.current { continuation.yield(path) }
            return state.lastStream
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.streams[id] = nil } }
        return stream
    }
}

extension NWPathMonitor: AsyncSequence {
    /// The paths of a loop over a monitor.
    public typealias Element = NWPath
    /// Nothing is thrown.
    public typealias Failure = Never

    /// Starts by itself: the current path comes first, then the newest whenever it differs from the one before.
    ///
    /// The loop ends when the monitor or the task is cancelled. It keeps the monitor.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Yields the paths of one loop.
    public struct Iterator: AsyncIteratorProtocol {
        private let monitor: NWPathMonitor
        private var paths: AsyncStream<NWPath>.Iterator
        private var last: NWPath?

        fileprivate init(_ monitor: NWPathMonitor) {
            self.monitor = monitor
            paths = monitor.makeStream().makeAsyncIterator()
        }

        /// Waits for the next path.
        /// - Returns: `nil` when the monitor or the task was cancelled.
        public mutating func next() async -> NWPath? { await next(isolation: #isolation) }

        /// Waits for the next path without leaving the caller's actor.
        /// - Returns: `nil` when the monitor or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NWPath? {
            while let path = await paths.next(isolation: actor) {
                guard path != last else { continue }
                last = path
                return path
            }
            return nil
        }
    }
}

@available(*, unavailable)
extension NWPathMonitor.Iterator: Sendable {}

extension NWPathMonitor: CustomDebugStringConvertible {
    /// The current path, or that there is none yet.
    public var debugDescription: String {
        let path = state.withLock { $0.delivery.current }
        return "NWPathMonitor(\(path.map(\.debugDescription) ?? "no path yet"))"
    }
}
