// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO
package import MulticastDNS
internal import Netlink
internal import PathEngine
internal import PathModel

/// Multicast DNS for everybody in one network namespace: one engine on the interfaces that the path knows.
///
/// Confined to the thread of its loop. Its sockets are open only while somebody browses or advertises.
package final class MulticastHub {
    /// The engine; hold ``retain()`` while it is used.
    package let engine: MulticastEngine
    private let paths: PathHub
    private var users = 0
    private var observers: [UInt64: (_ isDeaf: Bool) -> Void] = [:]

    /// The hub itself among the subscribers of the path.
    private static let subscriber: UInt64 = 0

    init(loop: EventLoop, paths: PathHub) {
        engine = MulticastEngine(loop: loop, clock: KernelClock())
        self.paths = paths
    }

    /// Opens the sockets for the first user.
    package func retain() {
        users += 1
        guard users == 1 else { return }
        paths.onInterfaces = { [unowned self] in engine.setInterfaces(paths.core?.multicastInterfaces() ?? []) }
        paths.onResume = { [unowned self] in engine.resume() }
        paths.subscribe(Self.subscriber, to: PathQuestion()) { _ in }
        engine.setInterfaces(paths.core?.multicastInterfaces() ?? [])
        engine.start { [unowned self] notice in
            guard case .occupiedPort = notice else { return }
            for observer in observers.values { observer(isDeaf) }
        }
    }

    /// Whether other programs have port 5353 for themselves, by every family that there is.
    var isDeaf: Bool {
        let families = Set((paths.core?.multicastInterfaces() ?? []).flatMap { $0.addresses.map(\.address.family) })
        return !families.isEmpty && families.isSubset(of: engine.occupiedPorts.map(\.family))
    }

    /// Reports ``isDeaf`` whenever that may have changed, until ``endObserving(_:)``.
    func observe(_ id: UInt64, _ observer: @escaping (_ isDeaf: Bool) -> Void) { observers[id] = observer }

    func endObserving(_ id: UInt64) { observers[id] = nil }

    /// Closes them after the last one.
    package func release() {
        users -= 1
        guard users == 0 else { return }
        close()
    }

    /// Closes everything, with a goodbye for what is advertised.
    func close() {
        users = 0
        engine.stop()
        paths.onInterfaces = {}
        paths.onResume = {}
        paths.unsubscribe(Self.subscriber)
    }
}
