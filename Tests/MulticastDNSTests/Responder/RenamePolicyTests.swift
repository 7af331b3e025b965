// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

@testable import MulticastDNS

private func text(_ bytes: [UInt8]) -> String? { String(validating: bytes, as: UTF8.self) }

@Suite struct RenamePolicyTests {
    @Test(
        arguments: [
            ("Lamp", "Lamp (2)"), ("Lamp (2)", "Lamp (3)"), ("Lamp (9)", "Lamp (10)"), ("Lamp (1)", "Lamp (1) (2)"),
            ("Lamp (02)", "Lamp (02) (2)"), ("Lamp (x)", "Lamp (x) (2)"), ("Lamp(2)", "Lamp(2) (2)"),
            ("Lamp (", "Lamp ( (2)"), (" (2)", " (2) (2)"), ("Lamp (2) (2)", "Lamp (2) (3)"), ("2", "2 (2)"),
            ("Lamp (9999999)", "Lamp (9999999) (2)"), ("Lamp (999999)", "Lamp (999999) (2)"),
        ]
    )
    func `P12: a service counts on in brackets`(name: String, next: String) {
        #expect(text(RenamePolicy.service(after: Array(name.utf8))) == next)
    }

    @Test(
        arguments: [
            ("host", "host-2"), ("host-2", "host-3"), ("host-99", "host-100"), ("host-1", "host-1-2"),
            ("host-02", "host-02-2"), ("host2", "host2-2"), ("my-host", "my-host-2"), ("-2", "-2-2"), ("2", "2-2"),
        ]
    )
    func `P12: a host counts on behind a hyphen`(name: String, next: String) {
        #expect(text(RenamePolicy.host(after: Array(name.utf8))) == next)
    }

    @Test(arguments: ["x", "ü", "プ", "🖨"], 55...63)
    func `N4: a long name is cut at a character`(character: String, length: Int) throws {
        var name = ""
        while name.utf8.count + character.utf8.count <= length { name += character }
        let next = RenamePolicy.service(after: Array(name.utf8))
        let shown = try #require(text(next), "a character was cut in two")
        #expect(next.count <= 63 && shown.hasSuffix(" (2)") && next.count > 63 - 4 - character.utf8.count - 4)
        let stem = shown.dropLast(4)
        #expect(name.hasPrefix(stem))
        if name.utf8.count <= 59 { #expect(stem == name) }
    }

    @Test func `P12: a thousand conflicts give a thousand names`() {
        var name = Array(String(repeating: "ü", count: 31).utf8)
        var seen: Set<[UInt8]> = [name]
        for _ in 0..<1000 {
            name = RenamePolicy.service(after: name)
            #expect(seen.insert(name).inserted && name.count <= 63)
        }
    }

    @Test func `bytes that are not text do not stop it`() {
        for byte in [UInt8(0x80), 0xBF, 0xFF] {
            let next = RenamePolicy.host(after: [UInt8](repeating: byte, count: 63))
            #expect(next.count <= 63 && next.suffix(2) == [0x2D, 0x32])
        }
        #expect(RenamePolicy.service(after: []) == Array(" (2)".utf8))
    }
}
