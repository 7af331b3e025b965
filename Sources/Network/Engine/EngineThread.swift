// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
package import LinuxIO
internal import Synchronization

/// The bridge between objects that any thread may use and engines that only the thread of their loop may touch.
///
/// Everything that was made in one network namespace of the process shares one thread, whatever it is: a second monitor
/// costs no second subscription. The thread starts with the first object and ends with the last one. Work goes over by
/// ``perform(_:)``; what comes of it goes back through queues, under the locks of the objects.
package final class EngineThread: Sendable {
    private let loop: EventLoop
    /// Made and used on the loop's thread only; ``perform(_:)`` is the only access.
    private nonisolated(unsafe) var engines: Engines?

    /// Starts a thread in the network namespace of the calling one.
    private init() throws(Errno) {
        let loop = try EventLoop()
        self.loop = loop
        try LoopThread.start(loop)
    }

    deinit {
        nonisolated(unsafe) let engines = unsafe engines
        loop.perform { [loop] in
            unsafe engines?.stop()
            loop.stop()
        }
    }

    /// Runs work on the thread, after what was handed over before.
    package func perform(_ work: @escaping @Sendable (Engines) -> Void) {
        loop.perform { [self] in
            precondition(loop.isCurrent)
            if unsafe engines == nil { unsafe engines = Engines(loop: loop) }
            if let engines = unsafe engines { work(engines) }
        }
    }

    /// Runs work on the calling thread, instead of the engines' own, when that one is idle and they follow the
    /// path already: what then costs little comes about without a switch to another thread.
    ///
    /// The caller must be in the namespace of the engines if work opens sockets, and hold no lock that it needs.
    /// - Returns: Whether it ran; if not, hand it over by ``perform(_:)``.
    package func performNow(_ work: (Engines) -> Void) -> Bool {
        var hasRun = false
        let isMine = loop.performNow {
            guard let engines = unsafe engines, engines.isWarm else { return }
            hasRun = true
            work(engines)
        }
        return isMine && hasRun
    }

    /// Runs work as ``performNow(_:)`` does, where that can be, and hands it over where not.
    package func performSoonest(_ work: @escaping @Sendable (Engines) -> Void) {
        if !performNow(work) { perform(work) }
    }

    private static let lastID = Atomic<UInt64>(0)

    /// A number that no other object has; never 0.
    package static func makeID() -> UInt64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

    // MARK: - One for each namespace

    private struct Entry {
        weak var thread: EngineThread?
    }

    private static let threads = Mutex<[NamespaceIdentity: Entry]>([:])

    /// The thread of the calling thread's network namespace.
    ///
    /// - Throws: Why there can be none, such as `EMFILE`.
    package static func current() throws(Errno) -> EngineThread {
        let namespace = NamespaceIdentity()
        return try threads.withLock { threads throws(Errno) in
            if let known = threads[namespace]?.thread { return known }
            threads = threads.filter { $0.value.thread != nil }
            let made = try EngineThread()
            threads[namespace] = Entry(thread: made)
            return made
        }
    }

    private static let cookies = Mutex<[Int64: Entry]>([:])

    /// The thread of the namespace of a socket that the calling thread has just opened, which is cheaper to determine.
    package static func current(by socket: Int32) throws(Errno) -> EngineThread {
        let cookie = nwp_flow_namespace(socket)
        if let known = cookies.withLock({ $0[cookie]?.thread }) { return known }
        let thread = try current()
        guard cookie >= 0 else { return thread }
        cookies.withLock { cookies in
            cookies = cookies.filter { $0.value.thread != nil }
            cookies[cookie] = Entry(thread: thread)
        }
        return thread
    }
}

/// The identity of a network namespace: the number of the file that stands for it, namespaces(7).
struct NamespaceIdentity: Hashable {
    private let inode: UInt64

    /// The namespace of the calling thread; all are the same where there is no `/proc`.
    init() { inode = nwp_namespace() }
}
