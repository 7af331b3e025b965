// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport
import Testing

@Suite struct NoticeTests {
    private func decode(_ type: UInt16, _ bytes: [UInt8]) -> KernelEvent? {
        if case .notice(let notice) = DecodedNotice.decode(type: type, bytes.span) { notice.event } else { nil }
    }

    private func isIgnored(_ type: UInt16, _ bytes: [UInt8]) -> Bool {
        if case .ignored = DecodedNotice.decode(type: type, bytes.span) { true } else { false }
    }

    private static func option(_ type: UInt8, lifetime: UInt8, _ addresses: [String]) -> [UInt8] {
        [type, UInt8(1 + 2 * addresses.count), 0, 0, 0, 0, 0, lifetime] + addresses.flatMap { IPAddress.of($0).bytes }
    }

    private static func userOption(_ options: [UInt8], length: Int? = nil) -> [UInt8] {
        [10, 0] + Question.bytes(of: UInt16(length ?? options.count)) + [3, 0, 0, 0, 134, 0, 0, 0, 0, 0, 0, 0] + options
    }

    @Test func `DNS servers of a router advertisement are read`() {
        let bytes = Self.userOption(Self.option(25, lifetime: 60, ["2001:db8::53", "fe80::1"]))
        let expected = KernelEvent.routerDNS(index: 3, servers: [.of("2001:db8::53"), .of("fe80::1")], lifetime: 60)
        #expect(decode(68, bytes) == expected)
    }

    @Test func `what a bridge learnt is told apart from neighbours, and from entries of other links`() {
        let header: [UInt8] = [7, 0, 0, 0] + [5, 0, 0, 0] + [2, 0, 0, 0]
        let learnt = Builder(header).attribute(2, [2, 0, 0, 0, 0, 9]).attribute(9, 20)
        let entry = BridgeEntry(bridge: 20, port: 5, hardwareAddress: [2, 0, 0, 0, 0, 9])
        #expect(decode(28, learnt.bytes) == .bridgeEntry(entry, removed: false))
        #expect(decode(29, learnt.bytes) == .bridgeEntry(entry, removed: true))
        #expect(isIgnored(28, Builder(header).attribute(2, [2, 0, 0, 0, 0, 9]).bytes), "of a vxlan")
        #expect(isIgnored(28, Builder(header).attribute(9, 20).bytes))
        #expect(isIgnored(28, header))
    }

    @Test func `other options of a router advertisement are passed over`() {
        #expect(isIgnored(68, Self.userOption([31, 1, 0, 0, 0, 0, 0, 60])))
        #expect(isIgnored(68, Self.userOption([])))
    }

    @Test(arguments: [
        userOption([25, 0, 0, 0, 0, 0, 0, 0]), userOption([25, 3, 0, 0, 0, 0, 0, 0]), userOption([25, 1]),
        userOption([], length: 8), [10, 0, 0, 0],
    ])
    func `a torn option is malformed`(bytes: [UInt8]) {
        #expect(decode(68, bytes) == nil)
        #expect(!isIgnored(68, bytes))
    }

    @Test(arguments: [(2 as UInt8, AddressFamily.ipv4), (10, .ipv6), (5, nil)] as [(UInt8, AddressFamily?)])
    func `settings name their family and interface`(number: UInt8, family: AddressFamily?) {
        let bytes = Builder([number, 0, 0, 0]).attribute(1, UInt32(bitPattern: -1)).bytes
        #expect(decode(80, bytes) == .settings(family: family, index: -1))
    }

    @Test(arguments: [(128 as UInt8, 24 as UInt16), (129, 25), (7, 28), (7, 29)])
    func `routes and neighbours of other families are none of ours`(family: UInt8, type: UInt16) {
        #expect(isIgnored(type, [family] + [UInt8](repeating: 0, count: 11)))
    }

    @Test(arguments: [52, 53, 88, 3, 1000] as [UInt16])
    func `other kinds are passed over`(type: UInt16) {
        #expect(isIgnored(type, []))
    }

    @Test(arguments: [16, 17, 20, 21, 24, 25, 28, 29, 32, 33, 68, 80, 104, 105] as [UInt16])
    func `nothing is malformed`(type: UInt16) {
        #expect(decode(type, []) == nil)
        #expect(!isIgnored(type, []))
    }

    @Test func `every torn or changed message is decoded, passed over or refused, and counted`() {
        let whole: [(UInt16, [UInt8])] = [
            (16, Builder.link(index: 3).attribute(3, "eth0").attribute(18, Builder().attribute(1, "veth")).bytes),
            (16, Builder.link(index: 3, family: 7).attribute(10, 4).bytes),
            (20, Builder.address(family: 10, length: 64).attribute(1, IPAddress.of("2001:db8::1").bytes).bytes),
            (24, Builder.route().attribute(9, [8, 0, 0, 0, 2, 0, 0, 0]).attribute(12, [1, 2, 3]).bytes),
            (28, Builder([2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 1]).attribute(1, [1, 2, 3, 4]).bytes),
            (32, Builder([2, 0, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0]).attribute(20, [1]).attribute(10, 3).bytes),
            (68, Self.userOption(Self.option(25, lifetime: 9, ["::1"]))),
            (104, Builder([2, 0, 0, 0, 0, 0, 0, 0]).attribute(1, 4).attribute(2, [1, 2, 3]).bytes),
        ]
        var generator = SeededRandom(seed: 7)
        var decoder = EventDecoder()
        var fed = 0
        for (type, bytes) in whole {
            for end in 0...bytes.count {
                decoder.decode(Builder(Array(bytes[..<end])).message(type: type).span, from: .link)
                fed += 1
            }
            for _ in 0..<2000 {
                var changed = bytes
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    let place = Int.random(in: 0..<changed.count, using: &generator)
                    changed[place] = UInt8.random(in: 0...255, using: &generator)
                }
                decoder.decode(Builder(changed).message(type: type).span, from: .link)
                fed += 1
            }
        }
        let counted = decoder.statistics
        #expect(counted.messages == [.link: fed])
        #expect(decoder.notices.count + counted.ignored + counted.undecodable == fed)
        #expect(decoder.notices.count > 1000 && counted.undecodable > 1000)
    }

    @Test func `a datagram that ends inside a message counts as undecodable`() {
        var decoder = EventDecoder()
        decoder.decode(([1, 2, 3] as [UInt8]).span, from: nil)
        #expect(decoder.statistics.undecodable == 1)
        #expect(decoder.statistics.messages.isEmpty)
    }
}

