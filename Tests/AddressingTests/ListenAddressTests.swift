// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@Suite struct ListenAddressTests {
    @Test func `a unix socket has an absolute path`() {
        #expect(ListenAddress("unix:/run/nwpath/api.sock") == .unix(path: "/run/nwpath/api.sock"))
        #expect(ListenAddress("unix:/a:b c%d") == .unix(path: "/a:b c%d"))
    }

    @Test(arguments: [105, 106, 107, 108])
    func `a path has at most 107 bytes`(length: Int) {
        let path = "/" + String(repeating: "x", count: length - 1)
        #expect((ListenAddress("unix:" + path) != nil) == (length <= ListenAddress.longestPath))
        let wide = "/" + String(repeating: "é", count: (length - 1) / 2)
        #expect((ListenAddress("unix:" + wide) != nil) == (wide.utf8.count <= 107))
    }

    @Test(arguments: ["\n", "\u{0}", "\u{1B}", "\u{7F}"])
    func `a path has no control characters`(character: String) {
        #expect(ListenAddress("unix:/a\(character)b") == nil)
    }

    @Test(
        arguments: [
            ("127.0.0.1:8353", "127.0.0.1", nil, 8353), ("[::1]:0", "::1", nil, 0),
            ("[fe80::1%eth0]:1", "fe80::1", "eth0", 1), ("[2001:DB8::1]:65535", "2001:db8::1", nil, 65_535),
            ("0.0.0.0:00080", "0.0.0.0", nil, 80), ("[2001:db8::1%eth0]:1", "2001:db8::1", nil, 1),
        ] as [(String, String, String?, UInt16)]
    )
    func `an address has its port, and a scope where one is needed`(
        text: String,
        address: String,
        scope: String?,
        port: UInt16
    ) throws {
        let expected = ScopedAddress(try #require(IPAddress(address)), scope: scope)
        #expect(ListenAddress(text) == .tcp(expected, port: port))
    }

    @Test(arguments: [
        "127.0.0.1", ":1", "[]:1", "[::1:1", "::1]:1", "[::1]1", "[::1] :1", "127.0.0.1:", "127.0.0.1:1a",
        "127.0.0.1:-1",
        "127.0.0.1:000080", "127.0.0.1:65536", "[127.0.0.1]:1", "::1:1", "127.0.0.1%lo:1%", "[fe80::1%]:1", "unix:x",
        "unix:/", "unix:/a/", "UNIX:/a", "tcp:127.0.0.1:1", "localhost:1", "127.0.0.1:１",
    ])
    func `everything else is refused`(text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test(arguments: [
        ("unix:/x", true), ("127.0.0.1:1", true), ("127.255.255.254:1", true), ("[::1]:1", true), ("0.0.0.0:1", false),
        ("[::]:1", false), ("192.0.2.1:1", false), ("[fe80::1%lo]:1", false), ("[::ffff:127.0.0.1]:1", false),
    ])
    func `only sockets and loopback are out of others' reach`(text: String, isLocal: Bool) throws {
        #expect(try #require(ListenAddress(text)).isLocal == isLocal)
    }

    @Test(arguments: ["unix:/x", "127.0.0.1:8353", "[::1]:8353", "[fe80::1%eth0]:80"])
    func `the text reads back`(text: String) {
        #expect(ListenAddress(text)?.description == text)
        #expect(!ListenAddress.expectation.isEmpty)
    }
}

@Suite struct AddressOrderTests {
    @Test func `families have widths and an order`() {
        #expect(AddressFamily.allCases == [.ipv4, .ipv6])
        #expect(AddressFamily.allCases.map(\.bitWidth) == [32, 128])
        #expect(AddressFamily.ipv4 < .ipv6 && !(AddressFamily.ipv6 < .ipv4) && !(AddressFamily.ipv4 < .ipv4))
        #expect(AddressFamily(rawValue: "ipv6") == .ipv6 && AddressFamily(rawValue: "IPv6") == nil)
    }

    @Test func `scoped addresses are ordered by address, then by interface`() throws {
        let first = try #require(IPAddress("fe80::1"))
        let second = try #require(IPAddress("fe80::2"))
        let all = [
            ScopedAddress(second), ScopedAddress(first, scope: "eth1"), ScopedAddress(first, scope: "eth0"),
            ScopedAddress(first),
        ]
        #expect(all.sorted().map(\.description) == ["fe80::1", "fe80::1%eth0", "fe80::1%eth1", "fe80::2"])
    }

    @Test(arguments: [
        ("ff02::fb", true), ("ff05::2", true), ("fe80::1", true), ("febf::1", true), ("fec0::1", false), ("::1", false),
        ("169.254.0.1", false), ("224.0.0.251", false), ("fd00::1", false),
    ])
    func `link-local unicast and multicast of IPv6 keep a scope`(text: String, keeps: Bool) throws {
        #expect((ScopedAddress(try #require(IPAddress(text)), scope: "eth0").scope != nil) == keeps)
    }

    @Test(arguments: [
        ("128.0.0.0/1", "255.255.255.255", true), ("128.0.0.0/1", "127.255.255.255", false), ("::/1", "7fff::1", true),
        ("::/1", "8000::", false), ("fe80::/10", "febf:ffff::1", true), ("fe80::/10", "fec0::", false),
        ("2001:db8::1/128", "2001:db8::1", true), ("2001:db8::1/128", "2001:db8::2", false),
    ])
    func `prefixes of any length contain what they should`(prefix: String, address: String, contains: Bool) throws {
        #expect(try #require(IPPrefix(prefix)).contains(try #require(IPAddress(address))) == contains)
    }

    @Test func `every length of prefix clears the bits behind it`() throws {
        for length in 0...32 {
            let prefix = IPPrefix(.v4(.max), length: length)
            let expected: UInt32 = length == 0 ? 0 : .max << UInt32(32 - length)
            #expect(prefix.address == .v4(expected) && prefix.length == length)
            #expect(IPPrefix(prefix.description) == prefix)
        }
        for length in 0...128 {
            let prefix = IPPrefix(.v6(.max), length: length)
            let expected: UInt128 = length == 0 ? 0 : .max << UInt128(128 - length)
            #expect(prefix.address == .v6(expected) && prefix.length == length)
            #expect(IPPrefix(prefix.description) == prefix)
        }
        #expect(IPPrefix(.v6(1), length: -5) == IPPrefix(.v6(0), length: 0))
    }

    @Test func `a prefix never contains addresses of the other family`() throws {
        let all4 = try #require(IPPrefix("0.0.0.0/0"))
        let all6 = try #require(IPPrefix("::/0"))
        for text in ["::ffff:192.0.2.1", "::", "2001:db8::1"] {
            let address = try #require(IPAddress(text))
            #expect(!all4.contains(address) && all6.contains(address))
        }
        for text in ["192.0.2.1", "0.0.0.0"] {
            let address = try #require(IPAddress(text))
            #expect(all4.contains(address) && !all6.contains(address))
        }
    }

    @Test func `substrings are read without a copy`() {
        #expect(IPAddress("addr=192.0.2.1".dropFirst(5)) == .v4(0xC000_0201))
        #expect(IPAddress("[::1]".dropFirst().dropLast()) == .v6(1))
        #expect(IPPrefix("net 10.0.0.0/8".dropFirst(4))?.length == 8)
    }

    @Test(arguments: [0, 1, 3, 5, 8, 15, 17, 32])
    func `only four or sixteen bytes are an address`(count: Int) {
        let bytes = [UInt8](repeating: 1, count: count)
        let address = IPAddress(bytes: bytes.span)
        #expect(address == nil)
    }

    @Test func `bytes go round trip, and texts of random prefixes too`() {
        var state: UInt64 = 7
        for _ in 0..<500 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let four = IPAddress.v4(UInt32(truncatingIfNeeded: state >> 20))
            let six = IPAddress.v6(UInt128(state) << 64 | UInt128(state &* 31))
            for address in [four, six] {
                let bytes = address.bytes
                let back = IPAddress(bytes: bytes.span)
                #expect(back == address)
                let prefix = IPPrefix(address, length: Int(state % UInt64(address.family.bitWidth)))
                #expect(IPPrefix(prefix.description) == prefix && prefix.contains(address))
            }
        }
    }
}
