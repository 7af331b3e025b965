// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DNSWire

@Suite struct FingerprintTests {
    @Test func `folds eight bytes as it folds one, whatever the other seven are`() {
        for byte in UInt8.min...UInt8.max {
            for place in 0..<8 {
                for others in [0, 0x5A5A_5A5A_5A5A_5A5A, 0xFFFF_FFFF_FFFF_FFFF] as [UInt64] {
                    let shift = UInt64(8 * place)
                    let word = others & ~(0xFF << shift) | UInt64(byte) << shift
                    let folded = Fingerprint.fold(word)
                    #expect(UInt8(truncatingIfNeeded: folded >> shift) == DomainName.fold(byte))
                    let rest = others == 0x5A5A_5A5A_5A5A_5A5A ? others | 0x2020_2020_2020_2020 : others
                    #expect(folded & ~(0xFF << shift) == rest & ~(0xFF << shift))
                }
            }
        }
    }

    @Test func `differs with length, place and content`() {
        let texts: [[UInt8]] = [
            [], [0], [0, 0], [1], [0, 1], [1, 0], Array(repeating: 0, count: 8), Array(repeating: 0, count: 9),
            Array(repeating: 0, count: 16), Array(1...16), Array(1...17), Array(2...17),
        ]
        #expect(Set(texts.map { Fingerprint.ofNormalized($0.span) }).count == texts.count)
    }

    @Test func `an ending has the number that it has alone`() {
        let bytes = Array(UInt8(0)...40)
        for start in bytes.indices {
            let ending = Array(bytes[start...])
            #expect(Fingerprint.of(bytes.span, from: start) == Fingerprint.of(ending.span, from: 0))
        }
    }

    @Test func `spreads the names of a network over all values of the low bits`() {
        let names = (0..<4096).compactMap { DomainName("Service \($0)._http._tcp.local") }
        let used = Set(names.map { Fingerprint.of($0.wire.span, from: 0) & 0xFFF })
        // Thrown at random, 4096 balls leave 37 % of 4096 boxes empty.
        #expect((2400...2800).contains(used.count))
    }
}
