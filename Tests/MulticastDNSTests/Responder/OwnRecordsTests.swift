// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let service = RecordSet.service(lamp, subtype: "_bright")
private let host = RecordSet.host()
private let v4 = ResponderBench.ownAddress
private let v6 = ResponderBench.ownAddress6

/// The records of the made-up service on an interface with these addresses.
private func owned(_ addresses: [IPAddress] = [v4, v6], without: RecordSet.ID? = nil) -> OwnRecords {
    var records = OwnRecords()
    for set in [service, host] where set.id != without { _ = records.assign(set.units(with: addresses), to: set.id) }
    return records
}

private func types(_ keys: [OwnRecords.Key]) -> [RecordType] { keys.map(\.type) }

@Suite struct OwnRecordsTests {
    @Test(
        arguments: [
            ("_test._tcp.local", RecordType.ptr, [RecordType.ptr]), ("_bright._sub._test._tcp.local", .ptr, [.ptr]),
            ("_services._dns-sd._udp.local", .ptr, [.ptr]), ("Lamp._test._tcp.local", .srv, [.srv]),
            ("Lamp._test._tcp.local", .txt, [.txt]), ("LAMP._TEST._TCP.LOCAL", .srv, [.srv]),
            ("lamp.local", .a, [.a]), ("lamp.local", .aaaa, [.aaaa]), ("lamp.local", .nsec, [.nsec]),
            ("other.local", .a, []), ("_test._udp.local", .ptr, []), ("_test._tcp.local", .srv, []),
        ]
    )
    func `A1: answers with what it owns, and with nothing else`(name: String, type: RecordType, found: [RecordType]) {
        #expect(types(owned().answers(to: ask(name, type))) == found)
    }

    @Test(arguments: [
        ("Lamp._test._tcp.local", [RecordType.srv, .txt]), ("lamp.local", [.a, .aaaa]), ("_test._tcp.local", [.ptr]),
    ])
    func `A10: a question of type ANY gets all records of the name`(name: String, found: [RecordType]) {
        #expect(types(owned().answers(to: ask(name, .any))) == found)
        #expect(types(owned().answers(to: ask(name, .any, code: 255))) == found)
    }

    @Test(arguments: [(UInt16(1), true), (255, true), (3, false), (0, false), (254, false)])
    func `F9: only the class of the Internet, or any class, is answered`(code: UInt16, isAnswered: Bool) {
        #expect(owned().answers(to: ask("lamp.local", .a, code: code)).isEmpty != isAnswered)
    }

    @Test(
        arguments: [
            ("Lamp._test._tcp.local", RecordType.a, [RecordType.txt, .srv]), ("lamp.local", .srv, [.a, .aaaa]),
            ("lamp.local", .cname, [.a, .aaaa]), ("lamp.local", .init(rawValue: 65), [.a, .aaaa]),
        ]
    )
    func `A11: a type that an owned name has not is denied, with a list of those it has`(
        name: String,
        type: RecordType,
        listed: [RecordType]
    ) throws {
        let records = owned()
        let keys = records.answers(to: ask(name, type))
        #expect(types(keys) == [.nsec])
        let record = try #require(keys.first.flatMap { records[$0] }?.records.first)
        guard case .nextSecure(let next, let types) = record.data else {
            Issue.record("a denial is no NSEC record")
            return
        }
        // The restricted form: the name itself comes next, and the NSEC type is not listed.
        #expect(next == record.name && types == listed)
        #expect(record.flushesCache && record.timeToLive == 120)
    }

    @Test func `A11: names that others share are not denied`() {
        #expect(owned().answers(to: ask("_test._tcp.local", .txt)).isEmpty)
    }

    @Test(arguments: [([v4], RecordType.aaaa), ([v6], .a)])
    func `A12: the family that an interface has not is denied`(addresses: [IPAddress], missing: RecordType) {
        #expect(types(owned(addresses).answers(to: ask("lamp.local", missing))) == [.nsec])
    }

