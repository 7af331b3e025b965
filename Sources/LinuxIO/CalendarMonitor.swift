// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc

/// Distinguishes steps of the calendar from its steady course.
public struct CalendarStep: Hashable, Sendable {
    /// Smaller steps are not reported: clocks are disciplined all the time.
    public static let threshold = Duration.milliseconds(100)

    private var difference: Duration

    /// Records the present relation of calendar and time since boot.
    public init(wall: WallTime, boot: Duration) {
        difference = (wall - WallTime(nanoseconds: 0)) - boot
    }

    /// Compares with the relation seen last.
    ///
    /// - Returns: How far the calendar was stepped, forward or back; `nil` when it is less than ``threshold``.
    public mutating func observe(wall: WallTime, boot: Duration) -> Duration? {
        let present = (wall - WallTime(nanoseconds: 0)) - boot
        let step = present - difference
        guard step >= Self.threshold || step <= .zero - Self.threshold else { return nil }
        difference = present
        return step
    }
}

/// Is notified at once when the calendar is stepped (rule S49).
///
/// Source: a timer on `CLOCK_REALTIME` that the kernel cancels when the clock is set (`TFD_TIMER_CANCEL_ON_SET`,
/// timerfd_create(2)). It never fires by itself, so an idle process has no wake-ups from it.
public final class CalendarMonitor {
    private let loop: EventLoop
    private let clock: any TimeSource
    private let timer: FileDescriptor
    private var onStep: (Duration) -> Void = { _ in }
    private var registration: EventLoop.Registration?
    private var step: CalendarStep

    /// Makes a monitor that is idle until ``start(onStep:)``.
    /// - Throws: The kernel's error number.
    public init(loop: EventLoop, clock: any TimeSource = KernelClock()) throws(Errno) {
        self.loop = loop
        self.clock = clock
        timer = FileDescriptor(owning: try Errno.check(nwp_timerfd(CLOCK_REALTIME)))
        step = CalendarStep(wall: clock.wall, boot: clock.boot)
    }

    deinit {
        stop()
    }

    /// Begins to listen.
    /// - Parameter onStep: Called on the loop's thread with the size of the step.
    /// - Throws: The kernel's error number.
    public func start(onStep: @escaping (Duration) -> Void) throws(Errno) {
        guard registration == nil else { return }
        self.onStep = onStep
        step = CalendarStep(wall: clock.wall, boot: clock.boot)
        try arm()
        registration = try loop.register(timer.rawValue, for: .readable) { [weak self] _ in self?.wake() }
    }

    public func stop() {
        if let registration { loop.unregister(registration) }
        registration = nil
        onStep = { _ in }
    }

    /// The far end of what the kernel's timers can express.
    private func arm() throws(Errno) {
        _ = try Errno.check(nwp_timerfd_arm(timer.rawValue, .max, 1))
    }

    private func wake() {
        _ = try? timer.read(upTo: 8)
        try? arm()
        if let step = step.observe(wall: clock.wall, boot: clock.boot) { onStep(step) }
    }
}
