// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import Synchronization
import TestSupport
import Testing

/// A link between the test's namespace and a peer, with addresses of both families.
struct Wire {
    let here: Namespace
    let peer: Namespace

    init() throws {
        here = Namespace.current
        peer = try Namespace()
        for namespace in [here, peer] {
            // Addresses must work at once.
            let accept = "for i in all default; do echo 0 > /proc/sys/net/ipv6/conf/$i/accept_dad; done"
            try namespace.run(["sh", "-c", accept])
        }
        try here.connect("v0", to: peer, as: "v1")
        try here.ip("address add 192.0.2.1/24 dev v0")
        try peer.ip("address add 192.0.2.2/24 dev v1")
        try here.waitForAddresses(on: "v0", isLinkLocal: true)
        try peer.waitForAddresses(on: "v1", isLinkLocal: true)
    }

    /// The interface on this side, as the kernel has it now.
    func interface() throws -> MulticastInterface { try here.multicastInterface("v0") }
}

extension Namespace {
    /// Sends bytes from port 5353 of an interface, to the group or to one host alone.
    func multicast(
        _ bytes: [UInt8],
        from interface: Int,
        by families: [AddressFamily] = AddressFamily.allCases,
        to host: IPAddress? = nil
    ) {
        loop.perform {
            for family in families where (host?.family ?? family) == family {
                guard let socket = try? MulticastSocket(family, interface: interface) else { continue }
                if let host { try? socket.send(bytes.span, to: host, port: 5353) } else { try? socket.send(bytes.span) }
            }
        }
    }

    /// Reads an interface's index and addresses.
    func multicastInterface(_ name: String) throws -> MulticastInterface {
        let link = try ip("-o link show \(name)")
        let index = try #require(link.split(separator: ":").first.flatMap { Int($0) })
        let words = try ip("-o address show \(name)").split(whereSeparator: \.isWhitespace)
        let prefixes = words.indices.filter { words[$0] == "inet" || words[$0] == "inet6" }.map { words[$0 + 1] }
        let addresses = prefixes.compactMap { prefix -> MulticastInterface.Address? in
            let parts = prefix.split(separator: "/")
            guard let address = IPAddress(parts[0]), let length = Int(parts[1]) else { return nil }
            return .init(address, prefixLength: length)
        }
        return MulticastInterface(index: index, name: name, addresses: addresses)
    }
}

/// A census that writes down what it reports.
final class Recorder {
    let census: ServiceCensus
    private(set) var events: [ServiceEvent] = []

    init(_ wire: Wire, interval: Duration = .seconds(60)) throws {
        var settings = CensusSettings()
        settings.interval = interval
        census = ServiceCensus(MulticastEngine(loop: wire.here.loop, clock: KernelClock()), settings: settings)
        census.engine.setInterfaces([try wire.interface()])
    }

    deinit { stop() }

    func start() {
        census.start { [unowned self] in events.append($0) }
        census.engine.start()
    }

    func stop() {
        census.engine.stop()
        census.stop()
    }

    func service(_ name: String, on interface: String) -> Service? {
        census.services.first { $0.name == name && $0.interface == interface }
    }

    func service(_ name: String) -> Service? { census.services.first { $0.name == name } }

    /// How long ago a service was last heard of.
    func age(of name: String) -> Duration {
        service(name).map { KernelClock().boot - $0.lastSeen } ?? .zero
    }

    var removals: [(name: String, reason: RemovalReason)] {
        events.compactMap { event in
            guard case .removed(let service, let reason, _) = event else { return nil }
            return (service.name, reason)
        }
    }

    var changes: [(service: Service, fields: [ServiceField])] {
        events.compactMap { event in
            guard case .changed(let service, let fields, _) = event else { return nil }
            return (service, fields)
        }
    }

    var summaries: [CensusSummary] {
        events.compactMap { event in
            guard case .censusCompleted(let summary) = event else { return nil }
            return summary
        }
    }
}

extension ZeroconfPeer {
    /// Announces a service on an interface, with its address of IPv6.
    static func announce(
        _ name: String,
        _ type: String,
        _ port: Int,
        in namespace: Namespace,
        interface: String = "v1",
        _ v4: String = "192.0.2.2",
        lifetime: Int? = nil
    ) throws -> RunningCommand {
        let v6 = try #require(
            try namespace.multicastInterface(interface).addresses.first { $0.address.family == .ipv6 }
        )
        let addresses = (v4, v6.address.description)
        return try announce(name, type, port, in: namespace, addresses: addresses, lifetime: lifetime)
    }
}
