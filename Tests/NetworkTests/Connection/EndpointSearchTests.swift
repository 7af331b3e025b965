// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import CNetworkShims
import DNSWire
import Foundation
import Glibc
import LinuxIO
@testable import Network
import TestSupport
import Testing

@Suite struct EndpointSearchTests {
    private typealias Target = EndpointSearch.Target

    private func target(_ url: String) throws -> Target { try Target(.url(try #require(URL(string: url)))) }

    private func name(_ labels: String...) throws -> [[UInt8]] { labels.map { Array($0.utf8) } }

    @Test func `an address is known`() throws {
        let four = try Target(.hostPort(host: "192.0.2.1", port: 80))
        #expect(four == .end(SocketEnd(address: .v4(0xC000_0201), port: 80)))
        let six = try Target(.hostPort(host: .ipv6(.loopback), port: 81))
        #expect(six == .end(SocketEnd(address: .v6(1), port: 81)))
        #expect(try Target(.unix(path: "/run/a")) == .path("/run/a"))
    }

    @Test func `a name is looked up`() throws {
        let host = try Target(.hostPort(host: "a.example", port: 443))
        #expect(host == .host("a.example", port: 443, interface: nil))
    }

    @Test(
        arguments: [
            ("http://a.example/x", 80), ("ws://a.example", 80), ("https://a.example/x?y", 443),
            ("WSS://a.example/", 443), ("ws://a.example:8080/", 8080), ("any://a.example:1/", 1),
        ]
    )
    func `a URL has a host and a port, or that of its scheme`(text: String, port: UInt16) throws {
        #expect(try target(text) == .host("a.example", port: port, interface: nil))
    }

    @Test func `a URL may have an address`() throws {
        #expect(try target("http://127.0.0.1:9/") == .end(SocketEnd(address: .v4(0x7F00_0001), port: 9)))
        #expect(try target("ws://[::1]:9/") == .end(SocketEnd(address: .v6(1), port: 9)))
    }

    @Test(arguments: ["mailto:a@example", "any://a.example/", "/path", "http://a.example:70000/"])
    func `a URL that leads nowhere is refused`(text: String) throws {
        #expect(throws: NWError.posix(.EINVAL)) { try target(text) }
    }

    @Test func `a service is looked for on the links`() throws {
        let service = NWEndpoint.service(name: "My Lamp", type: "_http._tcp.", domain: "local", interface: nil)
        guard case .service(let instances, nil) = try Target(service) else {
            Issue.record("no service")
            return
        }
        #expect(try instances.map(\.labels) == [name("My Lamp", "_http", "_tcp", "local")])
        let dotted = NWEndpoint.service(name: "Dr. No", type: "_http._tcp", domain: "local", interface: nil)
        guard case .service(let ways, nil) = try Target(dotted) else {
            Issue.record("no service")
            return
        }
        let long = NWEndpoint.service(name: "TV", type: "_androidtvremote2._tcp", domain: "local.", interface: nil)
        let names = try #require(DomainName("TV._androidtvremote2._tcp.local"))
        #expect(try Target(long) == .service([names], interface: nil))
        let cut = try name("Dr", " No", "_http", "_tcp", "local")
        #expect(try ways.map(\.labels) == [name("Dr. No", "_http", "_tcp", "local"), cut])
    }

    @Test(
        arguments: [
            ("Lamp", "_http._tcp", "example.com", kDNSServiceErr_Unsupported),
            ("Lamp", "nonsense", "local.", kDNSServiceErr_BadParam), ("", "_http._tcp", "", kDNSServiceErr_BadParam),
            (String(repeating: "x", count: 64), "_http._tcp", "", kDNSServiceErr_BadParam),
        ]
    )
    func `a service that cannot be is refused`(name: String, type: String, domain: String, code: Int32) {
        #expect(throws: NWError.dns(code)) {
            try Target(.service(name: name, type: type, domain: domain, interface: nil))
        }
    }

    @Test(
        arguments: [
            (Int32(EAI_NONAME), kDNSServiceErr_NoSuchRecord), (-5, kDNSServiceErr_NoSuchRecord),
            (EAI_AGAIN, kDNSServiceErr_Timeout), (EAI_MEMORY, kDNSServiceErr_NoMemory),
            (EAI_FAIL, kDNSServiceErr_Unknown),
        ] as [(Int32, Int32)]
    )
    func `what the resolver says is told in Apple's words`(code: Int32, expected: Int32) {
        #expect(HostSearch.error(of: code) == .dns(expected))
    }

    @Test(.inNamespace, arguments: [AddressFamily.ipv4, .ipv6])
    func `a literal is looked up without a server, in its own family alone`(family: AddressFamily) async {
        let found = Record<HostSearch.Outcome>()
        let loop = Namespace.current.loop
        let searches = ["127.0.0.1", "::1"].map { name in
            HostSearch(name, family, port: 7, loop: loop) { found.append($0) }
        }
        await loop.eventually("both answers") { found.values.count == 2 }
        let ends = found.values.compactMap { try? $0.get() }.joined()
        let address: Addressing.IPAddress = family == .ipv4 ? .v4(0x7F00_0001) : .v6(1)
        #expect(Array(ends) == [SocketEnd(address: address, port: 7)])
        withExtendedLifetime(searches) {}
    }

    @Test(.inNamespace) func `more names are looked up than there are threads for it`() async {
        let found = Record<Bool>()
        let loop = Namespace.current.loop
        let searches = (0..<40).map { number in
            HostSearch("127.0.0.\(number)", .ipv4, port: 7, loop: loop) { found.append((try? $0.get()) != nil) }
        }
        for search in searches.prefix(4) { search.cancel() }
        await loop.eventually("all but the cancelled ones") { found.values.count == 36 }
        #expect(found.values.allSatisfy { $0 })
    }

    // MARK: - Ends

    @Test(arguments: ["192.0.2.1", "2001:db8::1", "0.0.0.0", "::", "::ffff:192.0.2.1"])
    func `an end goes through a shim and back`(text: String) {
        let address = RawAddress(text) ?? .v4(0)
        let end = SocketEnd(address: address, port: 65_535)
        let shim = end.shim
        #expect(shim.length == (address.family == .ipv4 ? 4 : 16) && shim.port == 65_535)
        #expect(SocketEnd(shim) == end)
    }

    @Test func `the scope of a link-local address is kept`() {
        let address = RawAddress("fe80::1") ?? .v4(0)
        let end = SocketEnd(address: address, scope: 7, port: 1)
        #expect(end.shim.scope == 7 && SocketEnd(end.shim) == end)
        #expect(SocketEnd(nwp_end()) == nil, "no address")
    }

    @Test func `ends are endpoints`() {
        let end = SocketEnd(address: .v4(0x7F00_0001), port: 80)
        #expect(end.endpoint == .hostPort(host: "127.0.0.1", port: 80))
        #expect(SocketEnd(end.endpoint) == end)
        #expect(SocketEnd(.hostPort(host: "a.example", port: 80)) == nil)
        #expect(SocketEnd(.unix(path: "/a")) == nil)
        #expect(SocketEnd.any(.ipv4, port: 5) == SocketEnd(address: .v4(0), port: 5))
        #expect(SocketEnd.any(.ipv6, port: 5) == SocketEnd(address: .v6(0), port: 5))
    }
}
