// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Probes
import Testing

@testable import Configuration

@Suite struct ActiveProbeTests {
    private static func probe(_ settings: String) throws -> ProbeDefinition {
        try #require(try read("probes: {active: {p: {\(settings)}}}").probeDefinitions.first)
    }

    @Test func `nothing is sent unless the configuration names a probe`() throws {
        #expect(try read("").probeDefinitions.isEmpty)
        #expect(try read("probes: {active: {}}").probeDefinitions.isEmpty)
    }

    @Test func `a target is enough`() throws {
        let probe = try Self.probe("target: gateway")
        #expect(probe.name == "p" && probe.method == .icmp && probe.target == .gateway)
        #expect(probe.interval == .seconds(30) && probe.timeout == .seconds(2) && probe.threshold == 3)
        #expect(probe.route == ProbeRoute() && probe.family == nil)
        #expect(probe.page == PageExpectation() && probe.question == ServerQuestion())
    }

    @Test func `an attempt does not take longer than the interval`() throws {
        #expect(try Self.probe("target: gateway, interval: 1s").timeout == .seconds(1))
        #expect(try Self.probe("target: gateway, interval: 3s").timeout == .seconds(2))
        #expect(try Self.probe("target: gateway, interval: 3s, timeout: 3s").timeout == .seconds(3))
        #expect(try Self.probe("target: gateway, interval: 1s, timeout: 50ms").timeout == .milliseconds(50))
    }

    @Test(
        arguments: [
            ("target: 192.0.2.1", .icmp), ("target: 'example.test:443'", .tcp),
            ("target: 'https://example.test/x'", .http), ("target: example.test, method: dns", .dns),
            ("target: example.test, method: icmp", .icmp),
        ] as [(String, ProbeMethod)]
    )
    func `the look of the target tells the method, unless it is said`(
        settings: String,
        method: ProbeMethod
    ) throws {
        #expect(try Self.probe(settings).method == method)
    }

