// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Documents
internal import EventHub
internal import LinuxIO
internal import Netlink
internal import PathEngine
internal import PathModel

/// Turns updates of the engine into events, in the order in which a reader wants to learn of them.
struct UpdatePublisher {
    let hub: EventHub
    let clock: any TimeSource
    /// Finds an interface by its name.
    let interface: (String) -> InterfaceView?

    /// Publishes everything an update tells: its parts first, then the paths, which name the first part as cause.
    func publish(_ update: EngineUpdate) {
        let cause = EventCause(update.cause)
        var first: UInt64?
        for change in update.changes {
            let event = publish(change, cause: first.map(cause.pointing) ?? cause, at: update.at)
            first = first ?? event?.sequence
        }
        for path in update.paths {
            publish(path, of: update, cause: first.map(cause.pointing) ?? cause)
        }
        for (monitor, folded) in update.calmed.sorted(by: { $0.key < $1.key }) {
            hub.publish(PathFlapping(monitor: monitor, hasStarted: false, changes: folded, window: FlapFolder().window))
        }
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

    private func publish(_ path: EngineUpdate.MonitorChange, of update: EngineUpdate, cause: EventCause) {
        let change = path.change
        let document = PathDocument(change.current)
        guard let previous = change.previous else {
            let sentence = PathSentence.state(of: change.current, monitor: path.monitor)
            hub.publish(PathSnapshot(monitor: path.monitor, path: document, sentence: sentence))
            return
        }
        hub.publish(
            PathChanged(
                monitor: path.monitor,
                changed: change.changed.map(\.rawValue),
                path: document,
                previous: PathChanged.Previous(path: PathDocument(previous), duration: change.previousDuration),
                cause: cause,
                evaluation: update.evaluation,
                sentence: PathSentence.change(change, monitor: path.monitor)
            )
        )
        guard case .start(let changes) = path.flapping else { return }
        let window = FlapFolder().window
        hub.publish(PathFlapping(monitor: path.monitor, hasStarted: true, changes: changes, window: window))
    }

    private func publish(_ change: ModelChange, cause: EventCause, at now: Duration) -> Event? {
        switch change {
        case .interfaceAdded(let view):
            hub.publish(InterfaceAdded(InterfaceDocument(view, at: now), cause: cause))
        case .interfaceRemoved(let view):
            hub.publish(InterfaceRemoved(InterfaceDocument(view, at: now), cause: cause))
        case .interfaceChanged(let view, let changed, let previous):
            hub.publish(
                InterfaceChanged(
                    InterfaceDocument(view, at: now),
                    changed: changed,
                    previous: InterfaceDocument(previous, at: now),
                    cause: cause
                )
            )
        case .addressAdded(let address, let view):
            publish(address, on: view, isAdded: true, cause: cause, at: now)
        case .addressRemoved(let address, let view):
            publish(address, on: view, isAdded: false, cause: cause, at: now)
        case .gatewayChanged(let gateway, let previous):
            hub.publish(
                GatewayChanged(
                    gateway.map(GatewayDocument.init),
                    previous: previous.map(GatewayDocument.init),
                    on: reference(gateway ?? previous),
                    cause: cause
                )
            )
        case .gatewayReachability(let gateway, let isReachable):
            hub.publish(
                GatewayReachability(
                    GatewayDocument(gateway),
                    on: reference(gateway),
                    isReachable: isReachable,
                    cause: cause
                )
            )
        case .dnsChanged(let dns, let previous):
            hub.publish(DNSChanged(DNSDocument(dns), previous: DNSDocument(previous), cause: cause))
        }
    }

    private func reference(_ gateway: Gateway?) -> InterfaceReference? {
        gateway.flatMap { interface($0.interface) }.map(InterfaceReference.init)
    }

    private func publish(
        _ address: AddressView,
        on view: InterfaceView,
        isAdded: Bool,
        cause: EventCause,
        at now: Duration
    ) -> Event? {
        let document = AddressDocument(address, at: now)
        return hub.publish(
            AddressChanged(document, on: InterfaceReference(view), isAdded: isAdded, cause: cause)
        )
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
