// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

@testable import MulticastDNS

private func entry(_ number: Int, order: Int = 0) -> RecordCache.Entry {
    let target = DomainName("i\(number).local") ?? DomainName()
    let record = ResourceRecord(DomainName(), .ptr, .pointer(target), timeToLive: 10)
    return RecordCache.Entry(order: order, record: record, received: .zero, expires: .zero, jitter: 0, source: 0)
}

@Suite struct CachedRecordsTests {
    @Test(arguments: [1, 2, CachedRecords.few, CachedRecords.few + 1, 100])
    func `finds each record, and puts a new one in its place`(count: Int) {
        var records = CachedRecords()
        #expect(records.isEmpty && records[entry(0).record.data] == nil)
        for number in 0..<count { records.put(entry(number)) }
        for number in 0..<count { records.put(entry(number, order: 7)) }
        #expect(records.count == count)
        #expect(records.entries.allSatisfy { $0.order == 7 })
        #expect((0..<count).allSatisfy { records[entry($0).record.data]?.record == entry($0).record })
        #expect(records[entry(count).record.data] == nil)
    }

    @Test(arguments: [1, 2, CachedRecords.few + 1, 40], [0, 1, 7])
    func `what was taken out is gone, and nothing else`(count: Int, first: Int) {
        var records = CachedRecords()
        for number in 0..<count { records.put(entry(number)) }
        var left = Set(0..<count)
        for step in 0..<count {
            let number = (first + step * 3) % count
            let isThere = left.remove(number) != nil
            #expect(records.remove(entry(number).record.data) == isThere)
            #expect(records.count == left.count)
            #expect((0..<count).allSatisfy { (records[entry($0).record.data] != nil) == left.contains($0) })
        }
        for number in left { _ = records.remove(entry(number).record.data) }
        #expect(records.isEmpty)
        records.put(entry(5))
        #expect(records.count == 1 && records[entry(5).record.data] != nil)
    }
}
