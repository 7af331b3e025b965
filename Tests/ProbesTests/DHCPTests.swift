// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct DHCPMessageTests {
    private static func message() throws -> DHCPMessage {
        DHCPMessage(transaction: 0x0102_0304, sender: try #require(HardwareAddress([2, 0, 0, 0, 0, 0x66])))
    }

    private static let offered: [UInt8] = [53, 1, 2, 54, 4, 192, 0, 2, 1, 3, 8, 192, 0, 2, 1, 192, 0, 2, 9, 255]

    /// An offer to the question, as it comes from the network.
    private static func packet(
        _ options: [UInt8] = offered,
        _ change: (inout [UInt8]) -> Void = { _ in }
    ) throws -> [UInt8] {
        var bytes = try message().packet
        bytes.removeLast(60)
        bytes[22...23] = [0, 68]
        bytes[28] = 2
        bytes += options
        change(&bytes)
        return bytes
    }

    private static func read(_ bytes: [UInt8]) throws -> LeaseOffer? { try message().offer(in: bytes.span) }

    @Test func `the question is a packet from nobody to everybody`() throws {
        let bytes = try Self.message().packet
        #expect(bytes.count == 328 && bytes[0] == 0x45 && bytes[9] == 17)
        #expect(Array(bytes[12..<20]) == [0, 0, 0, 0, 255, 255, 255, 255])
        #expect(Array(bytes[20..<24]) == [0, 68, 0, 67])
        // The checksum of a header that holds its own is zero.
        let sum = EchoMessage.checksum(Array(bytes[..<20]).span)
        #expect(sum == 0)
        let message = Array(bytes[28...])
        #expect(Array(message[..<12]) == [1, 1, 6, 0, 1, 2, 3, 4, 0, 0, 0x80, 0])
        #expect(Array(message[28..<34]) == [2, 0, 0, 0, 0, 0x66])
        #expect(Array(message[236..<243]) == [99, 130, 83, 99, 53, 1, 1])
        #expect(message[12..<28].allSatisfy { $0 == 0 } && message.contains(255))
    }

    @Test func `an offer tells its server and its first router`() throws {
        let expected = LeaseOffer(server: .v4(0xC000_0201), router: .v4(0xC000_0201))
        #expect(try Self.read(Self.packet()) == expected)
        let bare = try Self.read(Self.packet([0, 0, 54, 4, 192, 0, 2, 7, 53, 1, 2]))
        #expect(bare == LeaseOffer(server: .v4(0xC000_0207)))
    }

    @Test(
        arguments: [
            [53, 1, 5, 54, 4, 192, 0, 2, 1, 255], [53, 1, 2, 255], [53, 1, 2, 54, 4, 0, 0, 0, 0, 255], [255],
            [53, 1, 2, 54, 200, 1, 2], [53, 1, 2, 54, 4, 224, 0, 0, 1], [54], [],
        ] as [[UInt8]]
    )
    func `what is no offer of a server is none`(options: [UInt8]) throws {
        #expect(try Self.read(Self.packet(options)) == nil)
    }

    @Test func `an offer tells where a captive portal is asked`() throws {
        let text = "https://portal.example.test/api"
        let options = [53, 1, 2, 54, 4, 192, 0, 2, 1, 114, UInt8(text.utf8.count)] + Array(text.utf8) + [255]
        let page = try #require(PageAddress(text))
        #expect(try Self.read(Self.packet(options))?.portal == .interface(page))
        #expect(try Self.read(Self.packet([114, 1, 65] + Self.offered))?.portal == .unusable)
        #expect(try Self.read(Self.packet([114, 0] + Self.offered))?.portal == nil)
        #expect(try Self.message().discover[240..<252] == [53, 1, 1, 55, 6, 1, 3, 6, 54, 108, 114, 255])
        #expect(try Self.read(Self.packet([108, 4, 0, 0, 7, 8] + Self.offered))?.prefersIPv6Only == true)
        #expect(try Self.read(Self.packet(Self.offered))?.prefersIPv6Only == false)
    }

    @Test(arguments: [0, 9, 23, 28, 32, 35, 56, 61, 264, 267])
    func `an answer to another question is none`(offset: Int) throws {
        #expect(try Self.read(Self.packet { $0[offset] ^= 0x11 }) == nil)
    }

    @Test func `pieces and any bytes are read without harm`() throws {
        let whole = try Self.packet()
        for count in 0..<268 { #expect(try Self.read(Array(whole[..<count])) == nil) }
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<6 { bytes[.random(in: 0..<bytes.count)] = .random(in: 0...255) }
            _ = try Self.read(Array(bytes.prefix(.random(in: 0...bytes.count))))
        }
    }

    @Test func `a later fragment, another protocol and another version are no offers`() throws {
        #expect(try Self.read(Self.packet { $0[9] = 6 }) == nil)
        #expect(try Self.read(Self.packet { $0[0] = 0x65 }) == nil)
        #expect(try Self.read(Self.packet { $0[0] = 0x44 }) == nil)
        #expect(try Self.read(Self.packet { $0[0] = 0x4F }) == nil)
    }

    @Test func `options of IP are skipped`() throws {
        var bytes = try Self.packet()
        bytes[0] = 0x46
        bytes.insert(contentsOf: [1, 1, 1, 1], at: 20)
        #expect(try Self.read(bytes) != nil)
    }
}

@Suite(.inNamespace) struct DHCPProbeTests {
    private static func query(_ network: ProbeNetwork, limit: Duration, index: Int? = nil) async throws -> DHCPResult {
        let probe = DHCPProbe(
            on: unsafe index ?? Int(if_nametoindex("eth0")),
            from: try #require(HardwareAddress([2, 0, 0, 0, 0, 1])),
            limit: limit
        )
        return try await network.run(probe).result
    }

    @Test func `dnsmasq offers what it is told to, and nothing is leased`() async throws {
        let network = try ProbeNetwork()
        let words = [
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--user=root", "--group=root",
            "--no-ping",
            "--interface=eth1", "--dhcp-range=192.0.2.100,192.0.2.110,1h", "--dhcp-leasefile=/dev/null",
            "--dhcp-option=option:router,192.0.2.254", "--dhcp-option=114,https://portal.example.test/api",
            "--bind-dynamic", "--log-facility=/dev/null",
        ]
        let server = try network.serve(words)
        try await network.loop.eventually("dnsmasq") {
            try network.far.run("ss -Hlun sport = :67").contains(":67")
        }
        let before = try network.near.ip("-4 address show dev eth0")
        let page = try #require(PageAddress("https://portal.example.test/api"))
        var expected = LeaseOffer(server: .v4(0xC000_0202), router: .v4(0xC000_02FE), portal: .interface(page))
        expected.mask = .v4(0xFFFF_FF00)
        var found: DHCPResult?
        // A machine that is busy may take longer than one question waits.
        for _ in 0..<10 where found != .offers([expected]) {
            found = try await Self.query(network, limit: .seconds(2))
        }
        #expect(found == .offers([expected]))
        #expect(try network.near.ip("-4 address show dev eth0") == before)
        server.signal(9)
    }

    @Test func `a link without a server offers nothing, and one that is not there is told`() async throws {
        let network = try ProbeNetwork()
        #expect(try await Self.query(network, limit: .milliseconds(50)) == .offers([]))
        guard case .failed(let text) = try await Self.query(network, limit: .seconds(9), index: 9999) else {
            Issue.record("an interface that is not there was asked")
            return
        }
        #expect(!text.isEmpty)
    }
}
