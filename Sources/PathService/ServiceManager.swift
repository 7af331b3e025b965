// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CSystemd
internal import LinuxIO

/// Talks to the service manager: ready, status, stopping, watchdog (sd_notify(3)); silent without one.
final class ServiceManager {
    private var loop: EventLoop?
    private var interval: Duration?
    private var timer: EventLoop.Timer?
    private var lastStatus = ""

    /// Says that the service is ready, and feeds the watchdog from now on.
    func start(on loop: EventLoop) {
        self.loop = loop
        notify("READY=1")
        var microseconds: UInt64 = 0
        guard unsafe sd_watchdog_enabled(0, &microseconds) > 0, microseconds > 0 else { return }
        interval = .microseconds(Int64(microseconds / 2))
        feed()
    }

    /// Shows a line in `systemctl status`.
    func show(_ status: String) {
        guard status != lastStatus else { return }
        lastStatus = status
        notify("STATUS=\(status)")
    }

    /// Says that a reload begins, which ``reloaded()`` must follow.
    ///
    /// systemd wants the time with it (sd_notify(3), `MONOTONIC_USEC`).
    func reloading(at awake: Duration) {
        let (seconds, attoseconds) = awake.components
        notify("RELOADING=1\nMONOTONIC_USEC=\(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)")
    }

    func reloaded() { notify("READY=1") }

    func stopping() {
        if let timer { loop?.cancel(timer) }
        timer = nil
        interval = nil
        notify("STOPPING=1")
    }

    private func feed() {
        guard let loop, let interval else { return }
        notify("WATCHDOG=1")
        timer = loop.schedule(after: interval) { [weak self] in self?.feed() }
    }

    private func notify(_ text: String) {
        _ = unsafe sd_notify(0, text)
    }
}
