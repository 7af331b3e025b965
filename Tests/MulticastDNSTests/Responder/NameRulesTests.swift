// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import MulticastDNS
import Testing

/// The error that is thrown, if one is.
private func error(_ body: () throws(RegistrationError) -> Void) -> RegistrationError? {
    do throws(RegistrationError) { try body() } catch { return error }
    return nil
}

private func service(_ name: String = "Lamp", type: String = "_ipp._tcp") -> ServiceRegistration {
    ServiceRegistration(name: Array(name.utf8), type: type, port: 80)
}

@Suite struct ServiceTypeTests {
    @Test(
        arguments: [
            ("_ipp._tcp", "_ipp._tcp.local"), ("_ipp._udp", "_ipp._udp.local"), ("_ipp._tcp.local", "_ipp._tcp.local"),
            ("_ipp._tcp.local.", "_ipp._tcp.local"), ("_IPP._TCP", "_IPP._TCP.local"), ("_a._tcp", "_a._tcp.local"),
            ("_1a._tcp", "_1a._tcp.local"), ("_a-b-c._tcp", "_a-b-c._tcp.local"),
            ("_fifteen-letters._tcp", "_fifteen-letters._tcp.local"),
        ]
    )
    func `N7: types that may be published`(text: String, full: String) throws {
        #expect(try NameRules.serviceType(text).description == full)
    }

    @Test(
        arguments: [
            ("ipp._tcp", RegistrationError.serviceType("ipp._tcp")), ("_ipp", .serviceType("_ipp")),
            ("_ipp._sctp", .serviceType("_ipp._sctp")), ("_ipp._tcp.example", .serviceType("_ipp._tcp.example")),
            ("_x._ipp._tcp.local", .serviceType("_x._ipp._tcp.local")), ("", .serviceType("")),
            ("_ipp..", .serviceType("_ipp..")), ("_ipp._tcp\u{1B}[31m", .serviceType("_ipp._tcp\\027[31m")),
            ("_._tcp", .serviceNameLength(0)), ("_sixteen-letters-x._tcp", .serviceNameLength(17)),
            ("_dyson_mqtt._tcp", .serviceNameCharacters("dyson_mqtt")), ("_-a._tcp", .serviceNameCharacters("-a")),
            ("_a-._tcp", .serviceNameCharacters("a-")), ("_a--b._tcp", .serviceNameCharacters("a--b")),
            ("_123._tcp", .serviceNameCharacters("123")), ("_ä._tcp", .serviceNameCharacters("ä")),
        ]
    )
    func `N7: types that may not`(text: String, expected: RegistrationError) {
        #expect(error { () throws(RegistrationError) in _ = try NameRules.serviceType(text) } == expected)
    }
}

@Suite struct InstanceNameTests {
    @Test(
        arguments: [
            "Lamp", "Dr. No's Büro", "a.b\\c \"d\"", "プリンター", "🖨️", String(repeating: "x", count: 63), " ", "-",
        ]
    )
    func `N5: an instance may have any text in one label`(name: String) throws {
        #expect(try service(name).validate().description == "_ipp._tcp.local")
    }

    @Test(
        arguments: [
            ([], RegistrationError.labelLength(field: "instance name", length: 0)),
            (Array(String(repeating: "ü", count: 32).utf8), .labelLength(field: "instance name", length: 64)),
            ([0x61, 0x0A], .labelCharacters(field: "instance name")), ([0], .labelCharacters(field: "instance name")),
            ([0x1B, 0x5B], .labelCharacters(field: "instance name")),
            ([0x7F], .labelCharacters(field: "instance name")),
            ([0xC2, 0x85], .labelCharacters(field: "instance name")),
            ([0xFF], .labelCharacters(field: "instance name")),
            ([0xC3], .labelCharacters(field: "instance name")),
            ([0xEF, 0xBB, 0xBF, 0x61], .labelCharacters(field: "instance name")),
        ] as [([UInt8], RegistrationError)]
    )
    func `N3, N4, N5: but no control character, nothing but UTF-8, no byte order mark, and 63 bytes`(
        name: [UInt8],
        expected: RegistrationError
    ) {
        let registration = ServiceRegistration(name: name, type: "_ipp._tcp", port: 80)
        #expect(error { () throws(RegistrationError) in try registration.validate() } == expected)
    }

