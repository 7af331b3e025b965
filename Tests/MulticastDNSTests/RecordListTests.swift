// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let key = RecordKey(lamp.hostName, .a)
private let here = LinkIdentity(index: 1, name: "v0")
private let there = LinkIdentity(index: 2, name: "w0")

@Suite struct RecordListTests {
    private func text(_ event: RecordEvent?) -> String {
        switch event {
        case .added(let answer): "+\(answer.interface)"
        case .removed(let answer, let reason): "-\(answer.interface) \(reason.rawValue)"
        case nil: ""
        }
    }

    @Test func `a record comes and goes once per interface`() {
        var list = RecordList(keys: [key])
        let added = DirectoryEvent.recordAdded(lamp.addressRecord)
        let removed = DirectoryEvent.recordRemoved(lamp.addressRecord, reason: .goodbye)
        let told = [(added, here), (added, here), (added, there), (removed, here), (removed, here), (removed, there)]
            .map { text(list.apply($0, on: $1)) }
        #expect(told == ["+v0", "", "+w0", "-v0 goodbye", "", "-w0 goodbye"] && list.answers.isEmpty)
    }

    @Test func `what was not asked for is not told, nor what services do`() {
        var list = RecordList(keys: [key])
        var other = lamp
        other.host = "other.local"
        let service = ServiceAnnouncement(
            instance: lamp.instance,
            name: "Lamp",
            type: "_test._tcp",
            domain: "local",
            subtypes: [],
            interface: "v0",
            interfaceIndex: 1
        )
        let events: [DirectoryEvent] = [
            .recordAdded(other.addressRecord), .recordAdded(lamp.textRecord), .announced(service, by: [lamp.typeName]),
        ]
        #expect(events.allSatisfy { list.apply($0, on: here) == nil } && list.answers.isEmpty)
    }

    @Test func `answers keep the order in which they came, and the interface's name of then`() {
        var list = RecordList(keys: [key])
        let records = (0..<20).map { number in
            var host = lamp
            host.address = .v4(UInt32(number))
            return host.addressRecord
        }
        for record in records { _ = list.apply(.recordAdded(record), on: here) }
        #expect(list.answers.map(\.record.data) == records.map(\.data))
        let renamed = LinkIdentity(index: 1, name: "lan0")
        let told = list.apply(.recordRemoved(records[0], reason: .interfaceDown), on: renamed)
        #expect(text(told) == "-v0 interface_down" && list.answers.count == 19)
    }
}

@Suite struct HostAnswerTests {
    private func answer(_ records: [ResourceRecord], _ families: [AddressFamily] = AddressFamily.allCases) -> HostAnswer
    {
        let answers = records.map { RecordAnswer(record: $0, interface: "v0", interfaceIndex: 1) }
        let link = RecordAnswer(record: lamp.pointer, interface: "v0", interfaceIndex: 1)
        return HostAnswer(host: lamp.hostName, families, answers, on: link)
    }

    private var six: ResourceRecord {
        var host = lamp
        host.address = .v6(0xFE80 << 112 | 7)
        return host.addressRecord
    }

    private func denial(of types: [RecordType]) -> ResourceRecord {
        ResourceRecord(lamp.hostName, .nsec, .nextSecure(next: lamp.hostName, types: types), timeToLive: 120)
    }

    @Test func `is complete when each family was answered for, or denied`() {
        let table: [([ResourceRecord], [AddressFamily], Int, Bool)] = [
            ([], AddressFamily.allCases, 0, false), ([], [], 0, true),
            ([lamp.addressRecord], AddressFamily.allCases, 1, false), ([lamp.addressRecord], [.ipv4], 1, true),
            ([lamp.addressRecord, six], AddressFamily.allCases, 2, true),
            ([lamp.addressRecord, denial(of: [.a])], AddressFamily.allCases, 1, true),
            ([six, denial(of: [.aaaa])], AddressFamily.allCases, 1, true),
            ([denial(of: [])], AddressFamily.allCases, 0, true), ([denial(of: [.a])], AddressFamily.allCases, 0, false),
            ([denial(of: [.a, .aaaa])], AddressFamily.allCases, 0, false), ([denial(of: [.a])], [.ipv6], 0, true),
        ]
        for (records, families, count, isComplete) in table {
            let answer = answer(records, families)
            #expect(answer.addresses.count == count && answer.isComplete == isComplete, "\(records) \(families)")
        }
    }

    @Test func `addresses are sorted, scoped where they need it, each once`() {
        let answer = answer([six, lamp.addressRecord, six, lamp.addressRecord])
        #expect(answer.addresses.map(\.description) == ["192.0.2.50", "fe80::7%v0"])
        #expect(answer.interface == "v0" && answer.interfaceIndex == 1 && answer.host == lamp.hostName)
    }
}