    @Test func `every key has its effect`() throws {
        let page = try Self.probe(
            """
            target: "http://example.test/generate_204", interval: 5m, timeout: 500ms, threshold: 1, family: ipv6,
            interface: wwan0, mark: 0x10, uid: 1000, expect_status: [204], ca: /etc/ca.pem
            """
        )
        #expect(
            page.interval == .seconds(300) && page.timeout == .milliseconds(500) && page.threshold == 1
        )
        #expect(page.family == .ipv6)
        #expect(page.route == ProbeRoute(interface: "wwan0", mark: 16, userID: 1000))
        #expect(page.page == PageExpectation(statuses: [204], authorities: "/etc/ca.pem"))
        let name = try Self.probe(
            "target: example.test, method: dns, server: '[2001:db8::53]:5353', record: AAAA, transport: tcp"
        )
        let server = try #require(SocketAddress("[2001:db8::53]:5353", standardPort: 53))
        #expect(name.question == ServerQuestion(server: server, record: .aaaa, transport: .tcp))
        #expect(try Self.probe("target: example.test, method: dns").question == ServerQuestion())
    }

    @Test(
        arguments: [
            ("{}", "nwpath.yaml:1:19: probes.active.p needs a target"),
            (
                "{target: 'a b'}",
                "nwpath.yaml:1:31: probes.active.p.target is 'a b', expected an address, a host name or gateway for icmp"
            ),
            (
                "{target: example.test, method: tcp}",
                """
                nwpath.yaml:1:31: probes.active.p.target is 'example.test', expected HOST:PORT with a port from 1 to 65535, such as example.test:443 or \
                [2001:db8::1]:443 for tcp
                """
            ),
            (
                "{target: a.test, method: ping}",
                "nwpath.yaml:1:47: probes.active.p.method is 'ping', expected one of icmp, tcp, http, dns"
            ),
            (
                "{target: a.test, inteval: 1s}",
                "nwpath.yaml:1:39: unknown key 'inteval' in probes.active.p (did you mean 'interval'?)"
            ),
            (
                "{target: a.test, interval: 1s, timeout: 2s}",
                "nwpath.yaml:1:62: probes.active.p.timeout must not be longer than the interval"
            ),
            (
                "{target: a.test, server: 192.0.2.53}",
                "nwpath.yaml:1:47: probes.active.p.server is for probes of method dns, this one is icmp"
            ),
            (
                "{target: 'a.test:80', expect_status: [200]}",
                "nwpath.yaml:1:59: probes.active.p.expect_status is for probes of method http, this one is tcp"
            ),
            (
                "{target: 'http://a.test/', expect_status: []}",
                "nwpath.yaml:1:64: probes.active.p.expect_status needs at least one status"
            ),
            (
                "{target: a.test, method: dns, server: ns.test}",
                """
                nwpath.yaml:1:60: probes.active.p.server is 'ns.test', expected an address such as 192.0.2.53 or \
                [2001:db8::53]:5353
                """
            ),
        ]
    )
    func `what contradicts is told at its place`(settings: String, problem: String) {
        #expect(problems("probes: {active: {p: \(settings)}}") == [problem])
    }

    @Test(arguments: ProbeMethod.allCases)
    func `a key of one method is refused for every other`(method: ProbeMethod) throws {
        let values = [
            "expect_status": "[204]", "ca": "/a", "server": "192.0.2.53", "record": "AAAA", "transport": "tcp",
        ]
        let targets = ["icmp": "gateway", "tcp": "'a.test:80'", "http": "'http://a.test/'", "dns": "a.test"]
        let target = try #require(targets[method.rawValue], "a target of \(method)")
        for key in Set(ProbeMethod.allCases.flatMap(\.keys)) {
            let value = try #require(values[key], "a value of \(key)")
            let settings = "probes: {active: {p: {target: \(target), method: \(method), \(key): \(value)}}}"
            let found = problems(settings)
            #expect(found.isEmpty == method.keys.contains(key), "\(settings): \(found)")
            #expect(found.allSatisfy { $0.contains("p.\(key) is for probes of method ") })
        }
    }

    @Test(arguments: ["P", "a b", "", "a/b", "averyveryveryveryverylongnameofaprobe"])
    func `a name is fit for labels and routes`(name: String) {
        #expect(problems("probes: {active: {'\(name)': {target: gateway}}}").count == 1)
    }

    @Test func `later files change single keys of a probe`() throws {
        let first = Configuration.Source(
            name: "a",
            bytes: Array("probes: {active: {p: {target: gateway}}}".utf8)
        )
        let second = Configuration.Source(
            name: "b",
            bytes: Array("probes: {active: {p: {threshold: 1}}}".utf8)
        )
        let merged = try Configuration.read([first, second], paths: rootPaths).probeDefinitions
        #expect(merged.count == 1 && merged.first?.target == .gateway && merged.first?.threshold == 1)
    }

    @Test func `a reload knows what changed`() throws {
        let old = try read("probes: {active: {a: {target: gateway}, b: {target: gateway}}}")
        let new = try read(
            "probes: {active: {a: {target: gateway, threshold: 1}, c: {target: gateway}}}"
        )
        let difference = new.difference(from: old)
        #expect(
            Set(difference.changed) == ["probes.active.a.threshold", "probes.active.b", "probes.active.c"]
        )
        #expect(difference.restartNeeded.isEmpty)
    }

    @Test(
        arguments: [
            ("interval", ["1s", "24h", "1500ms"], ["0", "999ms", "25h", "often"]),
            ("timeout", ["10ms", "2s"], ["0", "9ms", "61s", "1"]),
            ("threshold", ["1", "100"], ["0", "101", "-1", "1.5", "'3'"]),
            ("family", ["ipv4", "ipv6"], ["ip4", "any", "4"]),
            ("interface", ["eth0", "wlan0.7"], ["'a b'", "a/b", String(repeating: "a", count: 128)]),
            ("mark", ["0", "7", "0xffffffff"], ["-1", "0x", "4294967296"]),
            ("uid", ["0", "1000"], ["nobody", "4294967295"]),
            ("method", ["icmp"], ["ICMP", "ping", "udp"]),
        ] as [(String, [String], [String])]
    )
    func `a key takes what is within its bounds and nothing else`(key: String, good: [String], bad: [String]) {
        for value in good {
            #expect(problems("probes: {active: {p: {target: gateway, \(key): \(value)}}}") == [], "\(value)")
        }
        for value in bad {
            let found = problems("probes: {active: {p: {target: gateway, \(key): \(value)}}}")
            #expect(found.count == 1 && found.first?.contains("probes.active.p.\(key)") == true, "\(value): \(found)")
        }
    }

    @Test(
        arguments: [
            ("expect_status", ["[204]", "[100, 599]"], ["[99]", "[600]", "204", "[ok]"]),
            ("ca", ["/etc/ca.pem"], ["ca.pem", "''"]),
        ] as [(String, [String], [String])]
    )
    func `keys of pages are bounded as well`(key: String, good: [String], bad: [String]) {
        func found(_ value: String) -> [String] {
            problems("probes: {active: {p: {target: 'http://a.test/', \(key): \(value)}}}")
        }
        for value in good { #expect(found(value) == [], "\(value)") }
        for value in bad { #expect(found(value).count == 1, "\(value): \(found(value))") }
    }

    @Test func `at most 64 probes are taken`() {
        let entries = (0...64).map { "p\($0): {target: gateway}" }.joined(separator: ", ")
        #expect(problems("probes: {active: {\(entries)}}").count == 1)
    }
}
