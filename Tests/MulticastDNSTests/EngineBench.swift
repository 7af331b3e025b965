// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

/// An engine on the near side of a wire, a responder on the far side, and what a browse was told.
final class EngineBench {
    let wire: Wire
    let loop: EventLoop
    let engine: MulticastEngine
    let responder: SimulatedResponder
    var events: [BrowseEvent] = []
    private var browses: [ServiceBrowse] = []

    init(
        families: [AddressFamily] = AddressFamily.allCases,
        settings: MulticastSettings = MulticastSettings(),
        start: Bool = true
    ) throws {
        wire = try Wire()
        loop = wire.here.loop
        responder = try SimulatedResponder(in: wire.peer, families: families)
        engine = MulticastEngine(loop: loop, clock: KernelClock(), settings: settings)
        engine.setInterfaces([try wire.interface()])
        if start { engine.start() }
    }

    deinit {
        browses = []
        engine.stop()
    }

    func browse(_ types: DomainName..., interface: String? = nil) {
        browses.append(
            ServiceBrowse(engine, types: types, interface: interface) { [unowned self] in events.append($0) }
        )
    }

    func endBrowses() { browses = [] }

    var services: [Service] { browses.flatMap(\.services) }

    var summary: [String] { events.map(BrowseEvent.text) }

    func counted(_ value: KeyPath<MulticastCounters, UInt64>) -> UInt64 {
        engine.counters.values.reduce(0) { $0 + $1[keyPath: value] }
    }
}
