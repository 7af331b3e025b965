// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import Testing

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
        ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:db8::1", "2001:db8::1"),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("1:0:0:2::3", "1:0:0:2::3"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"), ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
        ("fe80::1:0:0:0", "fe80::1:0:0:0"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
    ])
    func `reads a literal and writes its canonical text`(literal: String, canonical: String) throws {
        let address = try #require(IPAddress(literal))
        #expect(address.description == canonical)
        #expect(IPAddress(canonical) == address)
    }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.+4", " 1.2.3.4", "1.2.3.4 ", ":", ":::",
        "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::", "g::", "::1%eth0",
        "::1.2.3", "1.2.3.4::", "::١", "1:", ":1", "::+1",
    ])
    func `refuses what is no literal`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func `agrees with inet_ntop and inet_pton on random addresses`() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            // Half of the groups are zero, so that every shape of compression comes up.
            let groups = (0..<8).map { _ in
                Bool.random(using: &generator) ? 0 : UInt16.random(in: 0...0xFFFF, using: &generator)
            }
            let value = groups.reduce(UInt128(0)) { $0 << 16 | UInt128($1) }
            let address = IPAddress.v6(value)
            // The C library writes some addresses with a dotted end that RFC 5952 section 5 does not ask for.
            guard value >> 32 != 0 else { continue }
            var text = [CChar](repeating: 0, count: 64)
            let bytes = address.bytes
            _ = unsafe inet_ntop(AF_INET6, bytes, &text, 64)
            let expected = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            #expect(address.description == expected)
            #expect(IPAddress(expected) == address)
        }
    }

    @Test func `holds its bytes in network order`() throws {
        let four = try #require(IPAddress("192.0.2.1"))
        #expect(four.bytes == [192, 0, 2, 1])
        #expect(read(four.bytes) == four)
        let six = try #require(IPAddress("2001:db8::102"))
        #expect(six.bytes.prefix(4) == [0x20, 0x01, 0x0D, 0xB8] && six.bytes.suffix(2) == [1, 2])
        #expect(read(six.bytes) == six)
        #expect(read([1, 2, 3]) == nil)
        #expect(read([]) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1", true, false, false, false), ("127.255.0.1", true, false, false, false),
        ("169.254.1.1", false, true, false, false), ("169.253.1.1", false, false, false, false),
        ("224.0.0.251", false, false, true, false), ("::1", true, false, false, false),
        ("fe80::1", false, true, false, false), ("febf::1", false, true, false, false),
        ("fec0::1", false, false, false, false), ("ff02::fb", false, false, true, false),
        ("fd00::1", false, false, false, true), ("fc00::1", false, false, false, true),
        ("2001:db8::1", false, false, false, false),
    ])
    func `knows the classes of addresses`(
        text: String,
        loopback: Bool,
        linkLocal: Bool,
        multicast: Bool,
        ula: Bool
    ) throws {
        let address = try #require(IPAddress(text))
        #expect(address.isLoopback == loopback)
        #expect(address.isLinkLocal == linkLocal)
        #expect(address.isMulticast == multicast)
        #expect(address.isUniqueLocal == ula)
    }

    /// The expectation macro cannot hold a span itself.
    private func read(_ bytes: [UInt8]) -> IPAddress? {
        IPAddress(bytes: bytes.span)
    }

    @Test func `orders IPv4 before IPv6, then by value`() throws {
        let sorted = try ["10.0.0.2", "::2", "::1", "10.0.0.1"].map { try #require(IPAddress($0)) }.sorted()
        #expect(sorted.map(\.description) == ["10.0.0.1", "10.0.0.2", "::1", "::2"])
        #expect(try #require(IPAddress("0.0.0.0")).isUnspecified)
        #expect(AddressFamily.ipv4 < .ipv6)
    }

    @Test func `keeps a scope only where one is needed`() throws {
        let linkLocal = try #require(IPAddress("fe80::1"))
        #expect(ScopedAddress(linkLocal, scope: "eth0").description == "fe80::1%eth0")
        #expect(ScopedAddress(linkLocal).description == "fe80::1")
        let global = try #require(IPAddress("2001:db8::1"))
        #expect(ScopedAddress(global, scope: "eth0") == ScopedAddress(global))
        let four = try #require(IPAddress("169.254.1.1"))
        #expect(ScopedAddress(four, scope: "eth0").description == "169.254.1.1")
    }
}

@Suite struct IPPrefixTests {
    @Test(arguments: [
        ("192.0.2.0/24", "192.0.2.255", true), ("192.0.2.0/24", "192.0.3.0", false), ("0.0.0.0/0", "8.8.8.8", true),
        ("0.0.0.0/0", "::1", false), ("::/0", "2001:db8::1", true), ("2000::/3", "3fff::1", true),
        ("2000::/3", "4000::", false), ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7/32", "192.0.2.6", false),
        ("2001:db8::/32", "2001:db9::", false),
    ])
    func `contains its addresses and no others`(prefix: String, address: String, expected: Bool) throws {
        let prefix = try #require(IPPrefix(prefix))
        #expect(try prefix.contains(#require(IPAddress(address))) == expected)
    }

    @Test(arguments: [
        "", "/", "1.2.3.4/33", "::/129", "1.2.3.4/-1", "1.2.3.4/a", "1.2.3.4/24", "1.2.3.0/24/1", "::1/64",
    ])
    func `refuses what is no prefix`(text: String) {
        #expect(IPPrefix(text) == nil)
    }

    @Test func `clears the bits past its length`() throws {
        let address = try #require(IPAddress("192.0.2.77"))
        #expect(IPPrefix(address, length: 24).description == "192.0.2.0/24")
        #expect(IPPrefix(address, length: 0).description == "0.0.0.0/0")
        #expect(IPPrefix(address, length: 99).description == "192.0.2.77/32")
    }
}
