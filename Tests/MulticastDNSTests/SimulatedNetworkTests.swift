// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import TestSupport
import Testing

@testable import MulticastDNS

/// How fast and how sparingly a link is understood, in simulated time: the same on every machine.
@Suite(.computing) struct SimulatedNetworkTests {
    @Test(arguments: [1, 2, 3] as [UInt64], [true, false])
    func `a census resolves every service within a second`(seed: UInt64, bringsMore: Bool) {
        var options = SimulatedNetwork.Options()
        (options.seed, options.bringsMore) = (seed, bringsMore)
        var network = SimulatedNetwork(options)
        network.run(to: 3)
        #expect(network.resolved.count == network.total)
        #expect(network.lastResolved < (bringsMore ? 0.75 : 1))
    }

    @Test func `with one packet in ten lost, 99 of 100 are resolved within four seconds, and nearly all in the end`() {
        // What does not come through in three rounds, 0.7 %, is a host with all it has: many hosts make an average.
        let networks = (1...3 as ClosedRange<UInt64>).map { seed in
            var network = SimulatedNetwork(.init(hosts: 200, servicesPerHost: 1, loss: 0.1, seed: seed))
            network.run(to: 8)
            return network
        }
        let total = networks.reduce(0) { $0 + $1.total }
        let counts = networks.map { $0.count(by: 4) }
        #expect(counts.reduce(0, +) >= total * 99 / 100, "\(counts)")
        #expect(networks.reduce(0) { $0 + $1.count(by: 8) } >= total * 199 / 200)
    }

    @Test func `someone who browses gets along with less traffic, and finds its own types only`() throws {
        let types = try ["_type0._tcp.local", "_type3._tcp.local"].map { try #require(DomainName($0)) }
        var network = SimulatedNetwork(.init(), subscription: Subscription(pointers: Set(types)))
        var census = SimulatedNetwork(.init())
        network.run(to: 3)
        census.run(to: 3)
        #expect(network.resolved.count == 50 && network.resolved.keys.allSatisfy { types.contains($0.parent) })
        // Half of the delays of a census: what types there are need not be asked first.
        #expect(network.lastResolved < 0.5 && network.bytes * 2 < census.bytes)
    }

    @Test func `follow-ups are batched: packets grow with hosts, not with services`() {
        let sparse = SimulatedNetwork.Options(hosts: 20, servicesPerHost: 2)
        let dense = SimulatedNetwork.Options(hosts: 20, servicesPerHost: 20)
        var networks = [SimulatedNetwork(sparse), SimulatedNetwork(dense)]
        for index in networks.indices { networks[index].run(to: 0.95) }
        #expect(networks.allSatisfy { $0.resolved.count == $0.total })
        #expect(networks[1].packets < networks[0].packets * 6, "ten times the services")
        #expect(networks[1].packets < 20 * 12)
    }

    @Test func `a settled link is quiet: nothing but refreshes, and those in few packets`() {
        var network = SimulatedNetwork(.init())
        network.run(to: 8)
        let (packets, services) = (network.packets, network.resolved.count)
        network.run(to: 90)
        #expect(network.packets == packets)
        network.run(to: 100)
        // The host's records, of 120 s, come due together; each host answers once or twice.
        #expect(network.packets - packets < 20 * 8 && network.resolved.count == services)
        #expect(network.directory.services.count == network.total)
    }
}
