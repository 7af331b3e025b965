// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import Network
import TestSupport
import Testing

@Suite struct IPv4AddressTests {
    @Test(
        arguments: [
            ("192.0.2.1", [192, 0, 2, 1]), ("0.0.0.0", [0, 0, 0, 0]), ("255.255.255.255", [255, 255, 255, 255]),
        ] as [(String, [UInt8])]
    )
    func `reads and writes literals`(text: String, bytes: [UInt8]) throws {
        let address = try #require(IPv4Address(text))
        #expect(address.rawValue == Data(bytes))
        #expect(address.debugDescription == text)
        #expect(IPv4Address(Data(bytes)) == address)
        #expect(address.interface == nil)
    }

    @Test(arguments: ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "::1", "example.com", "1.2.3.4%nosuch0", "01.2.3.4"])
    func `refuses everything else`(text: String) { #expect(IPv4Address(text) == nil) }

    @Test(arguments: [0, 3, 5, 16])
    func `refuses other numbers of bytes`(count: Int) { #expect(IPv4Address(Data(count: count)) == nil) }

    @Test func `has the constants of the header files`() {
        #expect(IPv4Address.any.debugDescription == "0.0.0.0")
        #expect(IPv4Address.broadcast.debugDescription == "255.255.255.255")
        #expect(IPv4Address.loopback.debugDescription == "127.0.0.1")
        #expect(IPv4Address.allHostsGroup.debugDescription == "224.0.0.1")
        #expect(IPv4Address.allRoutersGroup.debugDescription == "224.0.0.2")
        #expect(IPv4Address.allReportsGroup.debugDescription == "224.0.0.22")
        #expect(IPv4Address.mdnsGroup.debugDescription == "224.0.0.251")
    }

    @Test func `knows classes of addresses`() throws {
        #expect(try #require(IPv4Address("127.8.9.1")).isLoopback)
        #expect(try #require(IPv4Address("169.254.1.1")).isLinkLocal)
        #expect(IPv4Address.mdnsGroup.isMulticast)
        let plain = try #require(IPv4Address("192.0.2.1"))
        #expect(!plain.isLoopback && !plain.isLinkLocal && !plain.isMulticast)
    }

    @Test func `takes a slice of data with any start`() {
        let data = Data([9, 9, 192, 0, 2, 7])[2...]
        #expect(IPv4Address(data)?.debugDescription == "192.0.2.7")
    }

    @Test(.inNamespace) func `keeps the interface behind the percent sign`() throws {
        let address = try #require(IPv4Address("127.0.0.1%lo"))
        #expect(address.interface == NWInterface(name: "lo", index: 1, type: .loopback))
        #expect(address.debugDescription == "127.0.0.1%lo")
        #expect(address != .loopback)
        #expect(IPv4Address(address.rawValue, address.interface) == address)
    }
}

@Suite struct IPv6AddressTests {
    @Test(arguments: [
        ("2001:db8::1", "2001:db8::1"), ("2001:0DB8:0:0:0:0:0:1", "2001:db8::1"), ("::", "::"), ("::1", "::1"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
    ])
    func `reads literals and writes the canonical ones`(text: String, canonical: String) throws {
        let address = try #require(IPv6Address(text))
        #expect(address.debugDescription == canonical)
        #expect(IPv6Address(address.rawValue) == address)
        #expect(address.rawValue.count == 16)
    }

    @Test(arguments: ["", "1.2.3.4", ":::", "2001:db8::1::2", "fe80::1%nosuch0", "fe80::1%", "g::1"])
    func `refuses everything else`(text: String) { #expect(IPv6Address(text) == nil) }

    @Test(arguments: [0, 4, 15, 17])
    func `refuses other numbers of bytes`(count: Int) { #expect(IPv6Address(Data(count: count)) == nil) }

    @Test func `has the constants of the header files`() {
        #expect(IPv6Address.any.debugDescription == "::")
        #expect(IPv6Address.broadcast == IPv6Address.any)
        #expect(IPv6Address.loopback.debugDescription == "::1")
        #expect(IPv6Address.nodeLocalNodes.debugDescription == "ff01::1")
        #expect(IPv6Address.linkLocalNodes.debugDescription == "ff02::1")
        #expect(IPv6Address.linkLocalRouters.debugDescription == "ff02::2")
    }

    @Test func `knows classes of addresses`() throws {
        #expect(IPv6Address.loopback.isLoopback && IPv6Address.any.isAny)
        #expect(try #require(IPv6Address("fe80::1")).isLinkLocal)
        #expect(try #require(IPv6Address("fd00::1")).isUniqueLocal)
        #expect(try #require(IPv6Address("2002:c000:201::1")).is6to4)
        let plain = try #require(IPv6Address("2001:db8::1"))
        #expect(!plain.isAny && !plain.isLoopback && !plain.isLinkLocal && !plain.isUniqueLocal && !plain.is6to4)
        #expect(!plain.isMulticast && !plain.isIPv4Mapped && !plain.isIPv4Compatabile)
    }

    @Test(
        arguments: [
            ("::ffff:192.0.2.1", true, false, "192.0.2.1"), ("::192.0.2.1", false, true, "192.0.2.1"),
            ("::1", false, false, nil), ("::", false, false, nil), ("2001:db8::1", false, false, nil),
        ] as [(String, Bool, Bool, String?)]
    )
    func `finds the IPv4 address inside`(text: String, isMapped: Bool, isCompatible: Bool, inside: String?) throws {
        let address = try #require(IPv6Address(text))
        #expect(address.isIPv4Mapped == isMapped)
        #expect(address.isIPv4Compatabile == isCompatible)
        #expect(address.asIPv4?.debugDescription == inside)
    }

    @Test(
        arguments: [
            ("ff01::1", .nodeLocal), ("ff02::fb", .linkLocal), ("ff05::2", .siteLocal), ("ff08::1", .organizationLocal),
            ("ff0e::1", .global), ("ff03::1", nil), ("2001:db8::1", nil),
        ] as [(String, IPv6Address.Scope?)]
    )
    func `reads the scope of a group`(text: String, scope: IPv6Address.Scope?) throws {
        #expect(try #require(IPv6Address(text)).multicastScope == scope)
    }

    @Test(.inNamespace) func `keeps the interface of a link-local address`() throws {
        let namespace = Namespace.current
        try namespace.ip("link add veth7 type veth")
        let address = try #require(IPv6Address("fe80::1%veth7"))
        #expect(address.interface?.name == "veth7")
        #expect(address.debugDescription == "fe80::1%veth7")
        let index = try #require(address.interface?.index)
        #expect(IPv6Address("fe80::1%\(index)") == address)
    }
}
