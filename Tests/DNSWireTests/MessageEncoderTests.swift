// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

private func name(_ text: String) -> DomainName { DomainName(text) ?? DomainName() }

private let host = name("host.local")
private let instance = name("An Instance._http._tcp.local")

/// One value for every kind of data, plain and extreme.
private let kinds: [(RecordType, RecordData)] = [
    (.a, .address(.v4(0))), (.a, .address(.v4(.max))), (.aaaa, .address(.v6(0))), (.aaaa, .address(.v6(.max))),
    (.ptr, .pointer(instance)), (.ptr, .pointer(DomainName())), (.cname, .alias(host)),
    (.srv, .service(ServiceLocation(priority: 0, weight: 0, port: 0, target: DomainName()))),
    (.srv, .service(ServiceLocation(priority: .max, weight: .max, port: .max, target: host))),
    (.txt, .text([])), (.txt, .text([0])), (.txt, .text([3, 97])), (.txt, .text([UInt8](repeating: 255, count: 2000))),
    (.hinfo, .hostInformation(cpu: [], system: [])),
    (.hinfo, .hostInformation(cpu: [0, 255], system: [UInt8](repeating: 9, count: 255))),
    (.nsec, .nextSecure(next: host, types: [])), (.nsec, .nextSecure(next: host, types: [.a, .aaaa, .any])),
    (.nsec, .nextSecure(next: DomainName(), types: [RecordType(rawValue: 0), RecordType(rawValue: .max)])),
    (RecordType(rawValue: 65_280), .opaque([])), (RecordType(rawValue: 65_280), .opaque([0xC0, 0x0C])),
    (.opt, .opaque([0, 10, 0, 2, 1, 2])),
]

@Suite struct MessageEncoderTests {
    @Test(arguments: kinds.indices, [MessageEncoder.Section.answer, .authority, .additional])
    func `every kind of record comes back from every section`(kind: Int, section: MessageEncoder.Section) throws {
        let (type, data) = kinds[kind]
        let record = ResourceRecord(host, type, data, timeToLive: .max, flushesCache: type != .opt)
        var encoder = MessageEncoder(flags: .response)
        let isTaken = encoder.append(record, to: section)
        #expect(isTaken)
        let read = try parse(encoder.finish())
        let sections = [read.answers, read.authorities, read.additionals]
        #expect(sections.flatMap(\.self) == [record] && sections[section.rawValue - 1] == [record])
    }

    @Test(arguments: kinds.indices)
    func `a record that fits to the byte is taken, with one byte less it is not`(kind: Int) throws {
        let (type, data) = kinds[kind]
        let record = ResourceRecord(host, type, data, timeToLive: 1)
        var free = MessageEncoder(flags: .response)
        let isTaken = free.append(record)
        var exact = MessageEncoder(flags: .response, limit: free.length)
        let fits = exact.append(record)
        var short = MessageEncoder(flags: .response, limit: free.length - 1)
        let isRefused = !short.append(record)
        #expect(isTaken && fits && isRefused)
        #expect(short.length == 12 && short.count == 0)
        #expect(try parse(short.finish()) == Message(flags: .response))
    }

    @Test(arguments: [
        // What a second mention costs: a pointer of two bytes instead of the whole name.
        ("host.local", 2), ("other.local", 8), ("x.host.local", 4), ("local", 2), ("host.LOCAL", 12), ("host", 6),
        (".", 1),
    ])
    func `a name costs what is new in it`(second: String, bytes: Int) throws {
        var encoder = MessageEncoder(flags: [])
        _ = encoder.append(Question(host, .a))
        let before = encoder.length
        _ = encoder.append(Question(name(second), .a))
        #expect(encoder.length - before == bytes + 4)
        #expect(try parse(encoder.finish()).questions.map(\.name.labels) == [host, name(second)].map(\.labels))
    }

    @Test func `names in data are what later names point to, and the other way round`() throws {
        let location = RecordData.service(ServiceLocation(port: 1, target: host))
        let records = [
            ResourceRecord(name("_http._tcp.local"), .ptr, .pointer(instance), timeToLive: 1),
            ResourceRecord(instance, .srv, location, timeToLive: 1),
            ResourceRecord(host, .a, .address(.v4(1)), timeToLive: 1),
            ResourceRecord(host, .nsec, .nextSecure(next: host, types: [.a]), timeToLive: 1),
        ]
        let message = Message(flags: .response, answers: records)
        let bytes = try #require(message.encoded())
        // Header, the type in full, its instance with one pointer, the host with one, and pointers from then on.
        #expect(bytes.count == 12 + (18 + 10 + 14) + (2 + 10 + 13) + (2 + 10 + 4) + (2 + 10 + 5))
        #expect(try parse(bytes) == message)
    }

    @Test(arguments: [300, 512, 1232, 1472, 9000])
    func `what does not fit goes on in the next message, nothing lost, each readable alone`(limit: Int) throws {
        let records = (0..<400).map { number in
            let text = [UInt8](repeating: UInt8(number & 0xFF), count: number % 50)
            return ResourceRecord(name("host-\(number % 7).local"), .txt, .text(text), timeToLive: UInt32(number))
        }
        var messages: [[UInt8]] = []
        var encoder = MessageEncoder(flags: [], limit: limit)
        for record in records {
            if encoder.append(record) { continue }
            messages.append(encoder.finish(truncated: true))
            encoder = MessageEncoder(flags: [], limit: limit)
            let isTaken = encoder.append(record)
            #expect(isTaken)
        }
        messages.append(encoder.finish())
        let read = try messages.map { try parse($0) }
        #expect(read.flatMap(\.answers) == records && messages.allSatisfy { $0.count <= limit })
        #expect(read.dropLast().allSatisfy { $0.flags == .truncated } && read.last?.flags == [])
    }

    @Test func `a small record may still fit where a larger one did not, and points to nothing that was taken back`()
        throws
    {
        let long = ResourceRecord(name("rolled.back"), .txt, .text([UInt8](repeating: 1, count: 300)), timeToLive: 1)
        let short = ResourceRecord(name("also.rolled.back"), .a, .address(.v4(1)), timeToLive: 1)
        var encoder = MessageEncoder(flags: [], limit: 200)
        let taken = [encoder.append(long), encoder.append(short), encoder.append(short)]
        #expect(taken == [false, true, true])
        #expect(try parse(encoder.finish()).answers == [short, short])
    }

    @Test func `data of the same meaning is equal, of another meaning is not`() throws {
        let same: [(RecordData, RecordData)] = [
            (.pointer(host), .pointer(name("HOST.Local"))),
            (
                .service(ServiceLocation(port: 1, target: host)),
                .service(ServiceLocation(port: 1, target: name("Host.local")))
            ),
        ]
        let different: [(RecordData, RecordData)] = [
            (.pointer(host), .alias(host)), (.text([1, 65]), .text([1, 97])), (.text([0]), .text([])),
            (.text([0]), .opaque([0])), (.address(.v4(1)), .address(.v6(1))),
        ]
        #expect(same.allSatisfy { $0 == $1 && $0.hashValue == $1.hashValue })
        #expect(different.allSatisfy { $0 != $1 })
    }
}
