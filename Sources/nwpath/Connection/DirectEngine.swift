// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CommandLineKit
internal import LinuxIO
internal import MulticastDNS

/// An engine of the command itself, on a loop of its own; no daemon is needed.
///
/// Confined to the thread that made it.
final class DirectEngine {
    /// How often interfaces are looked at again.
    private static let refresh = Duration.seconds(5)

    let engine: MulticastEngine
    let clock = KernelClock()
    private let loop: EventLoop
    private let links: DirectLinks
    /// The name of the one interface; `nil` for all.
    var interface: String? { links.interface }
    private var end: (timer: EventLoop.Timer, deadline: Duration)?

    /// Prepares an engine on all interfaces, or on one.
    /// - Throws: A failure when there is nothing to speak on.
    init(interface: String?) throws(CommandFailure) {
        links = try DirectLinks(interface: interface)
        do {
            loop = try EventLoop()
        } catch {
            throw CommandFailure("cannot make an event loop: \(error)", .negative)
        }
        engine = MulticastEngine(loop: loop, clock: clock)
        engine.setInterfaces(try links.current())
    }

    /// Speaks until ``stop()``, or until the limit is over; `nil` is without one.
    func run(limit: Duration?) {
        if let limit { stop(at: clock.boot + limit) }
        lookAgain()
        engine.start()
        // Answers are awaited for 20 ms at least; a large network has better use for the memory than what starting took.
        try? ProgramText.release()
        loop.run()
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

    private func lookAgain() {
        loop.schedule(after: Self.refresh) { [unowned self] in
            if let found = try? links.current() { engine.setInterfaces(found) }
            lookAgain()
        }
    }
}
