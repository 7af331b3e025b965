// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import PathEngine
internal import PathModel

/// Decides which changes of an update its other records say already.
///
/// A record of a path has its reason with the interface, its gateways, its source addresses, and whether names resolve; one
/// of an interface that is added or removed has the addresses.
struct RepeatedChanges {
    private let paths: [(old: Path, new: Path)]
    /// The interfaces whose addresses another record has.
    private let interfaces: Set<String>

    init(_ update: EngineUpdate) {
        let paths = update.paths.compactMap { path in path.change.previous.map { (old: $0, new: path.change.current) } }
        self.paths = paths
        interfaces = Set(
            update.changes.compactMap { change in
                switch change {
                case .interfaceAdded(let view), .interfaceRemoved(let view): view.name
                case .interfaceChanged(let view, _, _) where Self.isReason(view, of: paths): view.name
                default: nil
                }
            }
        )
    }

    /// Whether another record of the update says it.
    func contains(_ change: ModelChange) -> Bool {
        switch change {
        case .interfaceAdded, .interfaceRemoved, .interfaceRoamed, .redundancyChanged, .gatewayReachability: false
        case .interfaceChanged(let view, let fields, _):
            Set(fields).isSubset(of: [.up, .carrier, .operstate]) && Self.isReason(view, of: paths)
        case .addressAdded(let address, let view), .addressRemoved(let address, let view):
            interfaces.contains(view.name)
                || paths.contains {
                    $0.old.sources.contains(address.address) != $0.new.sources.contains(address.address)
                }
        case .gatewayChanged(let new, let old): new?.address != old?.address || new?.interface != old?.interface
        case .dnsChanged(let new, let old):
            (new.servers, new.search, new.source) == (old.servers, old.search, old.source)
        }
    }

    /// Whether an interface is why a path is unsatisfied, or was until now.
    private static func isReason(_ view: InterfaceView, of paths: [(old: Path, new: Path)]) -> Bool {
        paths.contains { path in
            path.old.status != path.new.status
                && [path.old, path.new].contains { $0.status != .satisfied && $0.subject?.interface == view.name }
        }
    }
}

extension Path {
    fileprivate var sources: [IPAddress] { (ipv4?.sources ?? []) + (ipv6?.sources ?? []) }
}
