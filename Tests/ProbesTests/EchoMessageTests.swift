// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@testable import Probes

@Suite struct EchoMessageTests {
    private static let token: [UInt8] = (1...16).map { $0 }

    private static func message(_ family: AddressFamily) -> EchoMessage {
        EchoMessage(family: family, identifier: 0x1234, sequence: 0x5678, token: token)
    }

    /// The reply to a request, as a host makes it: the type changes, all else comes back.
    private static func reply(_ message: EchoMessage) -> [UInt8] {
        var bytes = message.request
        bytes[0] = message.family == .ipv4 ? 0 : 129
        return bytes
    }

    @Test func `a request has the length of a usual one`() {
        let bytes = Self.message(.ipv4).request
        #expect(bytes.count == 64)
        #expect(Array(bytes[0..<2]) == [8, 0])
        #expect(Array(bytes[4..<8]) == [0x12, 0x34, 0x56, 0x78])
        #expect(Array(bytes[8..<24]) == Self.token)
    }

    @Test func `the checksum over a request with its checksum is zero`() {
        #expect(EchoMessage.sum(Self.message(.ipv4).request) == 0)
    }

    @Test func `the checksum is that of the example in RFC 1071`() {
        let bytes: [UInt8] = [0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]
        #expect(EchoMessage.sum(bytes) == ~0xDDF2)
        #expect(EchoMessage.sum(([0xFF] as [UInt8])) == ~0xFF00)
        #expect(EchoMessage.sum(([] as [UInt8])) == 0xFFFF)
    }

    @Test func `the kernel fills in the checksum of ICMPv6`() {
        let bytes = Self.message(.ipv6).request
        #expect(Array(bytes[0..<4]) == [128, 0, 0, 0])
    }

    @Test(arguments: AddressFamily.allCases)
    func `knows its reply`(family: AddressFamily) {
        let message = Self.message(family)
        #expect(message.accepts(Self.reply(message), isRaw: false))
    }

    @Test func `a raw socket shows the IP header, with options too`() {
        let message = Self.message(.ipv4)
        for length in [20, 24, 60] {
            var header = [UInt8](repeating: 0, count: length)
            header[0] = 0x40 | UInt8(length / 4)
            #expect(message.accepts((header + Self.reply(message)), isRaw: true))
        }
        #expect(Self.message(.ipv6).accepts(Self.reply(Self.message(.ipv6)), isRaw: true))
    }

    @Test(arguments: [0, 1, 4, 5, 6, 7, 8, 23])
    func `a reply that differs in one byte of its head or token is another's`(place: Int) {
        let message = Self.message(.ipv6)
        var bytes = Self.reply(message)
        bytes[place] ^= 1
        #expect(!message.accepts(bytes, isRaw: true))
    }

    @Test func `the identifier of a datagram socket is the kernel's`() {
        let message = Self.message(.ipv4)
        var bytes = Self.reply(message)
        bytes[4] = 0
        #expect(message.accepts(bytes, isRaw: false))
    }

    @Test(arguments: AddressFamily.allCases, [false, true])
    func `short and odd datagrams are no replies`(family: AddressFamily, isRaw: Bool) {
        let message = Self.message(family)
        let header: [UInt8] = isRaw && family == .ipv4 ? [0x45] + [UInt8](repeating: 0, count: 19) : []
        let whole = header + Self.reply(message)
        for length in 0..<(header.count + 24) {
            #expect(!message.accepts(Array(whole[..<length]), isRaw: isRaw), "\(length)")
        }
        #expect(!message.accepts([UInt8](repeating: 0xFF, count: 128), isRaw: isRaw))
        #expect(!message.accepts([UInt8](repeating: 0x40, count: 128), isRaw: isRaw))
    }

    @Test func `random datagrams are no replies and do no harm`() {
        let message = Self.message(.ipv4)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...100)).map { _ in UInt8.random(in: .min ... .max) }
            #expect(!message.accepts(bytes, isRaw: true))
        }
    }
}

extension EchoMessage {
    /// As the message itself, for an array: expectations cannot hold a span.
    fileprivate func accepts(_ bytes: [UInt8], isRaw: Bool) -> Bool { isAnswered(by: bytes.span, isRaw: isRaw) }

    fileprivate static func sum(_ bytes: [UInt8]) -> UInt16 { checksum(bytes.span) }
}

@Suite struct EchoSizeTests {
    private static func isAnswered(_ message: EchoMessage, by bytes: [UInt8]) -> Bool {
        message.isAnswered(by: bytes.span, isRaw: false)
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt16 { EchoMessage.checksum(bytes.span) }

    @Test(arguments: [AddressFamily.ipv4, .ipv6], [24, 64, 65, 548, 1480])
    func `a request may be of any size, and its reply is known`(family: AddressFamily, size: Int) {
        let token = (0..<16).map { UInt8($0) }
        let message = EchoMessage(family: family, identifier: 7, sequence: 9, token: token, size: size)
        let request = message.request
        #expect(request.count == size)
        #expect(family == .ipv6 || Self.checksum(request) == 0)
        var reply = request
        reply[0] = family == .ipv4 ? 0 : 129
        #expect(Self.isAnswered(message, by: reply))
        reply[8] ^= 1
        #expect(!Self.isAnswered(message, by: reply))
    }
}
