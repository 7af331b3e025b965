// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Netlink

/// Receives changes of packet filters and IPsec policies (rule S55); without `CAP_NET_ADMIN` audits find them.
///
/// The first change is reported at once, those that follow it soon together. Confined to the loop's thread.
final class OutputMonitor {
    private let loop: EventLoop
    private let pause: () -> Duration
    private let onChange: (OutputRules) -> Void
    private var parts: [Part] = []

    /// Opens its sockets in the network namespace of the calling thread.
    ///
    /// - Parameters:
    ///   - loop: Serves them.
    ///   - pause: The time between two reports, if it is more than 200 ms.
    ///   - onChange: Receives the reports.
    init(_ loop: EventLoop, pause: @escaping () -> Duration, onChange: @escaping (OutputRules) -> Void) {
        self.loop = loop
        self.pause = pause
        self.onChange = onChange
        for rules in OutputRules.allCases {
            guard let part = try? Part(rules) else { continue }
            part.source = try? loop.register(part.socket.descriptor, for: .readable) { [unowned self, unowned part] _ in
                receive(part)
            }
            parts.append(part)
        }
    }

    deinit { stop() }

    func stop() {
        for part in parts {
            if let source = part.source { loop.unregister(source) }
            if let timer = part.timer { loop.cancel(timer) }
        }
        parts = []
    }

    /// One kind of rules with its socket.
    private final class Part {
        let rules: OutputRules
        var socket: OutputChangeSocket
        var source: EventLoop.Registration?
        var timer: EventLoop.Timer?
        /// When the next change may be reported, as time since boot.
        var due = Duration.zero

        init(_ rules: OutputRules) throws(NetlinkError) {
            self.rules = rules
            socket = try OutputChangeSocket(rules)
        }
    }

    private func receive(_ part: Part) {
        guard part.socket.drain(), part.timer == nil else { return }
        let now = loop.clock.boot
        guard part.due > now else { return report(part) }
        part.timer = loop.schedule(at: part.due) { [unowned self, unowned part] in
            part.timer = nil
            report(part)
        }
    }

    private func report(_ part: Part) {
        onChange(part.rules)
        part.due = loop.clock.boot + max(.milliseconds(200), pause())
    }
}
