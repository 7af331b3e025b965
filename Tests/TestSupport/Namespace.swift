// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
internal import CLinuxShims
internal import Glibc
internal import Synchronization

/// A kernel network namespace of its own, with an event loop whose thread lives in it.
///
/// The namespace ends with its thread, so nothing is left behind however a test ends. Works as root, and as anybody
/// under `unshare -rn`.
public final class Namespace: Sendable {
    private static let nextIndex = Atomic<Int>(10_000)

    /// The loop whose thread lives in the namespace.
    public let loop: EventLoop
    /// The open file of the namespace, which that thread closes when it ends.
    private let file: Int32

    /// Makes a namespace with `lo` up.
    public init() throws {
        let loop = try EventLoop()
        self.loop = loop
        let started = Started()
        try startThread {
            let file = Namespace.unshare()
            started.signal(file)
            guard file >= 0 else { return }
            loop.run()
            close(file)
        }
        file = started.wait()
        guard file > 0 else { throw Errno(file) }
        try set("lo", isUp: true)
    }

    deinit {
        loop.stop()
    }

    /// Moves the calling thread into a new namespace.
    /// - Returns: The descriptor of the namespace, or a negative errno.
    private static func unshare() -> Int32 {
        let code = nwp_unshare_network()
        guard code >= 0 else { return code }
        let file = unsafe open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        return file < 0 ? -errno : file
    }

    /// The path by which `ip link set … netns` and setns(2) find this namespace, while its loop runs.
    ///
    /// `/proc/<pid>/task/<thread>/ns/net` would name another one while the thread is ``inside(_:)`` that.
    public var path: String { "/proc/\(getpid())/fd/\(file)" }

    /// Runs a command line inside the namespace and waits for it; words are split at spaces.
    /// - Returns: What it printed on standard output.
    /// - Throws: ``CommandFailure`` when it exits with anything but 0.
    @discardableResult
    public func run(_ command: String) throws -> String {
        try run(command.split(separator: " ").map(String.init))
    }

    /// Runs a command inside the namespace and waits for it.
    @discardableResult
    public func run(_ arguments: [String]) throws -> String {
        try Command.run(["nsenter", "--net=\(path)"] + arguments)
    }

    /// Runs `ip` with the given words, inside the namespace.
    @discardableResult
    public func ip(_ words: String) throws -> String { try run("ip \(words)") }

    /// Runs many `ip` commands in one process, one a line (`ip -batch`).
    public func ipBatch(_ lines: [String]) throws {
        try Command.run(["nsenter", "--net=\(path)", "ip", "-batch", "-"], input: lines.joined(separator: "\n") + "\n")
    }

    /// Joins this namespace and `peer` by a veth pair, both ends up and told of as such.
    ///
    /// The near end gets an index that the far end cannot have: the kernel tells the carrier of a veth whose two ends
    /// have the same index only once a second, a hundred links of the whole machine at a time.
    public func connect(_ name: String, to peer: Namespace, as peerName: String) throws {
        let index = Self.nextIndex.wrappingAdd(1, ordering: .relaxed).newValue
        try ip("link add name \(name) index \(index) type veth peer name \(peerName) netns \(peer.path)")
        try set(name, isUp: true)
        try peer.set(peerName, isUp: true)
        try waitUntilRunning(name)
        try peer.waitUntilRunning(peerName)
    }

    /// Runs a body while the calling thread is in the namespace.
    func inside<Value>(_ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        try Self.inside(path, body)
    }

    /// The same for the file of a network namespace.
    static func inside<Value>(_ path: String, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        let here = try FileDescriptor(opening: "/proc/thread-self/ns/net", flags: O_RDONLY)
        let there = try FileDescriptor(opening: path, flags: O_RDONLY)
        try enter(there)
        let result = Result(catching: body)
        guard (try? enter(here)) != nil else { preconditionFailure("the thread stays in another network namespace") }
        return try result.get()
    }

    private static func enter(_ namespace: borrowing FileDescriptor) throws(Errno) {
        let code = nwp_enter_network(namespace.rawValue)
        guard code == 0 else { throw Errno(code) }
    }
}

/// Hands one number from a new thread to the thread that started it.
private final class Started: Sendable {
    private let value = Mutex<Int32>(0)
    private let descriptor: Int32 = nwp_eventfd()

    func signal(_ number: Int32) {
        value.withLock { $0 = number }
        _ = nwp_eventfd_signal(descriptor)
    }

    func wait() -> Int32 {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&entry, 1, 120_000)
        close(descriptor)
        return value.withLock { $0 }
    }
}

private final class ThreadBody {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Starts a detached thread.
func startThread(_ body: @escaping @Sendable () -> Void) throws(Errno) {
    var thread = pthread_t()
    let raw = unsafe Unmanaged.passRetained(ThreadBody(body)).toOpaque()
    let code = unsafe pthread_create(
        &thread,
        nil,
        { raw in
            guard let raw = unsafe raw else { return nil }
            unsafe Unmanaged<ThreadBody>.fromOpaque(raw).takeRetainedValue().run()
            return nil
        },
        raw
    )
    guard code == 0 else { throw Errno(code) }
    pthread_detach(thread)
}
