// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import TestSupport
import Testing

/// Makes messages of every kind of record, the same ones in every run.
private struct MessageMaker {
    var random: SeededRandom

    mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    /// Few different labels, so that names share their ends.
    mutating func name() -> DomainName {
        let labels = (0..<number(0..<5)).map { _ in
            number(0..<6) == 0 ? bytes(number(1..<64)) : Array("label\(number(0..<4))".utf8)
        }
        return (try? DomainName(labels: labels)) ?? DomainName()
    }

    mutating func record() -> ResourceRecord {
        let (type, data): (RecordType, RecordData) =
            switch number(0..<9) {
            case 0: (.a, .address(.v4(UInt32.random(in: 0...UInt32.max, using: &random))))
            case 1: (.aaaa, .address(.v6(UInt128.random(in: 0...UInt128.max, using: &random))))
            case 2: (.ptr, .pointer(name()))
            case 3: (.cname, .alias(name()))
            case 4: (.srv, .service(ServiceLocation(port: UInt16(number(0..<65_536)), target: name())))
            case 5: (.txt, .text(bytes(number(0..<40))))
            case 6: (.hinfo, .hostInformation(cpu: bytes(number(0..<9)), system: bytes(number(0..<9))))
            case 7: (.nsec, .nextSecure(next: name(), types: types()))
            default: (RecordType(rawValue: 30_000), .opaque(bytes(number(0..<40))))
            }
        return ResourceRecord(
            name(),
            type,
            data,
            timeToLive: UInt32.random(in: 0...UInt32.max, using: &random),
            classCode: UInt16(number(0..<0x8000)),
            flushesCache: number(0..<2) == 0
        )
    }

    private mutating func types() -> [RecordType] {
        Set((0..<number(0..<5)).map { _ in UInt16(number(0..<600)) }).sorted().map { RecordType(rawValue: $0) }
    }

    mutating func message() -> Message {
        Message(
            id: UInt16(number(0..<65_536)),
            flags: .init(rawValue: UInt16(number(0..<65_536))),
            questions: (0..<number(0..<4)).map { _ in
                let unicast = number(0..<2) == 0
                return Question(name(), RecordType(rawValue: UInt16(number(0..<300))), wantsUnicast: unicast)
            },
            answers: (0..<number(0..<6)).map { _ in record() },
            authorities: (0..<number(0..<3)).map { _ in record() },
            additionals: (0..<number(0..<6)).map { _ in record() }
        )
    }
}

@Suite(.computing) struct RandomMessageTests {
    @Test(arguments: [true, false])
    func `any message comes back as it was, and never longer than uncompressed`(compressed: Bool) throws {
        var maker = MessageMaker(random: SeededRandom(seed: 1035))
        for _ in 0..<1000 {
            let message = maker.message()
            let bytes = try #require(message.encoded(compressesServiceTargets: compressed))
            #expect(try parse(bytes) == message)
            let legacy = try #require(message.encoded(compressesServiceTargets: false))
            #expect(bytes.count <= legacy.count)
        }
    }

    @Test func `every truncation of any message is refused`() throws {
        var maker = MessageMaker(random: SeededRandom(seed: 1036))
        for _ in 0..<30 {
            let bytes = try #require(maker.message().encoded())
            for count in bytes.indices {
                #expect(throws: WireError.self) { try parse(Array(bytes[..<count])) }
            }
        }
    }

    @Test func `any name survives its text form`() {
        var maker = MessageMaker(random: SeededRandom(seed: 6763))
        for _ in 0..<2000 {
            let name = maker.name()
            #expect(DomainName(name.description)?.labels == name.labels)
        }
    }
}
