// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

/// Receives rtnetlink notifications on an event loop; recovers from ENOBUFS by a resync.
///
/// Confined to the loop's thread. After messages were lost, those still queued are stale: they are thrown away, and
/// `onResync` requests that everything is read again (rule S5).
public final class KernelMonitor {
    public var onEvents: (EventBatch) -> Void = { _ in }
    /// Called when messages were lost, and all state must be read again.
    public var onResync: () -> Void = {}
    /// Records what is received, while it is set.
    public var recorder: NetlinkRecorder?

    private let loop: EventLoop
    private let clock: any TimeSource
    private var socket: EventSocket
    private var decoder = EventDecoder()
    private var recovery = OverrunRecovery()
    private var registration: EventLoop.Registration?
    private var resync: EventLoop.Timer?

    /// How many datagrams one iteration of the loop reads, so that timers and clients get theirs during a storm.
    private static let maximumReads = 256

    /// Opens the socket in the network namespace of the calling thread; ``start()`` begins to read.
    /// - Parameters:
    ///   - loop: Whose thread everything happens on.
    ///   - clock: The clock of the batches.
    ///   - groups: The groups to join.
    ///   - bufferSize: How many bytes of notifications the kernel is to keep.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init(
        loop: EventLoop,
        clock: any TimeSource = KernelClock(),
        groups: Set<EventGroup> = Set(EventGroup.allCases),
        bufferSize: Int = 8 << 20
    ) throws(NetlinkError) {
        self.loop = loop
        self.clock = clock
        socket = try EventSocket(groups: groups, bufferSize: bufferSize)
    }

    deinit { stop() }

    public var statistics: EventStatistics { decoder.statistics }
    /// How many bytes of notifications the kernel keeps, as the kernel counts them.
    public var bufferSize: Int { socket.bufferSize }
    /// Whether messages were lost and the resync is not yet due.
    public var isRecovering: Bool { resync != nil }

    /// Begins to read; what came since the monitor was made comes first.
    ///
    /// Make the monitor, read all state, then start: nothing is missed.
    /// - Throws: epoll_ctl(2)'s error.
    public func start() throws(Errno) {
        guard registration == nil else { return }
        registration = try loop.register(socket.descriptor, for: .readable, urgent: true) { [unowned self] _ in read() }
    }

    /// Stops reading; the socket stays open, and ``start()`` goes on.
    public func stop() {
        pause()
        if let resync { loop.cancel(resync) }
        resync = nil
    }

    /// Stops reading until ``resume()``; the kernel keeps what it says.
    public func pause() {
        if let registration { loop.unregister(registration) }
        registration = nil
    }

    /// Goes on after ``pause()``, unless a resync is due, which goes on by itself.
    /// - Throws: epoll_ctl(2)'s error.
    public func resume() throws(Errno) {
        if resync == nil { try start() }
    }

    /// Lets other notifications through from now on.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public func attach(_ filter: NotificationFilter) throws(NetlinkError) {
        try socket.attach(filter)
    }

    /// Reads what the kernel has said by now, without waiting for the loop.
    public func poll() {
        if registration != nil { read() }
    }

    /// Reads the datagrams of one iteration.
    private func read() {
        let now = clock.boot
        var isOverrun = false
        reading: for _ in 0..<Self.maximumReads {
            let received = socket.receive { datagram, group in
                recorder?.record(event: datagram, at: now)
                decoder.decode(datagram, from: group)
            }
            switch received {
            case .datagram: continue
            case .foreign: decoder.statistics.foreign += 1
            case .nothing: break reading
            case .overrun: isOverrun = true
            case .failed:
                decoder.statistics.failures += 1
                isOverrun = true
            }
            if isOverrun { break }
        }
        let notices = decoder.drain()
        if isOverrun {
            recover(at: now)
        } else if !notices.isEmpty && resync == nil {
            onEvents(EventBatch(notices: notices, boot: now, wall: clock.wall))
        }
    }

    /// Requests the resync: at once, so that nobody gets the old answer, or after a while in which nothing is read, so
    /// that a socket that keeps failing cannot spin the loop.
    private func recover(at now: Duration) {
        decoder.statistics.overruns += 1
        recorder?.recordOverrun(at: now)
        _ = socket.discard()
        stop()
        let delay = recovery.overran(at: now)
        guard delay > .zero else { return finishRecovery() }
        resync = loop.schedule(after: delay) { [unowned self] in finishRecovery() }
    }

    private func finishRecovery() {
        resync = nil
        let now = clock.boot
        recovery.resynced(at: now)
        // What piled up meanwhile is older than the state that is read now.
        _ = socket.discard()
        do { try start() } catch {
            resync = loop.schedule(after: recovery.overran(at: now)) { [unowned self] in finishRecovery() }
            return
        }
        onResync()
    }
}
