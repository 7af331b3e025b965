// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Finds what changed between two snapshots; ignored interfaces are left out.
public enum SnapshotDiff {
    /// What became of one interface.
    ///
    /// Refreshed lifetimes and counters are no change (rule S27). An interface that becomes ignored is reported once
    /// more, by that field.
    /// - Parameters:
    ///   - previous: The view before; `nil` when it did not exist.
    ///   - current: The view now; `nil` when it does not exist.
    /// - Returns: The interface's change, then the addresses it lost, then those it gained.
    public static func interface(from previous: InterfaceView?, to current: InterfaceView?) -> [ModelChange] {
        let before = previous.flatMap { $0.isIgnored ? nil : $0 }
        switch (before, current) {
        case (nil, let current?) where !current.isIgnored:
            return [.interfaceAdded(current)]
                + current.addresses.map { .addressAdded($0, interface: current) }
        case (let before?, nil):
            return before.addresses.map { .addressRemoved($0, interface: before) } + [.interfaceRemoved(before)]
        case (let before?, let current?) where current.isIgnored:
            return [.interfaceChanged(current, changed: InterfaceField.differences(before, current), previous: before)]
        case (let before?, let current?):
            let fields = InterfaceField.differences(before, current)
            var changes: [ModelChange] = []
            if !fields.isEmpty { changes.append(.interfaceChanged(current, changed: fields, previous: before)) }
            if let (old, new) = before.wifi.flatMap({ old in current.wifi.map { (old, $0) } }), old.roams < new.roams,
                old.bssid == nil || old.bssid != new.bssid
            {
                changes.append(.interfaceRoamed(current, previous: before))
            }
            changes += redundancy(from: before, to: current)
            let (old, new) = (Set(before.addresses.map(\.key)), Set(current.addresses.map(\.key)))
            for address in before.addresses where !new.contains(address.key) {
                changes.append(.addressRemoved(address, interface: current))
            }
            for address in current.addresses where !old.contains(address.key) {
                changes.append(.addressAdded(address, interface: current))
            }
            return changes
        default:
            return []
        }
    }

    private static func redundancy(from before: InterfaceView, to current: InterfaceView) -> [ModelChange] {
        guard let old = before.ports, let new = current.ports, old != new else { return [] }
        let (failed, recovered) = (Set(new.failed).subtracting(old.failed), Set(old.failed).subtracting(new.failed))
        if !failed.isEmpty, new.working < old.working || !recovered.isEmpty {
            return [.redundancyChanged(current, isLost: true)]
        }
        let isRestored = !old.failed.isEmpty && new.failed.isEmpty && new.working > 1
        return isRestored ? [.redundancyChanged(current, isLost: false)] : []
    }

    public static func interfaces(
        from previous: [Int: InterfaceView],
        to current: [Int: InterfaceView]
    ) -> [ModelChange] {
        Set(previous.keys).union(current.keys).sorted().flatMap { interface(from: previous[$0], to: current[$0]) }
    }

    /// What became of the routers in use.
    ///
    /// A router that replaces another one on the same interface, or in the same family, is one change.
    public static func gateways(from previous: [Gateway], to current: [Gateway]) -> [ModelChange] {
        var changes: [ModelChange] = []
        for family in AddressFamily.allCases {
            let before = previous.filter { $0.family == family }
            let now = current.filter { $0.family == family }
            var gone = before.filter { old in !now.contains { $0.isSame(as: old) } }
            for gateway in now {
                if let old = before.first(where: { $0.isSame(as: gateway) }) {
                    let answered = old.isReachable != false
                    let answers = gateway.isReachable != false
                    if answered != answers { changes.append(.gatewayReachability(gateway, isReachable: answers)) }
                    if old.metric != gateway.metric { changes.append(.gatewayChanged(gateway, previous: old)) }
                    continue
                }
                let position = gone.firstIndex { $0.interface == gateway.interface } ?? gone.indices.first
                changes.append(.gatewayChanged(gateway, previous: position.map { gone.remove(at: $0) }))
            }
            changes += gone.map { .gatewayChanged(nil, previous: $0) }
        }
        return changes
    }

    public static func dns(from previous: DNSState, to current: DNSState) -> [ModelChange] {
        previous == current ? [] : [.dnsChanged(current, previous: previous)]
    }
}

extension Gateway {
    /// Whether both are one router for one family, whatever is known about it.
    fileprivate func isSame(as other: Gateway) -> Bool {
        address == other.address && interface == other.interface && family == other.family
    }
}