    @Test(
        arguments: [
            ("_test._tcp.local", RecordType.ptr, [v4, v6], [RecordType.srv, .txt, .a, .aaaa]),
            ("_test._tcp.local", .ptr, [v4], [.srv, .txt, .a, .nsec]),
            ("_services._dns-sd._udp.local", .ptr, [v4, v6], []),
            ("Lamp._test._tcp.local", .srv, [v4, v6], [.a, .aaaa]),
            ("Lamp._test._tcp.local", .srv, [v6], [.aaaa, .nsec]), ("Lamp._test._tcp.local", .txt, [v4, v6], []),
            ("lamp.local", .a, [v4, v6], [.aaaa]), ("lamp.local", .aaaa, [v4, v6], [.a]),
            ("lamp.local", .a, [v4], [.nsec]), ("lamp.local", .aaaa, [v4], [.a]),
        ] as [(String, RecordType, [IPAddress], [RecordType])]
    )
    func `D10, A12: an answer brings what will be asked next`(
        name: String,
        type: RecordType,
        addresses: [IPAddress],
        along: [RecordType]
    ) throws {
        let records = owned(addresses)
        let key = try #require(records.answers(to: ask(name, type)).first)
        #expect(types(records.additionals(to: key)) == along)
    }

    @Test func `D10: a host that somebody else answers for does not come along`() throws {
        let records = owned(without: host.id)
        let key = try #require(records.answers(to: ask("_test._tcp.local", .ptr)).first)
        #expect(types(records.additionals(to: key)) == [.srv, .txt])
    }

    @Test func `A12, A19: all addresses of a family make one unit`() throws {
        let many = (1...5).map { IPAddress.v4(0xC000_0200 + $0) }
        let records = owned(many)
        let keys = records.answers(to: ask("lamp.local", .a))
        let unit = try #require(keys.first.flatMap { records[$0] })
        #expect(keys.count == 1 && unit.records.map(\.data) == many.map { .address($0) })
        #expect(unit.records.allSatisfy { $0.flushesCache && $0.timeToLive == 120 })
    }

    @Test func `P10, A18: unique records flush and shared ones do not, each with the lifetime of its kind`() {
        for unit in service.units(with: [v4]) + host.units(with: [v4]) {
            let isUnique = unit.key.data == nil
            #expect(unit.records.allSatisfy { $0.flushesCache == isUnique })
        }
        let all = (service.units(with: [v4]) + host.units(with: [v4])).flatMap(\.records)
        for record in all {
            let standsWithHost = [RecordType.srv, .a, .aaaa, .nsec].contains(record.type)
            #expect(record.timeToLive == (standsWithHost ? 120 : 4500), "\(record.type)")
        }
    }

    @Test func `a record of two sets stays until both are gone`() {
        var records = OwnRecords()
        let other = RecordSet.service(MadeUpService(name: "Other"), id: 2)
        _ = records.assign(service.units(with: []), to: service.id)
        _ = records.assign(other.units(with: []), to: other.id)
        let question = ask("_services._dns-sd._udp.local", .ptr)
        #expect(records.answers(to: question).count == 1)
        let first = records.assign([], to: service.id).gone
        #expect(!first.contains { $0.isCommon } && records.answers(to: question).count == 1)
        let second = records.assign([], to: other.id).gone
        #expect(second.contains { $0.isCommon } && records.answers(to: question).isEmpty && records.isEmpty)
    }

    @Test func `a change tells what went and what was before, and what stays keeps its history`() throws {
        var records = owned()
        let pointer = try #require(records.answers(to: ask("_test._tcp.local", .ptr)).first)
        let text = try #require(records.answers(to: ask("Lamp._test._tcp.local", .txt)).first)
        for key in [pointer, text] { records.noteMulticast(key, at: time(5)) }
        let changed = RecordSet.service(MadeUpService(text: ["a=2"]))
        let result = records.assign(changed.units(with: []), to: service.id)
        #expect(result.gone.map(\.key.name) == [DomainName("_bright._sub._test._tcp.local")])
        #expect(result.changed.flatMap(\.records).map(\.data) == [.text([3] + Array("a=1".utf8))])
        #expect(records[pointer]?.lastMulticast == time(5) && records[text]?.lastMulticast == nil)
    }

    @Test func `a received record is matched with its unit: a unique one by type, a shared one by data too`() {
        let records = owned()
        #expect(records.unit(of: lamp.location)?.key.type == .srv)
        let moved = MadeUpService(port: 81).location
        #expect(records.unit(of: moved)?.key.type == .srv)
        #expect(records.unit(of: lamp.pointer)?.key.type == .ptr)
        #expect(records.unit(of: MadeUpService(name: "Other").pointer) == nil)
    }
}
