// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
internal import LinuxIO
public import Netlink
public import PathEngine
internal import Traffic

/// Publishes what the connections of a recording show, as ``TrafficMonitor`` does those of the running kernel.
public final class TrafficReplay {
    private let engine: ReplayEngine
    private let hub: EventHub
    private var tracker = TrafficTracker()
    private var isReading = false

    public init(_ engine: ReplayEngine, hub: EventHub) {
        self.engine = engine
        self.hub = hub
    }

    /// Follows a step that the engine has made.
    public func follow(_ step: RecordedKernel.Step) {
        let now = engine.clock.awake
        switch step {
        case .events(let batch): if batch.concernsConnections { tracker.routesChanged(at: now) }
        case .resync: tracker.routesChanged(at: now)
        case .connections(let recorded): read(recorded, at: now)
        case .end: finish(at: now)
        }
    }

    /// A reading begins with IPv4; where there is IPv6, it ends with it.
    private func read(_ recorded: RecordedConnections, at now: Duration) {
        let route = engine.table.path(in: engine.core.state)
        guard recorded.source != .ended else {
            for connection in recorded.connections { tracker.end(connection, at: now, route: route) }
            return
        }
        if recorded.source == .ipv4 {
            finish(at: now)
            tracker.begin()
            isReading = true
        }
        for connection in recorded.connections { tracker.add(connection, at: now, route: route) }
        if recorded.source == .ipv6 { finish(at: now) }
    }

    private func finish(at now: Duration) {
        guard isReading else { return }
        isReading = false
        for change in tracker.end(at: now) { hub.publish(TrafficChanged(change)) }
    }
}
