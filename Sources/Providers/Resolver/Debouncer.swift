// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// Calls an action once a burst has been quiet for a while, and at the latest when the burst is `cap` old.
final class Debouncer {
    private let loop: EventLoop
    private let quiet: Duration
    private let cap: Duration
    private let action: () -> Void
    private var timer: EventLoop.Timer?
    private var first: Duration?

    init(loop: EventLoop, quiet: Duration, cap: Duration = .seconds(1), action: @escaping () -> Void) {
        self.loop = loop
        self.quiet = quiet
        self.cap = cap
        self.action = action
    }

    func trigger() {
        let now = loop.clock.boot
        let first = first ?? now
        self.first = first
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(at: min(now + quiet, max(first + cap, now))) { [weak self] in
            guard let self else { return }
            cancel()
            action()
        }
    }

    func cancel() {
        if let timer { loop.cancel(timer) }
        timer = nil
        first = nil
    }
}
