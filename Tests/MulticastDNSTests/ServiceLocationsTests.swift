// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

@Suite struct ServiceLocationsTests {
    private func service(_ locations: [(priority: Int, weight: Int, port: Int)]) throws -> Service {
        let host = try #require(DomainName("h.local"))
        var bench = DirectoryBench(families: [.ipv4])
        let lamp = MadeUpService()
        bench.hear(lamp.all)
        var service = try #require(bench.directory.services.first)
        service.locations = locations.map { priority, weight, port in
            let (priority, weight, port) = (UInt16(priority), UInt16(weight), UInt16(port))
            return ServiceLocation(priority: priority, weight: weight, port: port, target: host)
        }
        return service
    }

    /// How often each port comes first.
    private func firsts(_ service: Service, draws: Int = 4000) -> [UInt16: Int] {
        var random = RandomSource(seed: 9)
        return (0..<draws).reduce(into: [:]) { counts, _ in
            counts[service.locationsToTry(using: &random).first?.port ?? 0, default: 0] += 1
        }
    }

    @Test func `lower priorities come first, every location once, but none on port 0`() throws {
        let service = try service([(9, 0, 3), (1, 0, 1), (5, 0, 2), (0, 0, 0)])
        var random = RandomSource(seed: 1)
        #expect(service.locationsToTry(using: &random).map(\.port) == [1, 2, 3])
        #expect(try self.service([]).locationsToTry(using: &random).isEmpty)
    }

    @Test func `weights are chances, and none is no ban`() throws {
        let counts = firsts(try service([(0, 30, 1), (0, 10, 2), (0, 0, 3), (1, 65_535, 4)]))
        #expect((2600...3200).contains(counts[1, default: 0]) && (750...1250).contains(counts[2, default: 0]))
        #expect((20...250).contains(counts[3, default: 0]) && counts[4] == nil)
    }

    @Test func `the greatest weights do not overflow`() throws {
        let counts = firsts(try service((0..<100).map { (0, 65_535, $0 + 1) }), draws: 500)
        #expect(counts.count > 80)
    }
}
