// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Glibc
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

@Suite(.inNamespace) struct AvahiAdvertisementTests {
    @Test func `avahi-browse finds and resolves what we advertise, avahi-resolve our host, and both see it go`()
        async throws
    {
        let bench = try AdvertisingBench()
        let avahi = try await AvahiPeer(in: bench.peer, hostName: "avahi-host")
        bench.engine.start()
        let id = try bench.advertise("Büro. Lamp") {
            $0.text = [.init(key: "a", value: [0x31]), .init(key: "flag", value: nil)]
            $0.subtypes = [Array("_bright".utf8)]
        }
        let browser = try avahi.client("avahi-browse", "-rp", "_test._tcp")
        let name = "B\\195\\188ro\\.\\032Lamp"
        func resolved(_ family: String) -> [Substring]? {
            let line = browser.lines.first { $0.hasPrefix("=;v1;\(family);\(name);_test._tcp;local;lamp.local;") }
            return line.map { $0.split(separator: ";") }
        }
        await bench.loop.eventually("resolved by both families") { resolved("IPv4") != nil && resolved("IPv6") != nil }
        let words = try #require(resolved("IPv4"))
        #expect(
            words.count == 10 && words[8] == "80" && words[9] == "\"flag\" \"a=1\"" || words[9] == "\"a=1\" \"flag\""
        )
        let addresses = Set(["IPv4", "IPv6"].compactMap { resolved($0).map { String($0[7]) } })
        let own = try Set(AddressFamily.allCases.map { try bench.address($0).description })
        #expect(addresses.isSubset(of: own), "\(addresses) \(own)")

        let subtypes = try avahi.client("avahi-browse", "-p", "_bright._sub._test._tcp")
        await bench.loop.eventually("the subtype") { subtypes.lines.contains { $0.hasPrefix("+;v1;IPv4;\(name);") } }
        let resolver = try avahi.client("avahi-resolve", "-4", "-n", "lamp.local")
        await bench.loop.eventually("the host") { resolver.lines.contains("lamp.local\t192.0.2.1") }

        bench.engine.withdraw(id)
        await bench.loop.eventually("its goodbye") {
            ["IPv4", "IPv6"].allSatisfy { family in
                browser.lines.contains { $0.hasPrefix("-;v1;\(family);\(name);") }
            }
        }
    }

    @Test func `a name that avahi-publish has makes us take another one`() async throws {
        let bench = try AdvertisingBench()
        let avahi = try await AvahiPeer(in: bench.peer, hostName: "avahi-host")
        let publisher = try avahi.publish("Lamp", "_test._tcp", 99, [])
        let browser = try avahi.client("avahi-browse", "-rp", "_test._tcp")
        await bench.loop.eventually("avahi's own service") {
            browser.lines.contains { $0.hasPrefix("=;v1;IPv4;Lamp;") && $0.contains(";99;") }
        }
        bench.engine.start()
        try bench.advertise()
        await bench.loop.eventually("another name") { bench.isRegistered }
        #expect(bench.renames == ["Lamp (2)._test._tcp.local"])
        await bench.loop.eventually("both services in avahi's eyes") {
            browser.lines.contains { $0.hasPrefix("=;v1;IPv4;Lamp;") && $0.contains(";99;") }
                && browser.lines.contains { $0.hasPrefix("=;v1;IPv4;Lamp\\032\\0402\\041;") && $0.contains(";80;") }
        }
        publisher.signal(SIGTERM)
    }

    @Test func `avahi takes another name for what we have already`() async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        let avahi = try await AvahiPeer(in: bench.peer, hostName: "avahi-host")
        let publisher = try avahi.publish("Lamp", "_test._tcp", 99, [])
        let browser = try avahi.client("avahi-browse", "-rp", "_test._tcp")
        await bench.loop.eventually("avahi's other name") {
            browser.lines.contains { $0.hasPrefix("=;v1;IPv4;Lamp\\032\\0352;") && $0.contains(";99;") }
        }
        #expect(bench.renames.isEmpty)
        publisher.signal(SIGTERM)
    }

    @Test(arguments: [true, false])
    func `beside an avahi-daemon on this machine the host name is left to it, whoever comes first`(
        avahiFirst: Bool
    ) async throws {
        let bench = try AdvertisingBench()
        let name = try #require(try Command.run(["hostname", "-s"]).split(separator: "\n").first.map(String.init))
        if !avahiFirst {
            bench.engine.start()
            try bench.advertise(host: .machine)
            await bench.loop.eventually("our own announcement") { bench.tap.tells(.a, "\(name).local") }
        }
        let avahi = try await AvahiPeer(in: bench.here, hostName: name, interface: "v0")
        let publisher = try avahi.publish("Local", "_test._tcp", 99, [])
        await bench.loop.eventually("avahi's announcement") { bench.tap.tells(.srv, "Local._test._tcp.local") }
        if avahiFirst {
            bench.engine.start()
            try bench.advertise(host: .machine)
        }
        await bench.loop.eventually("our service") { bench.tap.tells(.srv, "Lamp._test._tcp.local") }
        // From outside all is well: one host name, both services, each resolved.
        let outside = try await AvahiPeer(in: bench.peer, hostName: "outside")
        let browser = try outside.client("avahi-browse", "-rp", "_test._tcp")
        await bench.loop.eventually("both resolved from outside") {
            ["Lamp", "Local"].allSatisfy { service in
                // avahi takes the address that comes first, of either family.
                browser.lines.contains { $0.hasPrefix("=;v1;IPv4;\(service);_test._tcp;local;\(name).local;") }
            }
        }
        #expect(bench.renames.isEmpty)
        let hosts = Set(bench.tap.responses.flatMap(\.records).filter { $0.type == .a }.map(\.name.description))
        #expect(hosts == ["\(name).local"], "somebody was driven off the host name")
        publisher.signal(SIGTERM)
    }
}
