// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
@testable import Netlink
import Testing

/// The bytes of every request, as linux/rtnetlink.h and linux/neighbour.h lay them out.
@Suite struct RequestBytesTests {
    /// The body in hexadecimal, words of four bytes apart.
    private func words(_ question: Question) -> [String] {
        let digits = question.body.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return stride(from: 0, to: digits.count, by: 4).map { digits[$0..<min($0 + 4, digits.count)].joined() }
    }

    private static let dump: UInt16 = 0x300

    @Test func `links are asked for without their counters`() {
        #expect(Question.links.type == 18 && Question.links.flags == Self.dump)
        #expect(words(.links) == ["00000000", "00000000", "00000000", "00000000", "08001d00", "08000000"])
        let one = Question.link(index: 0x0102)
        #expect(one.flags == 0)
        #expect(words(one) == ["00000000", "02010000", "00000000", "00000000", "08001d00", "08000000"])
        let named = Question.link(named: "eth0")
        #expect(
            words(named) == [
                "00000000", "00000000", "00000000", "00000000", "08001d00", "08000000", "09000300", "65746830",
                "00000000",
            ]
        )
        #expect(words(.link(named: "fifteen-bytes-x"))[6] == "14000300")
        #expect(words(.link(named: "sixteen-bytes-xx"))[6] == "15003500")
    }

    @Test(
        arguments: [
            (Question.addresses, 22, 8), (.rules, 34, 12), (.nexthops, 106, 8), (.neighbors(index: nil), 30, 12),
        ] as [(Question, UInt16, Int)]
    )
    func `whole tables are asked for by an empty header`(question: Question, type: UInt16, length: Int) {
        #expect(question.type == type && question.isDump)
        #expect(question.body == [UInt8](repeating: 0, count: length))
    }

    @Test func `one nexthop object is asked for by its number`() {
        let question = Question.nexthop(id: 10)
        #expect(question.type == 106 && question.flags == 0)
        #expect(words(question) == ["00000000", "00000000", "08000100", "0a000000"])
    }

    @Test func `neighbours of one interface are asked for by NDA_IFINDEX`() {
        #expect(words(.neighbors(index: 3)) == ["00000000", "00000000", "00000000", "08000800", "03000000"])
    }

    @Test func `one neighbour is asked for by address and interface`() {
        let question = Question.neighbor(.of("192.0.2.1"), index: 3)
        #expect(question.type == 30 && question.flags == 0)
        #expect(words(question) == ["02000000", "03000000", "00000000", "08000100", "c0000201"])
    }

    @Test func `a neighbour is set to probing, or put to use`() {
        let probe = Question.setNeighbor(.of("192.0.2.1"), index: 3, state: .probe)
        #expect(probe.type == 28 && probe.flags == 0x104)
        #expect(words(probe) == ["02000000", "03000000", "10000000", "08000100", "c0000201"])
        let router = Question.setNeighbor(.of("192.0.2.1"), index: 3, state: .probe, isRouter: true)
        #expect(words(router)[2] == "10008000")
        let use = Question.setNeighbor(.of("fe80::1"), index: 3, state: nil)
        #expect(use.flags == 0x404)
        #expect(
            words(use) == [
                "0a000000", "03000000", "00000100", "14000100", "fe800000", "00000000", "00000000", "00000001",
            ]
        )
    }

    @Test func `tables above 255 are told in the attribute alone`() {
        let main = Question.routes(.ipv4, table: 254, index: nil)
        #expect(words(main) == ["02000000", "fe000000", "00000000", "08000f00", "fe000000"])
        let large = Question.routes(.ipv6, table: 1000, index: 7)
        #expect(
            words(large) == ["0a000000", "00000000", "00000000", "08000f00", "e8030000", "08000400", "07000000"]
        )
        #expect(main.type == 26 && main.isDump)
    }

    @Test func `a lookup tells everything the packet has`() {
        let query = RouteQuery(
            .of("198.51.100.7"),
            kind: .decision,
            source: .of("192.0.2.2"),
            outputInterface: 3,
            inputInterface: 4,
            mark: 0xCA6C,
            uid: 1000
        )
        #expect(
            words(.lookup(query)) == [
                "02202000", "00000000", "00100000", "08000100", "c6336407", "08000200", "c0000202", "08000400",
                "03000000", "08000300", "04000000", "08001000", "6cca0000", "08001900", "e8030000",
            ]
        )
    }

    @Test(arguments: [(nil, "06001d00"), (4, "06001c00")] as [(Int?, String)])
    func `the port of a packet is where it goes to, of an answer where it comes from`(input: Int?, kind: String) {
        let query = RouteQuery(.of("1.1.1.1"), kind: .entry, inputInterface: input, transport: .https)
        #expect(words(.lookup(query)).suffix(4) == ["05001b00", "06000000", kind, "01bb0000"])
    }

    @Test func `a plain lookup tells its destination alone`() {
        let four = Question.lookup(RouteQuery(.of("1.1.1.1"), kind: .entry))
        #expect(words(four) == ["02200000", "00000000", "00300000", "08000100", "01010101"])
        let six = Question.lookup(RouteQuery(.of("::1"), kind: .decision))
        #expect(
            words(six) == [
                "0a800000", "00000000", "00000000", "14000100", "00000000", "00000000", "00000000", "00000001",
            ]
        )
        #expect(four.type == 26 && !four.isDump)
    }

    @Test func `equal requests are equal, whatever their numbers`() {
        let first = Question.lookup(RouteQuery(.of("1.1.1.1"), kind: .entry))
        #expect(first == Question.lookup(RouteQuery(.of("1.1.1.1"), kind: .entry)))
        #expect(first != Question.lookup(RouteQuery(.of("1.1.1.1"), kind: .decision)))
        #expect(first.message(sequence: 1) != first.message(sequence: 2))
        #expect(first.message(sequence: 1).count == 16 + first.body.count)
    }

    @Test(arguments: [(0, 0), (1, 3), (2, 2), (3, 1), (4, 0), (5, 3)])
    func `attributes are padded to four bytes, their length is not`(count: Int, padding: Int) {
        var question = Question(type: 0, flags: 0, body: [])
        question.add(9, [UInt8](repeating: 0xFF, count: count))
        #expect(question.body.count == 4 + count + padding)
        #expect(question.body[0] == UInt8(4 + count) && question.body[2] == 9)
        #expect(question.body.suffix(padding) == ArraySlice([UInt8](repeating: 0, count: padding)))
    }
}
