// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Glibc
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

@Suite(.inNamespace) struct ZeroconfAdvertisementTests {
    @Test func `python-zeroconf finds, resolves, follows and loses what we advertise`() async throws {
        let bench = try AdvertisingBench()
        let output = try ZeroconfPeer.browse("_test._tcp", in: bench.peer)
        bench.engine.start()
        let id = try bench.advertise("Wohn.zimmer") { $0.text = [.init(key: "v", value: [0x31])] }
        let v6 = try bench.address(.ipv6)
        let name = "Wohn.zimmer._test._tcp.local."
        await bench.loop.eventually("resolved") {
            output.lines.contains {
                $0.hasPrefix("added \(name) lamp.local. 80 192.0.2.1 \(v6)") && $0.hasSuffix("v=1")
            }
        }
        // What comes within a second counts as one burst.
        let end = KernelClock().boot + .seconds(5)
        await bench.loop.eventually("the end of the announcements") { KernelClock().boot > end }
        try bench.engine.update(text: [.init(key: "v", value: [0x32])], of: id)
        await bench.loop.eventually("the new text") {
            output.lines.contains { $0.hasPrefix("updated \(name)") && $0.hasSuffix("v=2") }
        }
        bench.engine.withdraw(id)
        await bench.loop.eventually("lost") { output.lines.contains("removed \(name)") }
    }

    @Test func `a name that python-zeroconf has makes us take another one`() async throws {
        let bench = try AdvertisingBench()
        let process = try ZeroconfPeer.announce("Lamp", "_test._tcp", 8080, in: bench.peer)
        // The tap is on zeroconf's own host, so it asks by way of a browse from ours.
        var found: Set<String> = []
        let type = try #require(DomainName("_test._tcp.local"))
        bench.engine.start()
        let browse = ServiceBrowse(bench.engine, types: [type]) { event in
            if case .found(let instance) = event { found.insert(instance.name) }
        }
        await bench.loop.eventually("zeroconf's service") { found.contains("Lamp") }
        try bench.advertise()
        await bench.loop.eventually("registered") { bench.isRegistered }
        #expect(bench.renames == ["Lamp (2)._test._tcp.local"])
        withExtendedLifetime(browse) { process.signal(SIGTERM) }
    }

    @Test func `python-zeroconf is refused a name that we have`() async throws {
        let bench = try AdvertisingBench()
        let output = try ZeroconfPeer.browse("_test._tcp", rival: "Lamp", in: bench.peer)
        _ = try await bench.advertiseAndSettle()
        await bench.loop.eventually("a refusal") {
            output.lines.contains("refused") || output.lines.contains("registered")
        }
        #expect(output.lines.contains("refused") && bench.renames.isEmpty)
    }
}
