// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct RouterAdvertisementTests {
    private static let source = IPAddress.v6(0xFE80_0000_0000_0000_0000_0000_0000_0001)
    private static let prefix = IPAddress.v6(0x2001_0DB8_0077_0000_0000_0000_0000_0000)

    /// An option with a prefix.
    private static func option(_ address: IPAddress = prefix, length: UInt8 = 64, valid: UInt8 = 1) -> [UInt8] {
        [3, 4, length, 0xC0, 0, 0, 0, valid] + [UInt8](repeating: 0, count: 8) + address.bytes
    }

    /// An advertisement with options.
    private static func message(_ options: [[UInt8]] = [option()], lifetime: UInt16 = 1800) -> [UInt8] {
        let head: [UInt8] = [134, 0, 0, 0, 64, 0, UInt8(lifetime >> 8), UInt8(lifetime & 0xFF)]
        return head + [UInt8](repeating: 0, count: 8) + options.joined()
    }

    private static func read(
        _ bytes: [UInt8],
        from source: IPAddress = source,
        hopLimit: Int = 255
    ) -> RouterAdvertisement? {
        RouterAdvertisement(bytes.span, from: source, hopLimit: hopLimit)
    }

    @Test func `prefixes and lifetime are read`() throws {
        let other = IPAddress.v6(0xFD00_0000_0000_0000_0000_0000_0000_0001)
        let options = [[1, 1, 2, 0, 0, 0, 0, 1], Self.option(), Self.option(other, length: 48), Self.option()]
        let router = try #require(Self.read(Self.message(options)))
        #expect(router.source == Self.source && router.lifetime == .seconds(1800))
        #expect(router.prefixes == [IPPrefix(Self.prefix, length: 64), IPPrefix(other, length: 48)])
        #expect(Self.read(Self.message(lifetime: 0))?.lifetime == .zero)
        #expect(Self.read(Self.message([]))?.prefixes == [])
    }

    @Test func `it tells where a captive portal is asked`() throws {
        let text = "https://portal.example.test/v1"
        let option = [37, 4] + Array(text.utf8)
        let padded = [37, 5] + Array(text.utf8) + [UInt8](repeating: 0, count: 8)
        let page = try #require(PageAddress(text))
        for bytes in [option, padded] {
            let router = try #require(Self.read(Self.message([bytes, Self.option()])))
            #expect(router.portal == .interface(page) && router.prefixes.count == 1)
        }
        #expect(Self.read(Self.message([[37, 1, 0, 0, 0, 0, 0, 0]]))?.portal == .unusable)
        #expect(Self.read(Self.message())?.portal == nil)
    }

    @Test func `what is withdrawn or makes no sense is no prefix`() {
        let local = IPAddress.v6(0xFE80 << 112)
        let group = IPAddress.v6(0xFF02 << 112)
        let options = [
            Self.option(valid: 0), Self.option(length: 129), Self.option(local), Self.option(group),
            [3, 1, 64, 0xC0, 0, 0, 0, 9],
        ]
        for option in options { #expect(Self.read(Self.message([option]))?.prefixes == [], "\(option)") }
    }

    @Test func `only the link itself is believed`() {
        #expect(Self.read(Self.message(), hopLimit: 254) == nil && Self.read(Self.message(), hopLimit: -1) == nil)
        #expect(Self.read(Self.message(), from: Self.prefix) == nil)
        #expect(Self.read(Self.message(), from: .v4(0xA9FE_0001)) == nil)
    }

    @Test func `another message, or a piece of one, is none`() {
        let whole = Self.message()
        for count in 0..<whole.count where count != 16 { #expect(Self.read(Array(whole[..<count])) == nil, "\(count)") }
        #expect(Self.read(Self.message([[3, 0] + [UInt8](repeating: 1, count: 30)])) == nil)
        #expect(Self.read([136] + whole.dropFirst()) == nil && Self.read([134, 1] + whole.dropFirst(2)) == nil)
    }

    @Test func `any bytes are read without harm`() {
        for _ in 0..<20_000 {
            var bytes = Self.message([Self.option(), Self.option()])
            for _ in 0..<8 { bytes[.random(in: 1..<bytes.count)] = .random(in: 0...255) }
            _ = Self.read(Array(bytes.prefix(.random(in: 0...bytes.count))))
        }
    }

    @Test func `the question names its sender`() throws {
        let sender = try #require(HardwareAddress([2, 0, 0, 0, 0, 0x66]))
        #expect(
            RouterAdvertisement.solicitation(from: sender) == [133, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 0x66]
        )
        #expect("\(RouterAdvertisement.group)" == "ff02::2")
    }
}

@Suite(.inNamespace) struct RouterSolicitationTests {
    private static func query(
        _ network: ProbeNetwork,
        index: Int? = nil,
        limit: Duration = .milliseconds(800)
    ) async throws -> RouterResult {
        let device = unsafe Int(if_nametoindex("eth0"))
        let sender = try #require(HardwareAddress([2, 0, 0, 0, 0, 1]))
        return try await network.run(RouterSolicitation(on: index ?? device, from: sender, limit: limit)).result
    }

    @Test func `radvd is heard`() async throws {
        let network = try ProbeNetwork()
        try network.near.waitForAddresses(on: "eth0", isLinkLocal: true)
        try network.far.waitForAddresses(on: "eth1", isLinkLocal: true)
        try network.near.run(["sysctl", "-qw", "net.ipv6.conf.eth0.accept_ra=0"])
        try network.far.run(["sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"])
        let scratch = try Scratch()
        let text = """
            interface eth1 { AdvSendAdvert on; AdvDefaultLifetime 1200;
            prefix 2001:db8:5::/64 { }; prefix 2001:db8:6::/64 { AdvValidLifetime 0; AdvPreferredLifetime 0; }; };
            """
        let options = ["-C", try scratch.write(text, to: "radvd.conf"), "-p", scratch.file("radvd.pid")]
        let server = try network.serve(["radvd", "-n", "-m", "stderr"] + options)
        var found: [RouterAdvertisement] = []
        for _ in 0..<40 where found.isEmpty {
            if case .advertisements(let routers) = try await Self.query(network) { found = routers }
        }
        #expect(found.map(\.lifetime) == [.seconds(1200)])
        #expect(found.first?.prefixes.map(\.description) == ["2001:db8:5::/64"])
        server.signal(15)
        _ = server.wait()
    }

    @Test func `a link without a router is a link without a router`() async throws {
        let network = try ProbeNetwork()
        try network.near.waitForAddresses(on: "eth0", isLinkLocal: true)
        #expect(try await Self.query(network, limit: .milliseconds(50)) == .advertisements([]))
    }

    @Test func `an interface that is not there is reported`() async throws {
        let network = try ProbeNetwork()
        guard case .failed(let text) = try await Self.query(network, index: 9999) else {
            Issue.record("an interface that is not there was asked")
            return
        }
        #expect(!text.isEmpty)
    }
}
