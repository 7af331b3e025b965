// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import PathModel
import Testing

@testable import Probes

@Suite struct ProbeTargetTests {
    @Test(
        arguments: [
            (.icmp, "192.0.2.1", "192.0.2.1"), (.icmp, "fe80::1%eth0", "fe80::1%eth0"), (.icmp, "gateway", "gateway"),
            (.icmp, "router.example.test", "router.example.test"), (.icmp, "nas", "nas"),
            (.tcp, "192.0.2.1:443", "192.0.2.1:443"), (.tcp, "[2001:db8::1]:443", "[2001:db8::1]:443"),
            (.tcp, "example.test:1", "example.test:1"), (.tcp, "gateway:80", "gateway:80"),
            (.http, "http://example.test", "http://example.test/"),
            (.http, "HTTPS://example.test:8443/x?y=z", "https://example.test:8443/x?y=z"),
            (.http, "http://[2001:db8::1]:80/a", "http://[2001:db8::1]/a"),
            (.http, "http://e.test?q", "http://e.test/?q"),
            (.dns, "example.test", "example.test"), (.dns, "_ldap._tcp.example.test.", "_ldap._tcp.example.test."),
        ] as [(ProbeMethod, String, String)]
    )
    func `a target is read and written back`(method: ProbeMethod, text: String, expected: String) throws {
        let target = try #require(ProbeTarget(text, method: method))
        #expect(target.description == expected)
        #expect(ProbeTarget(target.description, method: method) == target)
    }

    @Test(
        arguments: [
            (.icmp, ""), (.icmp, "192.0.2.256"), (.icmp, "1.2.3"), (.icmp, "a b"), (.icmp, "-x.test"), (.icmp, "a..b"),
            (.icmp, "192.0.2.1%eth0"), (.icmp, "fe80::1%"), (.icmp, "http://a.test/"), (.icmp, "a.test:80"),
            (.icmp, String(repeating: "a", count: 64)), (.tcp, "a.test"), (.tcp, "a.test:0"), (.tcp, "a.test:65536"),
            (.tcp, "a.test:+1"), (.tcp, "2001:db8::1"), (.tcp, "[2001:db8::1]"), (.tcp, "[2001:db8::1:443"),
            (.tcp, ":80"),
            (.tcp, "[2001:db8::1]443"), (.http, "ftp://a.test/"), (.http, "a.test"), (.http, "http://"),
            (.http, "http:///x"), (.http, "http://u:p@a.test/"), (.http, "http://a.test/#x"),
            (.http, "http://a.test/ x"),
            (.http, "http://a.test:x/"), (.http, "http://" + String(repeating: "a", count: 3000)),
            (.dns, ""), (.dns, "192.0.2.1"), (.dns, String(repeating: "a", count: 64)),
        ] as [(ProbeMethod, String)]
    )
    func `what is no target is refused`(method: ProbeMethod, text: String) {
        #expect(ProbeTarget(text, method: method) == nil)
    }

    @Test(
        arguments: [
            ("http://a.test/", .http), ("https://a.test", .http), ("a.test:80", .tcp), ("[2001:db8::1]:80", .tcp),
            ("a.test", .icmp), ("192.0.2.1", .icmp), ("2001:db8::1", .icmp), ("fe80::1%eth0", .icmp),
            ("gateway", .icmp),
        ] as [(String, ProbeMethod)]
    )
    func `the look of a target tells the method`(text: String, method: ProbeMethod) {
        #expect(ProbeTarget.likelyMethod(of: text) == method)
    }

    @Test func `every method says what it wants`() {
        for method in ProbeMethod.allCases { #expect(!method.targetForm.isEmpty) }
    }

    @Test func `a server's address may have a port`() throws {
        #expect(SocketAddress("192.0.2.53", standardPort: 53)?.description == "192.0.2.53:53")
        #expect(SocketAddress("2001:db8::53", standardPort: 53)?.description == "[2001:db8::53]:53")
        #expect(SocketAddress("[2001:db8::53]:5353", standardPort: 53)?.port == 5353)
        for text in ["", "a.test", "192.0.2.53:", "192.0.2.53:0", "[::1"] {
            #expect(SocketAddress(text, standardPort: 53) == nil, "\(text)")
        }
    }
}

@Suite struct AddressPlanTests {
    private static func plan(
        _ target: String,
        _ method: ProbeMethod,
        family: AddressFamily? = nil
    ) throws -> AddressPlan {
        let target = try #require(ProbeTarget(target, method: method))
        let definition = ProbeDefinition(name: "p", method: method, target: target, family: family)
        return AddressPlan(definition, ProbeContext())
    }

    @Test func `addresses are asked, names looked up`() throws {
        let address = ScopedAddress(.v4(0xC000_0201))
        #expect(try Self.plan("192.0.2.1", .icmp) == .test(address))
        #expect(try Self.plan("192.0.2.1", .icmp, family: .ipv4) == .test(address))
        #expect(try Self.plan("http://192.0.2.1/", .http) == .test(address))
        #expect(try Self.plan("a.test:80", .tcp, family: .ipv6) == .lookUp("a.test"))
    }

    @Test func `a gateway is found by an alternative name of its interface`() {
        let gateway = ScopedAddress(.v4(0xC000_0201))
        let context = ProbeContext(
            gateways: [Gateway(address: gateway, interface: "eth0", family: .ipv4)],
            interfaceNames: ["enp0s31f6": "eth0"]
        )
        for (name, isThere) in [("eth0", true), ("enp0s31f6", true), ("eth1", false)] {
            let route = ProbeRoute(interface: name)
            let definition = ProbeDefinition(name: "p", method: .icmp, target: .gateway, route: route)
            #expect((AddressPlan(definition, context) == .test(gateway)) == isThere)
        }
    }

    @Test func `what cannot be is told`() throws {
        for (target, method) in [("192.0.2.1", ProbeMethod.icmp), ("gateway", .icmp), ("a.test", .dns)] {
            guard case .impossible(let result) = try Self.plan(target, method, family: .ipv6) else {
                Issue.record("\(target) was possible")
                continue
            }
            #expect(!result.isSuccess)
        }
    }
}

@Suite struct ProbeHostTests {
    @Test func `addresses and names are told apart`() {
        #expect(ProbeHost("192.0.2.1") == .address(ScopedAddress(.v4(0xC000_0201))))
        #expect(ProbeHost("::1")?.description == "::1")
        #expect(ProbeHost("fe80::1%eth0")?.description == "fe80::1%eth0")
        #expect(ProbeHost("example.test.") == .name("example.test."))
        #expect(ProbeHost("a_b.test") == .name("a_b.test"))
    }

    @Test(arguments: ["", ".", "a.", "1", "1.2.3.4.5", "a-.test", "a b", "a/b", "ä.test", "::1%"])
    func `what can be no host is refused`(text: String) {
        guard text != "a." else {
            #expect(ProbeHost(text) == .name(text))
            return
        }
        #expect(ProbeHost(text) == nil)
    }

    @Test func `a name has at most 253 bytes`() {
        let label = String(repeating: "a", count: 49)
        let long = [label, label, label, label, label].joined(separator: ".")
        #expect(long.utf8.count == 249 && ProbeHost(long) != nil)
        #expect(ProbeHost(long + ".aaaa") == nil)
    }
}
