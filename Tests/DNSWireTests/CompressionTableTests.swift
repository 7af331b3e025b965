// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DNSWire

private func wire(_ text: String) -> [UInt8] { (DomainName(text) ?? DomainName()).wire }

@Suite struct CompressionTableTests {
    /// `x.local` at 12, `b` before it at 20, which points there.
    private let message = [UInt8](repeating: 0, count: 12) + wire("x.local") + [0] + [1, 98, 0xC0, 12]

    private func table() -> CompressionTable {
        var table = CompressionTable()
        for (name, offset) in [("x.local", 12), ("local", 14), ("b.x.local", 21)] as [(String, UInt16)] {
            table.insert(table.find(wire(name), from: 0, in: message).fingerprint, at: offset)
        }
        return table
    }

    @Test(
        arguments: [
            ("x.local", 0, 12), ("local", 0, 14), ("b.x.local", 0, 21), ("other.x.local", 6, 12), ("b.x.local", 2, 12),
            ("X.local", 0, nil), ("x.loca", 0, nil), ("b.local", 0, nil), ("x.local.b", 0, nil), ("b", 0, nil),
        ] as [(String, Int, UInt16?)]
    )
    func `finds names and endings, byte for byte, through pointers`(name: String, start: Int, offset: UInt16?) {
        #expect(table().find(wire(name), from: start, in: message).offset == offset)
    }

    @Test func `an empty table knows nothing`() {
        #expect(CompressionTable().find(wire("x.local"), from: 0, in: message).offset == nil)
    }

    @Test func `forgets the last names, and finds the others as before`() {
        var table = table()
        table.forget(downTo: 2)
        #expect(table.count == 2)
        #expect(table.find(wire("b.x.local"), from: 0, in: message).offset == nil)
        #expect(table.find(wire("local"), from: 0, in: message).offset == 14)
        table.forget(downTo: 2)
        table.forget(downTo: 5)
        #expect(table.count == 2)
    }

    @Test func `finds each of a thousand names, also after half of them were forgotten`() {
        var message: [UInt8] = [0]
        var table = CompressionTable()
        let names = (0..<1000).map { wire("n\($0)") }
        for name in names {
            table.insert(table.find(name, from: 0, in: message).fingerprint, at: UInt16(message.count))
            message += name + [0]
        }
        let found = names.map { table.find($0, from: 0, in: message).offset }
        #expect(Set(found).count == 1000 && !found.contains(nil))
        table.forget(downTo: 500)
        #expect(
            names.map { table.find($0, from: 0, in: message).offset } == found.prefix(500)
                + Array(repeating: nil, count: 500)
        )
    }

    @Test(arguments: [512, 1472, 9000])
    func `messages full of names read back, each name written out once`(limit: Int) throws {
        var encoder = MessageEncoder(flags: .response, limit: limit)
        var records: [ResourceRecord] = []
        for number in 0..<2000 {
            let name = try #require(DomainName("h\(number % 97).n\(number % 13).local"))
            let record = ResourceRecord(name, .ptr, .pointer(name), timeToLive: UInt32(number))
            guard encoder.append(record) else { break }
            records.append(record)
        }
        let bytes = encoder.finish()
        #expect(try parse(bytes).answers == records)
        // Two pointers each, and a first label, when all names are known.
        #expect(records.count >= (limit - 12) / 24)
        let words = bytes.indices.dropLast(5).count { Array(bytes[$0..<($0 + 5)]) == Array("local".utf8) }
        #expect(words == 1)
    }
}
