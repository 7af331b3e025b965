// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

/// Reads messages of questions only, whose names are given as bytes from offset 12 on.
private func names(_ parts: [[UInt8]]) throws(WireError) -> [[[UInt8]]] {
    let header: [UInt8] = [0, 0, 0, 0, 0, UInt8(parts.count), 0, 0, 0, 0, 0, 0]
    return try parse(header + parts.flatMap { $0 + [0, 1, 0, 1] }).questions.map(\.name.labels)
}

private func labels(_ words: String...) -> [[UInt8]] { words.map { Array($0.utf8) } }
private func pointer(_ offset: Int) -> [UInt8] { [0xC0 | UInt8(offset >> 8), UInt8(offset & 0xFF)] }

/// `a.bc`, at offset 12; the second label is at 14, the root at 17, the next question at 22.
private let first: [UInt8] = [1, 97, 2, 98, 99, 0]

@Suite struct WireReaderTests {
    @Test(
        arguments: [
            (pointer(12), labels("a", "bc")), (pointer(14), labels("bc")), (pointer(17), []),
            ([1, 120] + pointer(12), labels("x", "a", "bc")), ([1, 120] + pointer(14), labels("x", "bc")),
            ([1, 120] + pointer(17), labels("x")),
            // Into the type and the class of the question before, whose zeros read as roots.
            (pointer(18), []), (pointer(20), []),
            // Into the header, whose bytes are zero: odd, but it reads as the root.
            (pointer(0), []), ([1, 120] + pointer(4), labels("x")),
        ] as [([UInt8], [[UInt8]])]
    )
    func `follows a pointer to any place before it`(second: [UInt8], expected: [[UInt8]]) throws {
        #expect(try names([first, second]).last == expected)
    }

    @Test func `follows pointers to pointers, and goes on behind the first one`() throws {
        let parts = [first, pointer(12), [1, 121] + pointer(22), [1, 122] + pointer(28), pointer(36)]
        let read = try names(parts)
        #expect(read[1] == labels("a", "bc") && read[2] == labels("y", "a", "bc"))
        #expect(read[3] == labels("z", "y", "a", "bc") && read[4] == read[3])
    }

    @Test(
        arguments: [
            // To itself, to the next byte, to the label just read, forward, past the end, and in a circle of two.
            ([pointer(12)], .badPointer(at: 12)), ([pointer(13)], .badPointer(at: 12)),
            ([[1, 97] + pointer(12)], .badPointer(at: 14)), ([[1, 97] + pointer(14)], .badPointer(at: 14)),
            ([first, pointer(40)], .badPointer(at: 22)), ([pointer(0x3FFF)], .badPointer(at: 12)),
            ([[1, 97] + pointer(16), pointer(12)], .badPointer(at: 14)),
            // The two reserved kinds of label.
            ([[0x40]], .badLabel(at: 12)), ([[0x80]], .badLabel(at: 12)), ([[1, 97, 0xBF]], .badLabel(at: 14)),
            ([[0x7F] + [UInt8](repeating: 97, count: 64)], .badLabel(at: 12)),
        ] as [([[UInt8]], WireError)]
    )
    func `refuses every other pointer, and labels of unknown kinds`(parts: [[UInt8]], error: WireError) {
        #expect(throws: error) { try names(parts) }
    }

    @Test(arguments: 0...5)
    func `refuses a name that ends early`(count: Int) {
        let header: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        #expect(throws: WireError.self) { try parse(header + first.prefix(count)) }
        #expect(throws: WireError.self) { try parse(header + first + [UInt8](repeating: 0, count: min(count, 3))) }
    }

    @Test(arguments: [(63, 3, 0, true), (63, 3, 62, true), (63, 3, 63, false), (1, 127, 0, true), (1, 127, 1, false)])
    func `reads names of up to 255 bytes`(length: Int, count: Int, last: Int, isRead: Bool) throws {
        var bytes: [UInt8] = []
        for length in Array(repeating: length, count: count) + (last > 0 ? [last] : []) {
            bytes += [UInt8(length)] + [UInt8](repeating: 0xFF, count: length)
        }
        if isRead {
            #expect(try names([bytes + [0]]).first?.count == count + (last > 0 ? 1 : 0))
        } else {
            #expect(throws: WireError.nameTooLong) { try names([bytes + [0]]) }
        }
    }

    @Test func `the limit counts what pointers bring`() throws {
        let long = [UInt8](arrayLiteral: 63) + [UInt8](repeating: 97, count: 63)
        let base = long + long + long + [0]
        #expect(try names([base, [61] + [UInt8](repeating: 98, count: 61) + pointer(12)]).last?.count == 4)
        #expect(throws: WireError.nameTooLong) { try names([base, long + pointer(12)]) }
    }

    @Test func `any byte may be in a label`() throws {
        let all = (0...255).map { UInt8($0) }
        let parts = stride(from: 0, to: 256, by: 32).map { [32] + all[$0..<($0 + 32)] + [0] }
        #expect(try names(parts).flatMap(\.self).flatMap(\.self) == all)
    }

    @Test(arguments: [RecordType.ptr, .cname, .srv, .nsec])
    func `names in data may point to names before them`(type: RecordType) throws {
        let fixed: [UInt8] = type == .srv ? [0, 1, 0, 2, 0, 3] : []
        let rest: [UInt8] = type == .nsec ? [0, 1, 0x40] : []
        let data = fixed + [1, 120] + pointer(14) + rest
        let record = pointer(12) + [0, UInt8(type.rawValue), 0, 1, 0, 0, 0, 9, 0, UInt8(data.count)] + data
        let bytes: [UInt8] = [0, 0, 0x84, 0, 0, 1, 0, 1, 0, 0, 0, 0] + first + [0, 1, 0, 1] + record
        let expected = try DomainName(labels: labels("x", "bc"))
        let read = try #require(try parse(bytes).answers.first)
        #expect(read.name.labels == labels("a", "bc"))
        switch read.data {
        case .pointer(let name), .alias(let name): #expect(name == expected)
        case .service(let location): #expect(location.target == expected && location.port == 3)
        case .nextSecure(let next, let types): #expect(next == expected && types == [.a])
        default: Issue.record("\(type) was read as \(read.data)")
        }
        // Data that ends within the name, or goes on behind it, is not of this type.
        for change in [-1, 1] {
            var broken = bytes + [0]
            broken[bytes.count - data.count - 1] = UInt8(data.count + change)
            if type == .nsec {
                let data = try parse(broken).answers.first?.data
                if case .opaque = data {} else { Issue.record("a broken NSEC record was read as \(data as Any)") }
            } else {
                #expect(throws: WireError.self) { try parse(broken) }
            }
        }
    }
}
