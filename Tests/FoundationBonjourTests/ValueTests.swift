// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Foundation
@testable import FoundationBonjour
import Testing

@Suite struct TextRecordTests {
    @Test func `goes from a dictionary to data and back`() {
        let dictionary = ["path": Data("/x".utf8), "empty": Data(), "raw": Data([0, 255])]
        let data = NetService.data(fromTXTRecord: dictionary)
        #expect(NetService.dictionary(fromTXTRecord: data) == dictionary)
        #expect(data == NetService.data(fromTXTRecord: dictionary), "the order is that of the keys")
    }

    @Test func `leaves out what does not fit`() {
        let dictionary = [
            "": Data(), "a=b": Data(), "ü": Data(), "long": Data(count: 251), "fits": Data(count: 250),
        ]
        let data = NetService.data(fromTXTRecord: dictionary)
        #expect(NetService.dictionary(fromTXTRecord: data).keys.sorted() == ["fits"])
        #expect(data.count == 256)
    }

    @Test func `an empty record is one zero byte, and broken data is no entry`() {
        #expect(NetService.data(fromTXTRecord: [:]) == Data([0]))
        #expect(NetService.dictionary(fromTXTRecord: Data([0])).isEmpty)
        #expect(NetService.dictionary(fromTXTRecord: Data([9, 65])).isEmpty)
        #expect(NetService.dictionary(fromTXTRecord: Data([4, 102, 108, 97, 103])) == ["flag": Data()])
    }
}

@Suite struct SocketAddressTests {
    @Test func `an IPv4 address is a sockaddr_in`() {
        let data = SocketAddress.data(.v4(0xC000_0201), port: 8080, scope: 7)
        #expect(Array(data) == [2, 0, 0x1F, 0x90, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `an IPv6 address is a sockaddr_in6, with the scope of link-local ones`() throws {
        let link = try #require(Addressing.IPAddress("fe80::1") as Addressing.IPAddress?)
        let data = SocketAddress.data(link, port: 1, scope: 7)
        #expect(data.count == 28)
        #expect(Array(data.prefix(8)) == [10, 0, 0, 1, 0, 0, 0, 0])
        #expect(Array(data[8..<24]) == link.bytes)
        #expect(Array(data.suffix(4)) == [7, 0, 0, 0])
        let wide = SocketAddress.data(.v6(1), port: 1, scope: 7)
        #expect(Array(wide.suffix(4)) == [0, 0, 0, 0])
    }
}

@Suite struct ServiceIdentityTests {
    @Test(arguments: ["_http._tcp", "_http._tcp."]) func `takes types with and without a dot`(type: String) throws {
        let identity = try ServiceIdentity(domain: "local.", type: type, name: "Lamp 1.5")
        #expect(identity.type == DomainName("_http._tcp.local"))
        #expect(identity.registeredType == "_http._tcp" && identity.subtypes.isEmpty)
        #expect(identity.instances.first?.labels.first == Array("Lamp 1.5".utf8))
    }

    @Test func `a name with dots may be one label or several, as its sender has it`() throws {
        let dotted = try ServiceIdentity(domain: "", type: "_a._tcp", name: "Dr. No")
        let labels = dotted.instances.map { $0.labels.map { String(decoding: $0, as: UTF8.self) } }
        #expect(labels == [["Dr. No", "_a", "_tcp", "local"], ["Dr", " No", "_a", "_tcp", "local"]])
        #expect(try ServiceIdentity(domain: "", type: "_a._tcp", name: "end.").instances.count == 1)
        #expect(try ServiceIdentity(domain: "", type: "_a._tcp", name: "").instances == [])
    }

    @Test func `takes types that nobody may register`() throws {
        let identity = try ServiceIdentity(domain: "local.", type: "_androidtvremote2._tcp.", name: "TV")
        #expect(identity.instances == [try #require(DomainName("TV._androidtvremote2._tcp.local"))])
    }

    @Test func `subtypes follow commas`() throws {
        let identity = try ServiceIdentity(domain: "", type: "_http._tcp.,_a,_b", name: "")
        #expect(identity.registeredType == "_http._tcp" && identity.subtypes == ["_a", "_b"])
    }

    @Test(arguments: [
        ("example.com.", "_http._tcp.", "x"), ("local.", "http", "x"), ("local.", "_http._tcp.,", "x"),
        ("local.", "", "x"), ("local.", "_http._tcp", String(repeating: "x", count: 64)),
    ])
    func `refuses what no link has`(domain: String, type: String, name: String) {
        #expect(throws: NetService.ErrorCode.badArgumentError) {
            try ServiceIdentity(domain: domain, type: type, name: name)
        }
    }

    @Test(
        arguments: [
            (.unknownError, -72000), (.collisionError, -72001), (.notFoundError, -72002), (.activityInProgress, -72003),
            (.badArgumentError, -72004), (.cancelledError, -72005), (.invalidError, -72006), (.timeoutError, -72007),
            (.missingRequiredConfigurationError, -72008),
        ] as [(NetService.ErrorCode, Int)]
    )
    func `errors have Apple's numbers`(code: NetService.ErrorCode, number: Int) {
        #expect(code.dictionary["NSNetServicesErrorCode"]?.intValue == number)
        #expect(code.dictionary[NetService.errorDomain]?.intValue == 10)
    }

    @Test func `services are equal by name, type and domain`() {
        let one = NetService(domain: "local.", type: "_http._tcp.", name: "Lamp", port: 80)
        let two = NetService(domain: "local.", type: "_http._tcp.", name: "Lamp")
        #expect(one == two && one.hash == two.hash && one.isEqual(two))
        #expect(one != NetService(domain: "local.", type: "_http._tcp.", name: "Fan"))
        #expect(!one.isEqual("Lamp") && two.port == -1 && two.addresses == nil && two.hostName == nil)
        #expect(one.description == "NetService(Lamp._http._tcp.local.)")
        #expect(!one.includesPeerToPeer && NetService.Options.noAutoRename.rawValue == 1)
    }
}
