// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let type = DomainName("_ipp._tcp.local") ?? DomainName()
private let instance = DomainName("Lamp._ipp._tcp.local") ?? DomainName()
private let host = DomainName("lamp.local") ?? DomainName()

private func recordSet(_ change: (inout ServiceRegistration) -> Void = { _ in }) -> RecordSet {
    var registration = ServiceRegistration(name: Array("Lamp".utf8), type: "_ipp._tcp", port: 631)
    change(&registration)
    return registration.recordSet(.init(rawValue: 1), instance: instance, type: type, host: host)
}

@Suite struct ServiceRegistrationTests {
    @Test func `a service is a pointer, a location, a text, and an entry in the list of types`() {
        let set = recordSet {
            $0.priority = 1
            $0.weight = 2
        }
        let location = ServiceLocation(priority: 1, weight: 2, port: 631, target: host)
        #expect(
            set.unique.map(\.data) == [.service(location), .text([0])] && set.unique.allSatisfy { $0.name == instance }
        )
        #expect(set.shared.map(\.name) == [type] && set.shared.map(\.data) == [.pointer(instance)])
        #expect(set.common.map(\.data) == [.pointer(type)] && set.common.map(\.name) == [ServiceName.enumeration])
        #expect(set.uniqueNames == [instance] && !set.yieldsToNeighbour)
    }

    @Test func `D5: without text there is a TXT record all the same, of one zero byte`() {
        #expect(recordSet().unique.contains { $0.data == .text([0]) })
    }

    @Test func `trap 12: text keeps its order, and no value differs from an empty one`() {
        let set = recordSet { $0.text = [.init(key: "z", value: []), .init(key: "a", value: nil)] }
        #expect(set.unique.contains { $0.data == .text([2, 0x7A, 0x3D, 1, 0x61]) })
    }

    @Test func `N8: each subtype points to the same instance`() {
        let set = recordSet { $0.subtypes = [Array("_printer".utf8), Array("_colour".utf8)] }
        #expect(
            set.shared.map(\.name.description) == [
                "_ipp._tcp.local", "_printer._sub._ipp._tcp.local", "_colour._sub._ipp._tcp.local",
            ]
        )
        #expect(set.shared.allSatisfy { $0.data == .pointer(instance) })
    }

    @Test func `D12: port 0 keeps the name, and nobody finds it by browsing`() {
        let set = recordSet {
            $0.port = 0
            $0.subtypes = [Array("_printer".utf8)]
        }
        #expect(set.shared.isEmpty && set.common.isEmpty && set.unique.map(\.type) == [.srv, .txt])
    }

    @Test func `a claimed host is checked with its service`() throws {
        var registration = ServiceRegistration(name: Array("Lamp".utf8), type: "_ipp._tcp", port: 631)
        registration.host = .claimed(host, addresses: [])
        #expect(throws: RegistrationError.noAddress) { try registration.validate() }
        registration.host = .claimed(DomainName("a.b.local") ?? DomainName(), addresses: nil)
        #expect(throws: RegistrationError.hostName("a.b.local")) { try registration.validate() }
        registration.host = .existing(DomainName("printer.example.com") ?? DomainName())
        try registration.validate()
    }
}

@Suite struct HostRegistrationTests {
    @Test func `A12: a host has the addresses of each interface, or those it was given`() {
        let id = RecordSet.ID(rawValue: 1)
        let following = HostRegistration(name: host).recordSet(id, name: host)
        #expect(following.hosts == [host] && following.unique.isEmpty && following.uniqueNames == [host])
        let addresses: [IPAddress] = [.v4(1), .v6(2)]
        let fixed = HostRegistration(name: host, addresses: addresses).recordSet(id, name: host)
        #expect(fixed.unique.map(\.type) == [.a, .aaaa] && fixed.unique.map(\.data) == addresses.map { .address($0) })
        #expect(fixed.hosts.isEmpty && fixed.uniqueNames == [host])
        // Addresses that were given are the same on every interface.
        #expect(fixed.proposed(with: [.v4(99)]).map(\.data) == fixed.unique.map(\.data))
    }

    @Test func `C11: a host has thirty-two addresses at most`() throws {
        try HostRegistration(name: host, addresses: (0..<32).map { .v4($0) }).validate()
        #expect(throws: RegistrationError.tooMany(what: "addresses", limit: 32)) {
            try HostRegistration(name: host, addresses: (0..<33).map { .v4($0) }).validate()
        }
    }
}
