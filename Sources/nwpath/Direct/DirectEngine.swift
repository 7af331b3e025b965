// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import MulticastDNS
internal import Netlink
internal import PathEngine
internal import PathModel

/// A multicast DNS engine of the command itself, on a loop of its own and on the interfaces that the kernel tells of; no
/// daemon is needed.
///
/// Confined to the thread that made it.
final class DirectEngine {
    let engine: MulticastEngine
    let clock = KernelClock()
    private let isQuiet: Bool
    private let loop: EventLoop
    private let path: PathEngine
    /// The name of the one interface, which may have been given by an alternative name; `nil` for all.
    let interface: String?
    private var end: (timer: EventLoop.Timer, deadline: Duration)?

    /// Prepares an engine on all interfaces, or on one.
    /// - Parameters:
    ///   - interface: The one interface, by any of its names.
    ///   - waits: Whether to wait where no interface is up.
    ///   - isQuiet: Whether to wait without a word.
    /// - Throws: A failure when there is nothing to speak on.
    init(interface: String?, waits: Bool, isQuiet: Bool) throws(CommandFailure) {
        self.isQuiet = isQuiet
        let links = DirectLinks(wanted: interface, waits: waits)
        do {
            loop = try EventLoop()
        } catch {
            throw CommandFailure("cannot make an event loop: \(error)", .negative)
        }
        let engine = MulticastEngine(loop: loop, clock: clock)
        self.engine = engine
        do throws(NetlinkError) {
            let path = try PathEngine(loop: loop, clock: clock)
            self.path = path
            try path.start { [unowned path] event in
                switch event {
                case .links: engine.setInterfaces(links.interfaces(of: path.core))
                case .resume: engine.resume()
                default: break
                }
            }
        } catch {
            throw CommandFailure("cannot query the kernel: \(error)", .negative)
        }
        engine.setInterfaces(links.interfaces(of: path.core))
        self.interface = interface.map { [path] in path.core.state.link(named: $0)?.name ?? $0 }
        switch links.start(of: path.core) {
        case .ready: break
        case .waiting(let text): if !isQuiet { Terminal.complain(text) }
        case .failed(let text): throw CommandFailure(text, .negative)
        }
    }

    /// Speaks until ``stop()``, or until the limit is over; `nil` is without one.
    func run(limit: Duration?) {
        if let limit { stop(at: clock.boot + limit) }
        engine.start { [isQuiet] notice in
            guard !isQuiet, case .occupiedPort(let port, let isOccupied) = notice else { return }
            Terminal.complain(isOccupied ? port.explanation : port.recovery)
        }
        // Answers are awaited for 20 ms at least; a large network has better use for the memory than what starting took.
        try? ProgramText.release()
        loop.run()
        path.stop()
        engine.stop()
    }

    func stop() { loop.stop() }

    /// Ends the run then; the earliest of several moments counts.
    func stop(at deadline: Duration) {
        if let end {
            guard deadline < end.deadline else { return }
            loop.cancel(end.timer)
        }
        end = (loop.schedule(at: deadline) { [loop] in loop.stop() }, deadline)
    }

    func schedule(at deadline: Duration, handler: @escaping () -> Void) -> EventLoop.Timer {
        loop.schedule(at: deadline, handler: handler)
    }

    func cancel(_ timer: EventLoop.Timer) { loop.cancel(timer) }

    /// Calls a handler when one of the signals comes, instead of what it does by default.
    func handleSignals(_ signals: [Int32], handler: @escaping (Int32) -> Void) throws(CommandFailure) {
        do {
            try loop.handleSignals(signals) { handler($0) }
        } catch {
            throw CommandFailure("cannot wait for signals: \(error)", .negative)
        }
    }
}