    @Test func `N4, N8: a subtype is one label, and there are not too many`() {
        var registration = service()
        registration.subtypes = [Array("_printer".utf8), Array("any text".utf8)]
        #expect(error { () throws(RegistrationError) in try registration.validate() } == nil)
        registration.subtypes = [[]]
        let empty = RegistrationError.labelLength(field: "subtype", length: 0)
        #expect(error { () throws(RegistrationError) in try registration.validate() } == empty)
        registration.subtypes = (0..<33).map { Array("_s\($0)".utf8) }
        let many = RegistrationError.tooMany(what: "subtypes", limit: 32)
        #expect(error { () throws(RegistrationError) in try registration.validate() } == many)
    }
}

@Suite struct HostNameTests {
    @Test(arguments: [
        ("printer", "printer.local"), ("printer.local", "printer.local"), ("a-1", "a-1.local"), ("büro", "büro.local"),
    ])
    func `hosts that may be claimed`(text: String, full: String) throws {
        #expect(try NameRules.hostName(text).description == full)
    }

    @Test(arguments: ["", "-a", "a-", "a b", "a_b", "xn--bro-hoa", "XN--bro-hoa", "a.b.local", "a.example", "local."])
    func `N3: hosts that may not`(text: String) {
        let thrown = error { () throws(RegistrationError) in _ = try NameRules.hostName(text) }
        if text == "local." {
            #expect(thrown == nil, "a host may well be called local")
        } else {
            #expect(thrown == .hostName(text))
        }
    }
}

@Suite struct TextRulesTests {
    private func check(_ entries: [TextRecord.Entry]) -> RegistrationError? {
        var registration = service()
        registration.text = entries
        return error { () throws(RegistrationError) in try registration.validate() }
    }

    @Test func `D7, D8: keys with any value, an empty one and none`() {
        let entries: [TextRecord.Entry] = [
            .init(key: "a", value: [0, 255, 0x3D]), .init(key: "b", value: []), .init(key: "c", value: nil),
            .init(key: "d e!", value: [1]),
        ]
        #expect(check(entries) == nil)
    }

    @Test(arguments: [("", ""), ("a=b", "a=b"), ("ä", "ä"), ("a\u{7F}", "a\\127"), ("\t", "\\009")])
    func `D7: keys that may not be published`(key: String, shown: String) {
        #expect(check([.init(key: key, value: nil)]) == .textKey(shown))
    }

    @Test func `D7: a key occurs once, in any case of letters`() {
        #expect(check([.init(key: "Path", value: [1]), .init(key: "path", value: [2])]) == .duplicateTextKey("path"))
    }

    @Test(arguments: [(253, nil), (254, RegistrationError.textStringLength(key: "k", length: 256))])
    func `a string has 255 bytes at most`(length: Int, expected: RegistrationError?) {
        #expect(check([.init(key: "k", value: [UInt8](repeating: 0, count: length))]) == expected)
    }

    @Test func `D9: a record has 1300 bytes at most`() {
        let value = [UInt8](repeating: 0, count: 200)
        #expect(check((0..<6).map { .init(key: "k\($0)", value: value) }) == nil)
        #expect(check((0..<7).map { .init(key: "k\($0)", value: value) }) == .textLength(7 * 204))
    }
}

@Suite struct RegistrationErrorTests {
    @Test(
        arguments: [
            (RegistrationError.serviceNameLength(17), ["17", "1 to 15"]),
            (.serviceNameCharacters("a_b"), ["'a_b'", "hyphens"]), (.serviceType("x"), ["'x'", "_ipp._tcp"]),
            (.labelLength(field: "subtype", length: 64), ["subtype", "64", "1 to 63"]),
            (.labelCharacters(field: "instance name"), ["instance name", "UTF-8"]),
            (.hostName("a b"), ["'a b'", "printer.local"]), (.nameTooLong, ["255"]), (.textKey("ä"), ["'ä'", "ASCII"]),
            (.duplicateTextKey("k"), ["'k'", "once"]),
            (.textStringLength(key: "k", length: 300), ["'k'", "300", "255"]),
            (.textLength(2000), ["2000", "1300"]), (.tooMany(what: "subtypes", limit: 32), ["subtypes", "32"]),
            (.noAddress, ["one"]),
        ]
    )
    func `an error says what is wrong and what is expected, in one line`(error: RegistrationError, words: [String]) {
        for word in words { #expect(error.description.contains(word)) }
        #expect(!error.description.contains("\n") && error.description.count < 120)
    }
}
