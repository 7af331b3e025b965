// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

private let host = DomainName("ab.local") ?? DomainName()
private let hostBytes: [UInt8] = [2, 0x61, 0x62, 5, 0x6C, 0x6F, 0x63, 0x61, 0x6C, 0]

@Suite struct UncompressedDataTests {
    @Test(
        arguments: [
            (.address(.v4(0xC000_0201)), [192, 0, 2, 1]),
            (.address(.v6(1)), [UInt8](repeating: 0, count: 15) + [1]),
            (.pointer(host), hostBytes), (.alias(host), hostBytes), (.pointer(DomainName()), [0]),
            (
                .service(ServiceLocation(priority: 1, weight: 0x0203, port: 80, target: host)),
                [0, 1, 2, 3, 0, 80] + hostBytes
            ),
            (.text([1, 0x61]), [1, 0x61]), (.text([]), []),
            (.nextSecure(next: host, types: [.a, .txt, .aaaa]), hostBytes + [0, 4, 0x40, 0, 0x80, 8]),
            (.hostInformation(cpu: [0x78], system: []), [1, 0x78, 0]), (.opaque([9, 8]), [9, 8]),
        ] as [(RecordData, [UInt8])]
    )
    func `data is shown as RFC 1035 has it, names in full`(data: RecordData, bytes: [UInt8]) {
        #expect(data.uncompressed == bytes)
    }

    @Test func `it does not depend on what a name was compressed against`() throws {
        let location = RecordData.service(ServiceLocation(port: 80, target: host))
        let message = Message(
            flags: .response,
            answers: [
                ResourceRecord(host, .a, .address(.v4(1)), timeToLive: 1),
                ResourceRecord(host, .srv, location, timeToLive: 1),
            ]
        )
        let bytes = try #require(message.encoded())
        let read = try Message(parsing: bytes.span)
        #expect(bytes.count < 12 + 2 * (hostBytes.count + 10) + 4 + 6 + hostBytes.count)
        #expect(read.answers[1].data.uncompressed == location.uncompressed)
    }

    @Test func `letters keep their case, though names compare without it`() throws {
        let upper = try #require(DomainName("AB.local"))
        #expect(RecordData.pointer(upper) == .pointer(host))
        #expect(RecordData.pointer(upper).uncompressed != RecordData.pointer(host).uncompressed)
    }
}