@Suite struct AnswerReaderTests {
    private static let question = Question(type: 18, flags: Question.dump, body: [])

    private func read(_ bytes: [UInt8], _ question: Question = question) throws(NetlinkError) -> (String, [UInt16]) {
        var types: [UInt16] = []
        var reader = AnswerReader(sequence: 5, question: question)
        let end = try reader.read(bytes.span) { type, _ in
            types.append(type)
            return types.count < 3
        }
        return ("\(end)\(reader.isConsistent ? "" : " torn")", types)
    }

    private static func message(
        _ type: UInt16,
        flags: UInt16 = 2,
        sequence: UInt32 = 5,
        _ body: [UInt8] = []
    ) -> [UInt8] {
        Builder(body).message(type: type, flags: flags, sequence: sequence)
    }

    @Test(
        arguments: [
            ([], "more", []), (message(16), "more", [16]), (message(16) + message(3, [0, 0, 0, 0]), "done", [16]),
            (message(16, flags: 0x12) + message(3, [0, 0, 0, 0]), "done torn", [16]),
            (message(16, sequence: 4) + message(3, sequence: 4, [0, 0, 0, 0]), "more", []),
            (message(1) + message(2, [0, 0, 0, 0]), "done", []),
            (message(16) + message(16) + message(16) + message(16), "stopped", [16, 16, 16]),
        ] as [([UInt8], String, [UInt16])]
    )
    func `an answer ends where the kernel ends it`(bytes: [UInt8], end: String, types: [UInt16]) throws {
        let result = try read(bytes)
        #expect(result.0 == end)
        #expect(result.1 == types)
    }

    @Test func `a single answer is one message, or an acknowledgement`() throws {
        let single = try read(Self.message(16) + Self.message(16), Question(type: 18, flags: 0, body: []))
        #expect(single.0 == "done" && single.1 == [16])
        let acknowledged = Question(type: 28, flags: Question.acknowledge, body: [])
        let both = try read(Self.message(28) + Self.message(2, [0, 0, 0, 0]), acknowledged)
        #expect(both.0 == "done" && both.1 == [28])
    }

    @Test func `a refusal has the kernel's number and words`() {
        let words = Builder([0xEA, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 16)).attribute(1, "Bad mask")
        #expect(throws: NetlinkError.refused(request: MessageType(rawValue: 18), code: 22, detail: "Bad mask")) {
            try read(Self.message(2, flags: 0x300, words.bytes))
        }
        #expect(throws: NetlinkError.notPermitted(request: MessageType(rawValue: 18))) {
            try read(Self.message(2, [0xFF, 0xFF, 0xFF, 0xFF]))
        }
        #expect(throws: NetlinkError.refused(request: MessageType(rawValue: 18), code: 2, detail: nil)) {
            try read(Self.message(3, [0xFE, 0xFF, 0xFF, 0xFF]))
        }
    }

    @Test func `an answer that ends inside a message is told`() {
        #expect(throws: NetlinkError.malformedAnswer(request: MessageType(rawValue: 18))) { try read([1, 2, 3]) }
    }

    @Test(
        arguments: [
            (NetlinkError.noSocket(step: "x", code: 24), 24), (.notPermitted(request: MessageType(rawValue: 1)), 1),
            (.timedOut(request: MessageType(rawValue: 1)), 110), (.notRecorded(request: MessageType(rawValue: 1)), 61),
            (.malformedAnswer(request: MessageType(rawValue: 1)), 74),
        ] as [(NetlinkError, Int32)]
    )
    func `every error has an errno`(error: NetlinkError, code: Int32) {
        #expect(error.code == code)
    }
}

@Suite struct OverrunRecoveryTests {
    @Test func `waits longer while overruns repeat, up to a second, and not at all afterwards`() {
        var recovery = OverrunRecovery()
        var now = Duration.seconds(100)
        var waits: [Duration] = []
        for _ in 0..<6 {
            let wait = recovery.overran(at: now)
            waits.append(wait)
            now += wait
            recovery.resynced(at: now)
            now += .milliseconds(10)
        }
        #expect(waits == [0, 100, 200, 400, 800, 1000].map { .milliseconds($0) })
        now += .seconds(3)
        #expect(recovery.overran(at: now) == .zero)
    }
}

@Suite struct EventGroupTests {
    @Test func `is found by the mask of the sender's address`() {
        for group in EventGroup.allCases {
            #expect(EventGroup(mask: 1 << (group.rawValue - 1)) == group)
        }
        #expect(EventGroup(mask: 0) == nil)
        #expect(EventGroup(mask: 3) == nil)
        #expect(EventGroup(mask: 2) == nil)
    }

    @Test func `every group has a name of its own`() {
        #expect(Set(EventGroup.allCases.map(\.name)).count == EventGroup.allCases.count)
    }
}
