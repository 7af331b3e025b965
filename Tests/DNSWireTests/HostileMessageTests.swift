// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import TestSupport
import Testing

private let header: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0]

/// A response with one record that starts with these bytes.
private func response(_ bytes: [UInt8]) -> [UInt8] { header + bytes }

@Suite(.computing) struct HostileMessageTests {
    @Test func `every truncation of a message is refused, none traps`() throws {
        let bytes = try #require(try sample().encoded())
        for count in 0..<bytes.count {
            #expect(throws: WireError.self) { try parse(Array(bytes[..<count])) }
        }
        #expect(throws: Never.self) { try parse(bytes + [1, 2, 3]) }
    }

    @Test(
        arguments: [
            ([0xC0, 12], .badPointer(at: 12)), ([0xC0, 13], .badPointer(at: 12)), ([0xFF, 0xFF], .badPointer(at: 12)),
            ([1, 97, 0xC0, 12], .badPointer(at: 14)), ([0xC0], .truncated(at: 12)), ([0x40, 1], .badLabel(at: 12)),
            ([0x80, 1], .badLabel(at: 12)), ([63, 97], .truncated(at: 12)), ([], .truncated(at: 12)),
            ([1, 97, 0xC0, 200], .badPointer(at: 14)),
        ] as [([UInt8], WireError)]
    )
    func `refuses names that loop, point forward or run out`(name: [UInt8], error: WireError) {
        #expect(throws: error) { try parse(response(name)) }
    }

    @Test func `refuses names that grow past 255 bytes through pointers`() {
        var bytes = header
        bytes[5] = 6
        var last = 0
        for index in 0..<6 {
            let start = bytes.count
            bytes +=
                [50] + [UInt8](repeating: 97, count: 50)
                + (index == 0 ? [0] : [0xC0 | UInt8(last >> 8), UInt8(last & 0xFF)]) + [0, 1, 0, 1]
            last = start
        }
        #expect(throws: WireError.self) { try parse(bytes) }
        bytes[5] = 4
        bytes[7] = 0
        #expect(throws: Never.self) { try parse(bytes) }
    }

    @Test func `bounds the pointers in one name`() {
        // A chain of pointers, each to the one before, in the data of an unknown record; then a name that enters it.
        let chain: [UInt8] =
            [0]
            + (0..<2000).flatMap { index -> [UInt8] in
                let target = 23 + (index == 0 ? 0 : 1 + 2 * (index - 1))
                return [0xC0 | UInt8(target >> 8), UInt8(target & 0xFF)]
            }
        let length = [UInt8(chain.count >> 8), UInt8(chain.count & 0xFF)]
        var bytes = header + [0, 0x27, 0x0F, 0, 1, 0, 0, 0, 0] + length + chain
        bytes[11] = 1
        let entry = 23 + 1 + 2 * 1999
        bytes += [0xC0 | UInt8(entry >> 8), UInt8(entry & 0xFF), 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4]
        #expect(throws: WireError.self) { try parse(bytes) }
        let near = 23 + 1 + 2 * 100
        bytes[bytes.count - 16] = 0xC0 | UInt8(near >> 8)
        bytes[bytes.count - 15] = UInt8(near & 0xFF)
        #expect(throws: Never.self) { try parse(bytes) }
    }

    @Test func `counts in the header are no promise`() {
        let counts: [UInt8] = [0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]
        #expect(throws: WireError.truncated(at: 12)) { try parse(counts) }
    }

    @Test(
        arguments: [
            ([0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 3, 1, 2, 3], 1),
            ([0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 16] + [UInt8](repeating: 0, count: 16), 1),
            ([0, 0, 28, 0, 1, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4], 28),
            ([0, 0, 33, 0, 1, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0], 33),
            ([0, 0, 12, 0, 1, 0, 0, 0, 1, 0, 2, 0, 0], 12), ([0, 0, 13, 0, 1, 0, 0, 0, 1, 0, 2, 5, 5], 13),
        ] as [([UInt8], UInt16)]
    )
    func `refuses data that does not fit its type or its length`(record: [UInt8], type: UInt16) {
        #expect(throws: WireError.badRecord(type: type, at: 23)) { try parse(response(record)) }
    }

    @Test(
        arguments: [
            [0], [0, 0], [0, 0, 33], [0, 0, 1, 0, 0, 0, 1, 0], [0xC0, 23, 0, 1, 64], [0, 1, 1, 1, 0, 1, 1],
        ] as [[UInt8]]
    )
    func `an NSEC record that cannot be read stays opaque`(data: [UInt8]) throws {
        let read = try parse(response([0, 0, 47, 0, 1, 0, 0, 0, 1, 0, UInt8(data.count)] + data))
        #expect(read.answers.count == 1)
        switch read.answers.first?.data {
        case .opaque(let kept): #expect(kept == data)
        case .nextSecure(_, let types): #expect(data == [0] && types.isEmpty)
        default: Issue.record("an NSEC record became something else")
        }
    }

    @Test func `accepts 9000 bytes and not one more`() throws {
        let padding = [UInt8](repeating: 0, count: 9000 - header.count)
        #expect(throws: Never.self) { try parse([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + padding) }
        #expect(throws: WireError.messageTooLong(count: 9001)) { try parse(header + padding + [0]) }
    }

    @Test func `survives 20000 random mutations, and writes again what it could read`() throws {
        let original = try #require(try sample().encoded())
        var random = SeededRandom(seed: 6762)
        var readable = 0
        for _ in 0..<20_000 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: bytes.remove(at: index)
                default: bytes.insert([0, 0xC0, 0xFF, 12][Int.random(in: 0..<4, using: &random)], at: index)
                }
            }
            guard let message = try? parse(bytes) else { continue }
            readable += 1
            _ = message.answers.map { "\($0.name)" }
            let again = try #require(message.encoded())
            #expect(try parse(again) == message)
        }
        #expect(readable > 1000)
    }

    @Test func `survives random bytes`() {
        var random = SeededRandom(seed: 6763)
        var failures = 0
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0..<300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if (try? parse(bytes)) == nil { failures += 1 }
        }
        #expect(failures > 4000)
    }
}
