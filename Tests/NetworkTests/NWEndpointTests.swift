// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import Network
import TestSupport
import Testing

@Suite struct NWEndpointTests {
    private func host(_ text: String) -> NWEndpoint.Host { NWEndpoint.Host(text) }

    @Test func `tells literals from names`() throws {
        #expect(host("192.0.2.1") == .ipv4(try #require(IPv4Address("192.0.2.1"))))
        #expect(host("2001:db8::1") == .ipv6(try #require(IPv6Address("2001:db8::1"))))
        #expect(host("printer.local") == .name("printer.local", nil))
        #expect(host("fe80::1%nosuch0") == .name("fe80::1%nosuch0", nil))
        #expect(host("") == .name("", nil))
    }

    @Test func `is written as a string literal`() {
        let host: NWEndpoint.Host = "127.0.0.1"
        #expect(host == .ipv4(.loopback))
        #expect(NWEndpoint.hostPort(host: "::1", port: 80) == .hostPort(host: .ipv6(.loopback), port: .http))
    }

    @Test(.inNamespace) func `keeps the interface of names and addresses`() throws {
        let loopback = try #require(NWInterface(named: "lo"))
        #expect(loopback.type == .loopback)
        #expect(host("printer.local%lo") == .name("printer.local", loopback))
        #expect(host("printer.local%lo").debugDescription == "printer.local%lo")
        #expect(host("127.0.0.1%lo").interface == loopback)
        #expect(host("::1%lo").interface == loopback)
        let endpoint = NWEndpoint.hostPort(host: host("x%lo"), port: 1)
        #expect(endpoint.interface == loopback)
        let service = NWEndpoint.service(name: "Lamp", type: "_http._tcp", domain: "local.", interface: loopback)
        #expect(service.interface == loopback)
        #expect(service.debugDescription == "Lamp._http._tcp.local.%lo")
    }

    @Test func `names no interface by itself`() throws {
        #expect(NWEndpoint.unix(path: "/run/x").interface == nil)
        #expect(NWEndpoint.url(try #require(URL(string: "http://a/"))).interface == nil)
        #expect(NWEndpoint.hostPort(host: "a", port: 1).interface == nil)
        #expect(NWEndpoint.service(name: "a", type: "_b._tcp", domain: "", interface: nil).interface == nil)
        #expect(NWInterface(named: "nosuch0") == nil)
        #expect(NWInterface(index: 999_999) == nil)
    }

    @Test func `is readable`() throws {
        let table: [(NWEndpoint, String)] = [
            (.hostPort(host: "192.0.2.1", port: 80), "192.0.2.1:80"),
            (.hostPort(host: "2001:db8::1", port: 443), "2001:db8::1.443"),
            (.hostPort(host: "example.com", port: .https), "example.com:443"),
            (.service(name: "Lamp", type: "_http._tcp", domain: "local", interface: nil), "Lamp._http._tcp.local"),
            (.service(name: "Lamp", type: "_http._tcp.", domain: "local.", interface: nil), "Lamp._http._tcp.local."),
            (.service(name: "Lamp", type: "_http._tcp", domain: "", interface: nil), "Lamp._http._tcp"),
            (.unix(path: "/run/x.sock"), "/run/x.sock"),
            (.url(try #require(URL(string: "ws://a:1/b"))), "ws://a:1/b"),
        ]
        for (endpoint, text) in table { #expect(endpoint.debugDescription == text) }
    }

    @Test func `can be a key`() {
        let endpoints: Set<NWEndpoint> = [
            .hostPort(host: "::1", port: 1), .hostPort(host: "::1", port: 1), .hostPort(host: "::1", port: 2),
        ]
        #expect(endpoints.count == 2)
    }

    @Test(
        arguments: [
            ("80", 80), ("0", 0), ("65535", 65535), ("http", 80), ("https", 443), ("ssh", 22), ("socks", 1080),
            ("pop3", 110), ("imaps", 993), ("smtp", 25), ("imap", 143),
        ] as [(String, UInt16)]
    )
    func `reads ports by number and by name`(text: String, number: UInt16) {
        #expect(NWEndpoint.Port(text)?.rawValue == number)
    }

    @Test(arguments: ["65536", "-1", "", "no such service", "80 "])
    func `refuses what is no port`(text: String) { #expect(NWEndpoint.Port(text) == nil) }

    @Test func `has ports as literals and constants`() {
        let port: NWEndpoint.Port = 8080
        #expect(port.rawValue == 8080 && port.debugDescription == "8080")
        #expect(NWEndpoint.Port(rawValue: 0) == .any)
        #expect(NWEndpoint.Port.pop.rawValue == 110)
    }

    /// `/etc/services` is part of Debian's netbase, which a small machine may lack.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/etc/services"), "no /etc/services"))
    func `asks services(5) for other names`() {
        #expect(NWEndpoint.Port("ipp")?.rawValue == 631)
        #expect(NWEndpoint.Port("ntp")?.rawValue == 123)
    }
}
