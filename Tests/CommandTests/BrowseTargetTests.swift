// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import nwpath

@Suite struct BrowseTargetTests {
    @Test(
        arguments: [
            ("_ipp._tcp", ["_ipp._tcp.local"]), ("_ipp._tcp.local", ["_ipp._tcp.local"]),
            ("_ipp._tcp.local.", ["_ipp._tcp.local"]), ("_ipp._tcp.", ["_ipp._tcp.local"]),
            ("_x_y._UDP", ["_x_y._UDP.local"]), ("_http._tcp,_printer", ["_printer._sub._http._tcp.local"]),
            ("_http._tcp,_a,b c", ["_a._sub._http._tcp.local", "b c._sub._http._tcp.local"]),
            ("_http._tcp,a\\044b", ["a,b._sub._http._tcp.local"]),
        ]
    )
    func `a type, with the domain or without, and its subtypes`(text: String, names: [String]) throws {
        let target = try #require(BrowseTarget(text))
        #expect(target.names.map(\.description) == names)
    }

    @Test(
        arguments: [
            ("ipp", "_ipp._tcp"), ("_ipp", "_ipp._tcp"), ("ipp.tcp", "_ipp._tcp"), ("_ipp.tcp", "_ipp._tcp"),
            ("ipp._udp", "_ipp._udp"), ("_ipp_tcp", "_ipp._tcp"), ("_ipp._tcp.lan", nil), ("_ipp._sctp", nil),
            ("ipp.tcp.local", "_ipp._tcp"), ("_._tcp", nil), ("", nil), ("_http._tcp,", nil),
        ] as [(String, String?)]
    )
    func `what is no type is refused, with what was probably meant`(text: String, nearest: String?) throws {
        #expect(BrowseTarget(text) == nil)
        let complaint = try #require(BrowseTarget.complaint(text))
        #expect(complaint.hasPrefix("TYPE is '\(text)', expected a type such as _ipp._tcp"))
        #expect(complaint.hasSuffix(nearest.map { "(did you mean '\($0)'?)" } ?? "_http._tcp,_printer"), "\(complaint)")
    }

    @Test func `a right one has no complaint`() {
        #expect(BrowseTarget.complaint("_ipp._tcp") == nil)
        #expect(BrowseTarget.complaint("_" + String(repeating: "x", count: 63) + "._tcp") != nil)
    }
}

@Suite struct ResolveTargetTests {
    @Test(
        arguments: [
            ("printer.local", "printer.local"), ("printer", "printer.local"), ("printer.local.", "printer.local"),
            ("a.b.local", "a.b.local"), ("Küche.local", "Küche.local"), ("dr\\.no.local", "dr\\.no.local"),
        ]
    )
    func `a host, below .local when it has one label`(text: String, name: String) throws {
        #expect(ResolveTarget(text) == .host(try #require(DomainName(name))))
    }

    @Test(
        arguments: [
            ("Lamp._ipp._tcp.local", ["Lamp", "_ipp", "_tcp", "local"]),
            ("Lamp._ipp._tcp", ["Lamp", "_ipp", "_tcp", "local"]),
            ("Dr. No's._ipp._tcp.local.", ["Dr. No's", "_ipp", "_tcp", "local"]),
            ("Dr\\. No._ipp._tcp.local", ["Dr. No", "_ipp", "_tcp", "local"]),
            ("_ipp._tcp/Dr. No", ["Dr. No", "_ipp", "_tcp", "local"]),
            ("_ipp._tcp/a/b", ["a/b", "_ipp", "_tcp", "local"]),
            ("_ipp._tcp/x\\010y", ["x\ny", "_ipp", "_tcp", "local"]),
            ("_a._tcp._b._udp.local", ["_a._tcp", "_b", "_udp", "local"]),
        ]
    )
    func `an instance, by type and name or by its full name`(text: String, labels: [String]) throws {
        let name = try DomainName(labels: labels.map { Array($0.utf8) })
        #expect(ResolveTarget(text) == .instance(name))
    }

    @Test(arguments: ["192.0.2.1", "169.254.7.1", "fe80::1", "2001:db8::1"])
    func `an address`(text: String) throws {
        #expect(ResolveTarget(text) == .address(try #require(IPAddress(text))))
        #expect(ResolveTarget(text)?.text == text)
    }

    @Test(
        arguments: [
            ("www.example.com", "; names outside .local are for the resolver"),
            ("printer.lokal", "(did you mean 'printer.local'?)"), ("printer.locl", "(did you mean 'printer.local'?)"),
            ("", "or an address"), ("_ipp._tcp/", "or an address"), ("_ipp._tcp,_sub/x", "or an address"),
            ("x\\", "or an address"),
            ("Lamp._ipp._tcp.example", "; names outside .local are for the resolver"),
        ]
    )
    func `what is none of these is refused, with advice`(text: String, end: String) throws {
        #expect(ResolveTarget(text) == nil)
        #expect(try #require(ResolveTarget.complaint(text)).hasSuffix(end), "\(ResolveTarget.complaint(text) ?? "")")
    }
}
