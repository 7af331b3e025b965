// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Traffic

extension KernelTable {
    /// Finds where the kernel sends packets of a connection; `nil` where it does not, or where they stay here.
    func path(in state: KernelState) -> (TrafficTracker.RouteKey) -> TrafficPath? {
        { key in
            func answer(from source: IPAddress?) -> (RouteAnswer, Link)? {
                let query = RouteQuery(
                    key.destination,
                    kind: .decision,
                    source: source,
                    outputInterface: key.boundInterface,
                    mark: key.mark,
                    uid: key.uid
                )
                guard let answer = try? self.lookup(query).get(), answer.type == .unicast,
                    let link = answer.onlyInterface.flatMap({ state.links[$0] }),
                    key.boundInterface.map({ $0 == link.index || $0 == link.master }) ?? true
                else { return nil }
                return (answer, link)
            }
            // With a source, the kernel's lookup for IPv6 may name another interface than a bound socket uses.
            let found = answer(from: key.source) ?? (key.boundInterface == nil ? nil : answer(from: nil))
            guard let (answer, link) = found, state.isUsable(source: key.source, by: link.index) else { return nil }
            return TrafficPath(
                index: link.index,
                interface: link.name,
                gateway: answer.onlyGateway,
                family: key.destination.family,
                range: TrafficPath.Range(key.destination)
            )
        }
    }
}

extension KernelState {
    /// Whether answers to a source address can come back: it is held by the interface, or by another one that is up.
    fileprivate func isUsable(source: IPAddress, by index: Int) -> Bool {
        addresses.contains { holder, held in
            held.contains { $0.value.address == source }
                && (holder == index || links[holder].map { $0.flags.contains(.running) } ?? false)
        }
    }
}

extension EventBatch {
    /// Whether packets of connections may be sent to another gateway now.
    var concernsConnections: Bool { notices.contains { $0.event.concernsRoutes || $0.event.concernsRules } }
}
