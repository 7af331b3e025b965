// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Documents
public import EventHub
internal import LinuxIO
internal import Netlink
public import PathEngine
public import PathModel

/// Turns updates of the engine into events, in the order in which a reader wants to learn of them.
///
/// The daemon and a replay publish by the same one, so that a recording gives the events of the day.
public struct UpdatePublisher {
    let hub: EventHub

    /// Publishes to `hub`.
    public init(hub: EventHub) {
        self.hub = hub
    }

    /// Publishes an update.
    ///
    /// Interfaces come first, then the paths, then gateways and name servers; what follows names the first as its cause.
    /// What these records say already comes last, at debug level.
    ///
    /// - Parameter update: The update.
    /// - Returns: The cause of what else follows from it.
    @discardableResult
    public func publish(_ update: EngineUpdate) -> EventCause {
        let cause = EventCause(update.cause)
        var first: UInt64?
        let repeated = RepeatedChanges(update)
        for change in update.changes where !repeated.contains(change) {
            let event = publish(change, cause: first.map(cause.pointing) ?? cause, at: update.at)
            first = first ?? event?.sequence
        }
        for path in update.paths {
            let event = publish(path, of: update, cause: first.map(cause.pointing) ?? cause)
            first = first ?? event?.sequence
        }
        let consequences = update.consequences
        for change in consequences where !repeated.contains(change) {
            _ = publish(change, cause: first.map(cause.pointing) ?? cause, at: update.at)
        }
        if hub.minimumSeverity == .debug {
            for change in update.changes + consequences where repeated.contains(change) {
                _ = publish(change, cause: first.map(cause.pointing) ?? cause, at: update.at, isRepeated: true)
            }
        }
        for (monitor, folded) in update.flappingEnded.sorted(by: { $0.key < $1.key }) {
            hub.publish(PathFlapping(monitor: monitor, hasStarted: false, changes: folded, window: FlapDamper().window))
        }
        return first.map(cause.pointing) ?? cause
    }

    /// Publishes that messages were lost and everything was read again.
    ///
    /// - Parameters:
    ///   - total: How often messages were lost since the start.
    ///   - duration: How long reading took.
    ///   - found: What no event had told.
    public func publishResync(total: Int, duration: Duration, found: StateDifference) {
        hub.publish(NetlinkOverrun(total: UInt64(total), resync: duration, changesFound: found.count))
    }

    /// Publishes the routes that the kernel announced, which only a log at debug level tells.
    func publish(_ batch: EventBatch) {
        for notice in batch.notices {
            guard case .route(let route) = notice.event else { continue }
            hub.publish(
                RouteChanged(
                    family: route.family.rawValue,
                    prefixLength: route.prefixLength,
                    table: route.table,
                    isRemoved: route.removed,
                    cause: EventCause(
                        kind: "route",
                        source: "rtnetlink",
                        message: notice.type.description,
                        received: batch.wall
                    )
                )
            )
        }
    }

    private func publish(_ path: EngineUpdate.MonitorChange, of update: EngineUpdate, cause: EventCause) -> Event? {
        let change = path.change
        let document = PathDocument(change.current)
        guard let previous = change.previous else {
            let sentence = PathSentence.state(of: change.current, monitor: path.monitor)
            return hub.publish(PathSnapshot(monitor: path.monitor, path: document, sentence: sentence))
        }
        let event = hub.publish(
            PathChanged(
                monitor: path.monitor,
                changed: change.changed.map(\.rawValue),
                path: document,
                previous: PathChanged.Previous(previous, duration: change.previousDuration),
                cause: cause,
                evaluation: update.evaluation,
                sentence: PathSentence.change(change, monitor: path.monitor)
            )
        )
        if case .start(let changes) = path.flapping {
            let window = FlapDamper().window
            hub.publish(PathFlapping(monitor: path.monitor, hasStarted: true, changes: changes, window: window))
        }
        return event
    }

    private func publish(
        _ change: ModelChange,
        cause: EventCause,
        at now: Duration,
        isRepeated: Bool = false
    ) -> Event? {
        func publish(_ body: some EventBody) -> Event? {
            isRepeated ? hub.publish(DetailEvent(body)) : hub.publish(body)
        }
        switch change {
        case .interfaceAdded(let view):
            return publish(InterfacePresence(InterfaceDocument(view, at: now), isAdded: true, cause: cause))
        case .interfaceRemoved(let view):
            return publish(InterfacePresence(InterfaceDocument(view, at: now), isAdded: false, cause: cause))
        case .interfaceChanged(let view, let changed, let previous):
            let (new, old) = (InterfaceDocument(view, at: now), InterfaceDocument(previous, at: now))
            return publish(InterfaceChanged(new, changed: changed, previous: old, cause: cause))
        case .interfaceRoamed(let view, let previous):
            guard let wifi = view.wifi, var before = previous.wifi else { return nil }
            // Between the two it may have been published without an access point.
            if before.bssid == nil { (before.bssid, before.ssid) = (wifi.roamedFrom, wifi.ssid) }
            let (new, old) = (WirelessDocument(wifi), WirelessDocument(before))
            return publish(InterfaceRoamed(new, previous: old, on: InterfaceReference(view), cause: cause))
        case .redundancyChanged(let view, let isLost):
            return publish(RedundancyChanged(InterfaceDocument(view, at: now), isLost: isLost, cause: cause))
        case .addressAdded(let address, let view):
            let (document, interface) = (AddressDocument(address, at: now), InterfaceReference(view))
            return publish(AddressChanged(document, on: interface, isAdded: true, cause: cause))
        case .addressRemoved(let address, let view):
            let (document, interface) = (AddressDocument(address, at: now), InterfaceReference(view))
            return publish(AddressChanged(document, on: interface, isAdded: false, cause: cause))
        case .gatewayChanged(let gateway, let previous):
            let (new, old) = (gateway.map(GatewayDocument.init), previous.map(GatewayDocument.init))
            return publish(GatewayChanged(new, previous: old, cause: cause))
        case .gatewayReachability(let gateway, let isReachable):
            return publish(GatewayReachability(GatewayDocument(gateway), isReachable: isReachable, cause: cause))
        case .dnsChanged(let dns, let previous):
            return publish(DNSChanged(DNSDocument(dns), previous: DNSDocument(previous), cause: cause))
        }
    }
}

extension EventCause {
    init(_ cause: EngineCause) {
        self.init(
            kind: cause.kind.rawValue,
            source: cause.source,
            message: cause.message,
            received: cause.received,
            sleptSeconds: cause.slept?.seconds
        )
    }
}
