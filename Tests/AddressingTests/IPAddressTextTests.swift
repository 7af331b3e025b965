// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@Suite struct IPAddressTextTests {
    /// RFC 5952 section 4.2: the longest run of zeros is shortened, the first one of equals, and never a single group.
    @Test(arguments: [
        ("0:0:0:0:0:0:0:0", "::"), ("0:0:0:0:0:0:0:1", "::1"), ("1:0:0:0:0:0:0:0", "1::"),
        ("1:0:1:0:1:0:1:0", "1:0:1:0:1:0:1:0"), ("1:0:0:1:0:0:0:1", "1:0:0:1::1"), ("1:0:0:1:0:0:1:1", "1::1:0:0:1:1"),
        ("0:0:1:0:0:0:1:0", "0:0:1::1:0"), ("2001:0db8:000a:00b0::0001", "2001:db8:a:b0::1"),
        ("ABCD:EF01:2345:6789:ABCD:EF01:2345:6789", "abcd:ef01:2345:6789:abcd:ef01:2345:6789"),
    ])
    func `zeros are shortened once, in the right place`(literal: String, canonical: String) throws {
        #expect(try #require(IPAddress(literal)).description == canonical)
        #expect(IPAddress(canonical) == IPAddress(literal))
    }

    @Test(arguments: [
        ("::ffff:0.0.0.0", "::ffff:0.0.0.0"), ("::ffff:ffff:ffff", "::ffff:255.255.255.255"),
        ("::1.2.3.4", "::102:304"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("::fffe:1.2.3.4", "::fffe:102:304"),
    ])
    func `only mapped addresses have a dotted end`(literal: String, canonical: String) throws {
        #expect(try #require(IPAddress(literal)).description == canonical)
    }

    @Test(arguments: [
        "::00001", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1:::2", "::1.2.3.4:5", "1.2.3.4::1", "::1.2.3.04",
        "::256.1.1.1", "1:2:3:4:5:6:7:1.2.3.4", "fe80::1%", "[::1]", "::1 ", "0x1::", "1::2:", "12.34", "1.2.3.4.",
        ".1.2.3.4", "1..2.3", "１.2.3.4", "1.2.3.4\u{0}",
    ])
    func `near misses are refused`(text: String) {
        #expect(IPAddress(text) == nil)
    }
}

@Suite struct IPAddressSetTests {
    @Test func `addresses of both families are different, whatever their numbers`() {
        #expect(IPAddress.v4(1) != .v6(1))
        #expect(Set([IPAddress.v4(1), .v6(1), .v4(1), .v6(2)]).count == 3)
    }

    @Test func `values order addresses within a family`() {
        #expect(IPAddress.v4(1) < .v4(2) && !(IPAddress.v4(2) < .v4(2)))
        #expect(IPAddress.v4(.max) < .v6(0) && !(IPAddress.v6(0) < .v4(.max)))
    }
}
