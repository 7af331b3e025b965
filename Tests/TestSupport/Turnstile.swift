// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import LinuxIO
internal import Synchronization

/// Lets so many in at a time; the others wait without holding a thread.
///
/// Whoever came last goes first, so that a serialized suite that has begun need not queue again for each of its cases.
final class Turnstile: Sendable {
    /// For tests with a network namespace of their own.
    ///
    /// The kernel makes, changes and unmakes all network namespaces under one lock: hundreds at once keep each other,
    /// and the events they wait for, waiting for seconds. Four a core keep the machine busy while some tests wait; more
    /// come in while processors are idle, when most of those that are in only wait.
    static let namespaces = Turnstile(
        width: 4 * ProcessInfo.processInfo.activeProcessorCount,
        widest: 16 * ProcessInfo.processInfo.activeProcessorCount,
        processors: ProcessorTime.read
    )

    private struct State {
        var inside = 0
        var width: AdaptiveWidth
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>
    private let processors: @Sendable () -> ProcessorTime?

    /// - Parameters:
    ///   - width: How many are in at least.
    ///   - widest: How many are in at most, while processors are idle.
    ///   - processors: What processors have done so far.
    init(width: Int, widest: Int? = nil, processors: @escaping @Sendable () -> ProcessorTime? = { nil }) {
        state = Mutex(State(width: AdaptiveWidth(width...(widest ?? width))))
        self.processors = processors
    }

    /// Waits until there is room.
    func enter() async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiting.append(continuation) }
            admit()
        }
    }

    /// Makes room for another one.
    func leave() {
        state.withLock { $0.inside -= 1 }
        admit()
    }

    private func admit() {
        let admitted = state.withLock { state in
            state.width.adapt(to: processors, at: KernelClock().boot)
            var admitted: [CheckedContinuation<Void, Never>] = []
            while state.inside < state.width.current, let next = state.waiting.popLast() {
                state.inside += 1
                admitted.append(next)
            }
            return admitted
        }
        for continuation in admitted { continuation.resume() }
    }
}

/// What all processors have done since boot, in ticks (proc_stat(5)).
struct ProcessorTime {
    let idle: Int
    let total: Int

    @Sendable static func read() -> ProcessorTime? {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        let ticks = text.prefix { $0 != "\n" }.split(separator: " ").dropFirst().prefix(8).compactMap { Int($0) }
        guard ticks.count == 8 else { return nil }
        return ProcessorTime(idle: ticks[3] + ticks[4], total: ticks.reduce(0, +))
    }
}

/// How many may be in: more and more while processors are idle, and fewer again when they are not.
struct AdaptiveWidth {
    private static let pause = Duration.milliseconds(250)

    private(set) var current: Int
    private let bounds: ClosedRange<Int>
    private var last: (time: Duration, processors: ProcessorTime)?

    init(_ bounds: ClosedRange<Int>) {
        self.bounds = bounds
        current = bounds.lowerBound
    }

    mutating func adapt(to processors: () -> ProcessorTime?, at now: Duration) {
        if let last, now - last.time < Self.pause { return }
        guard let found = processors() else { return }
        defer { last = (now, found) }
        guard let before = last?.processors, found.total > before.total else { return }
        let idle = Double(found.idle - before.idle) / Double(found.total - before.total)
        if idle > 0.3 { current = min(current + 1, bounds.upperBound) }
        if idle < 0.1 { current = max(current - 1, bounds.lowerBound) }
    }
}
