// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

/// An engine that advertises on a bridged link, and a tap on the same link.
final class AdvertisingBench {
    let here: Namespace
    let peer: Namespace
    let lan: Lan
    let tap: PacketTap
    let engine: MulticastEngine
    private(set) var events: [AdvertisementEvent] = []

    init() throws {
        here = Namespace.current
        peer = try Namespace()
        lan = try Lan()
        try lan.join(here, "v0", "192.0.2.1/24", port: "p0")
        try lan.join(peer, "v1", "192.0.2.2/24", port: "p1")
        tap = try PacketTap(in: peer, interface: "v1")
        engine = MulticastEngine(loop: here.loop, clock: KernelClock())
        engine.setInterfaces([try here.multicastInterface("v0")])
    }

    deinit { engine.stop() }

    var loop: EventLoop { here.loop }

    /// The engine's address of a family.
    func address(_ family: AddressFamily) throws -> IPAddress {
        let addresses = try here.multicastInterface("v0").addresses.map(\.address)
        return try #require(addresses.first { $0.family == family })
    }

    @discardableResult
    func advertise(
        _ name: String = "Lamp",
        host: ServiceRegistration.Host = .claimed(DomainName("lamp.local") ?? DomainName(), addresses: nil),
        _ change: (inout ServiceRegistration) -> Void = { _ in }
    ) throws -> AdvertisementID {
        var service = ServiceRegistration(name: Array(name.utf8), type: "_test._tcp", port: 80)
        service.host = host
        change(&service)
        return try engine.advertise(service) { [unowned self] in events.append($0) }
    }

    /// Starts, advertises, and waits until all announcements are over.
    func advertiseAndSettle(_ name: String = "Lamp") async throws -> AdvertisementID {
        engine.start()
        let id = try advertise(name)
        await loop.eventually("three announcements by each family", found: engine.counters) {
            AddressFamily.allCases.allSatisfy { family in tap.announcements(family).count >= 3 }
        }
        // What was just multicast is not multicast again for a second.
        let end = KernelClock().boot + .milliseconds(1100)
        await loop.eventually("a quiet second") { KernelClock().boot > end }
        tap.forget()
        return id
    }

    var renames: [String] {
        events.compactMap { event in
            guard case .renamed(_, let to) = event.kind else { return nil }
            return to.description
        }
    }

    var isRegistered: Bool {
        events.contains { if case .registered = $0.kind { true } else { false } }
    }
}

extension PacketTap {
    /// Responses that nobody asked for.
    func announcements(_ family: AddressFamily) -> [TappedPacket] {
        packets(family).filter { $0.wasMulticast && $0.tells(.srv) && $0.tells(.ptr) }
    }

    func tells(_ type: RecordType, _ name: String, by family: AddressFamily? = nil) -> Bool {
        let name = DomainName(name)
        return packets.contains { packet in
            (family ?? packet.family) == packet.family && packet.isResponse
                && packet.records.contains { $0.type == type && $0.name == name && $0.timeToLive > 0 }
        }
    }
}
