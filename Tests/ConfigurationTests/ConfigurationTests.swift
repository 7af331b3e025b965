// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import PathModel
import Spelling
import Testing

@testable import Configuration

@Suite struct ConfigurationTests {
    @Test(arguments: ["", "# nothing\n", "log:\n", "log:\n  # file: x\ninterfaces:\n", "{}"])
    func `an empty file gives the defaults`(text: String) throws {
        let configuration = try read(text)
        #expect(configuration == Configuration(paths: rootPaths))
        #expect(
            configuration.listen.map(\.description) == ["unix:/run/nwpath/api.sock", "127.0.0.1:8353", "[::1]:8353"]
        )
        #expect(configuration.debounce.quiet == .milliseconds(100))
        #expect(configuration.mdns.censusInterval == .seconds(60))
        #expect(configuration.log.file == "/var/log/nwpath/events.jsonl")
        #expect(configuration.probes.ipv6.map(\.description).contains("2001:4860:4860::8888"))
    }

    @Test func `reads every key`() throws {
        let full = try read(fullConfiguration)
        #expect(
            full.listen.map(\.description) == [
                "unix:/run/nwpath/api.sock", "127.0.0.1:9000", "[::1]:9000", "192.0.2.1:8353",
            ]
        )
        #expect(full.hosts == ["nas.example.test", "edge-17"])
        #expect(full.stateDirectory == "/srv/nwpath")
        #expect(full.log.level == .debug)
        #expect(full.log.maximumSize == .mebibytes(10))
        #expect(full.log.keep == 9)
        #expect(full.debounce.cap == .seconds(2))
        #expect(full.auditInterval == .zero)
        #expect(full.probes.ipv4 == [.v4(0xC000_0201), .v4(0xC633_6401)])
        #expect(full.ignore.map { $0.matches("docker0") } == [true, false])
        #expect(full.monitors.map(\.name) == ["wired", "free"])
        #expect(full.monitors[1].value.prohibitedTypes == [.cellular, .other])
        #expect(full.views[0].value.mark == 0xCA6C)
        #expect(full.views[1].value.outputInterface == "wwan0")
        #expect(full.views[1].value.userID == 1000)
        #expect(full.gatewayLiveness.isStrict)
        #expect(full.mdns.watched.map(\.name) == ["Office Printer", nil])
        #expect(full.limits.headerTimeout == .seconds(3))
    }

    @Test func `the full example differs from the defaults in every key`() throws {
        let changed = try read(fullConfiguration).difference(from: Configuration(paths: rootPaths)).changed
        let keys = Configuration.reference(paths: rootPaths)
            .filter { $0.variable != nil && $0.key != "mdns.enabled" }.map(\.key)
        #expect(keys.filter { !changed.contains($0) } == [])
    }

    @Test func `the effective dump reads back to the same`() throws {
        let full = try read(fullConfiguration)
        #expect(try read(full.yaml) == full)
        #expect(full.yaml.contains("interfaces:\n  eth0:\n    required: true\n    expensive: false\n"))
    }

    @Test func `tells the path model what shapes paths`() throws {
        let policy = try read(fullConfiguration).pathPolicy
        #expect(policy.probes[.ipv6]?.map(\.description) == ["2001:db8::1"])
        #expect(policy.ignore == ["docker*", "veth*"])
        #expect(
            policy.interfaces == [
                InterfacePolicy(match: "eth0", isRequired: true, isExpensive: false),
                InterfacePolicy(
                    match: "wwan*",
                    type: .cellular,
                    isExpensive: true,
                    isConstrained: true,
                    isUltraConstrained: false
                ),
            ]
        )
        #expect(
            policy.monitors == [
                MonitorPolicy(name: "wired", requiredType: .wiredEthernet),
                MonitorPolicy(name: "free", prohibitedTypes: [.cellular, .other]),
                MonitorPolicy(name: "vpn", mark: 0xCA6C),
                MonitorPolicy(name: "lte", uid: 1000, outputInterface: "wwan0"),
            ]
        )
        #expect(policy.requiresVPN)
        #expect(policy.isGatewayStrict)
        #expect(Configuration(paths: rootPaths).pathPolicy == PathPolicy())
    }

    @Test func `later files replace values and lists, and add to maps`() throws {
        let texts = [
            ("a.yaml", "ignore: [a, b]\ninterfaces: {eth0: {required: true}}\nlog: {keep: 1, max_age: 1h}"),
            ("b.yaml", "ignore: [c]\ninterfaces: {eth0: {expensive: true}, eth1: {required: true}}\nlog: {keep: 2}"),
        ]
        let sources = texts.map { Configuration.Source(name: $0.0, bytes: Array($0.1.utf8)) }
        let merged = try Configuration.read(sources, paths: rootPaths)
        #expect(merged.ignore.map(\.description) == ["c"])
        #expect(merged.interfaces.map(\.name) == ["eth0", "eth1"])
        #expect(merged.interfaces[0].value.isRequired == true)
        #expect(merged.interfaces[0].value.isExpensive == true)
        #expect(merged.log.keep == 2)
        #expect(merged.log.maximumAge == .seconds(3600))
    }

    @Test func `every stored property has a key`() {
        func count(_ value: Any) -> Int { Mirror(reflecting: value).children.count }
        #expect(count(Configuration(paths: rootPaths)) == Configuration.settings.count)
        #expect(count(LogSettings(file: "/x")) == LogSettings.settings.count)
        #expect(count(DebounceSettings()) == DebounceSettings.settings.count)
        #expect(count(ProbeSettings()) == ProbeSettings.settings.count)
        #expect(count(ActiveProbeSettings()) == ActiveProbeSettings.settings.count)
        #expect(count(InterfaceSettings()) == InterfaceSettings.settings.count)
        #expect(count(MonitorSettings()) == MonitorSettings.settings.count)
        #expect(count(ViewSettings()) == ViewSettings.settings.count)
        #expect(count(GatewayLivenessSettings()) == GatewayLivenessSettings.settings.count)
        #expect(count(DNSSettings()) == DNSSettings.settings.count)
        #expect(count(ProviderSettings()) == ProviderSettings.settings.count)
        #expect(count(MulticastSettings()) == MulticastSettings.settings.count)
        #expect(count(LimitSettings()) == LimitSettings.settings.count)
    }
}
