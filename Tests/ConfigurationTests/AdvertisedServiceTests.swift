// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

@testable import Configuration

/// `mdns.advertise`: what the daemon is to offer.
@Suite struct AdvertisedServiceTests {
    private func file(_ items: String...) -> String {
        "mdns:\n  advertise:\n" + items.map { "    - \($0)\n" }.joined()
    }

    @Test func `nothing is offered by default, and everything that is said is taken`() throws {
        #expect(try read("").mdns.advertised.isEmpty)
        let services = try read(fullConfiguration).mdns.advertised
        #expect(services.map(\.type) == ["_http._tcp", "_prometheus-http._tcp"])
        let first = try #require(services.first)
        #expect(first.name == "Büro: Dr. No's" && first.port == 8080)
        #expect(first.subtypes == ["_printer"] && first.interfaces == ["eth0"])
        #expect(
            first.text == [
                .init(key: "path", value: Array("/start".utf8)), .init(key: "empty", value: []),
                .init(key: "flag", value: nil),
            ]
        )
        #expect(services.last?.name == nil && services.last?.text.isEmpty == true)
    }

    @Test func `the effective dump and the JSON have it all`() throws {
        let full = try read(fullConfiguration)
        #expect(try read(full.yaml).mdns.advertised == full.mdns.advertised)
        let first = full.tree["mdns"]?["advertise"]
        guard case .list(let items) = first else {
            Issue.record("no list")
            return
        }
        #expect(items.first?["txt"] == .map([.init("path", "/start"), .init("empty", ""), .init("flag", .null)]))
        #expect(items.last?["name"] == nil)
    }

    @Test(arguments: [
        ("{type: _http._tcp, prt: 80}", "3:26: unknown key 'prt' in mdns.advertise[0] (did you mean 'port'?)"),
        ("{type: _http._tcp, port: 0}", "3:32: mdns.advertise[0].port is '0', expected a whole number from 1 to 65535"),
        (
            "{type: http.tcp, port: 80}",
            "3:14: mdns.advertise[0].type is 'http.tcp', expected a service type such as _http._tcp "
                + "(did you mean '_http._tcp'?)"
        ),
        (
            "{type: _http._tcp.local, port: 80}",
            "3:14: mdns.advertise[0].type is '_http._tcp.local', expected a service type such as _http._tcp "
                + "(did you mean '_http._tcp'?)"
        ),
        ("{type: _http._tcp}", "3:7: mdns.advertise[0] needs type and port"),
        ("{port: 80}", "3:7: mdns.advertise[0] needs type and port"),
        ("_http._tcp", "3:7: mdns.advertise[0] is '_http._tcp', expected a map of keys and values"),
        (
            "{type: _a._tcp, port: 1, name: ''}",
            "3:38: mdns.advertise[0].name is '', expected a name of 1 to 63 bytes without control characters"
        ),
        ("{type: _a._tcp, port: 1, txt: [a]}", "is a list, expected a map of keys and texts such as {path: /start}"),
        ("{type: _a._tcp, port: 1, txt: {a: {}}}", "mdns.advertise[0].txt.a is a map, expected a text, or nothing"),
        ("{type: _a._tcp, port: 1, txt: {a: 1, A: 2}}", "TXT key 'A' occurs twice"),
        ("{type: _a._tcp, port: 1, txt: {'a=b': 1}}", "TXT key 'a=b' must be printable ASCII"),
        ("{type: _a._tcp, port: 1, subtypes: ['']}", "subtypes[0] is '', expected a subtype such as _printer"),
        ("{type: _a._tcp, port: 1, interfaces: [a/b]}", "interfaces[0] is 'a/b', expected an interface name"),
    ])
    func `what is wrong is told in one line with its place`(item: String, words: String) {
        let found = problems(file(item))
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(words) == true, "\(found)")
        #expect(found.first?.hasPrefix("nwpath.yaml:3:") == true, "\(found)")
    }

    @Test func `two of one name and type are one too many; other names and types are not`() {
        let lamp = "{name: Lamp, type: _a._tcp, port: 1}"
        #expect(
            problems(file(lamp, "{name: LAMP, type: _A._tcp, port: 2}")) == [
                "nwpath.yaml:4:7: mdns.advertise[1] has the same name and type as an earlier entry"
            ]
        )
        #expect(problems(file(lamp, "{name: Lamp, type: _b._tcp, port: 1}", "{type: _a._tcp, port: 1}")) == [])
        #expect(problems(file("{type: _a._tcp, port: 1}", "{type: _a._tcp, port: 2}")).count == 1)
    }

    @Test func `there may be 64, and a group is not set by a variable`() throws {
        let items = (0..<65).map { "{type: _a\($0)._tcp, port: 1}" }
        func file(_ count: Int) -> String {
            "mdns:\n  advertise:\n" + items.prefix(count).map { "    - \($0)\n" }.joined()
        }
        #expect(problems(file(64)) == [])
        #expect(problems(file(65)) == ["nwpath.yaml:3:5: mdns.advertise has more than 64 entries"])
        #expect(throws: ConfigurationError.self) { try read("", environment: ["NWPATH_MDNS_ADVERTISE": "x"]) }
        let reference = Configuration.reference(paths: rootPaths).filter { $0.key.hasPrefix("mdns.advertise") }
        #expect(reference.map(\.key).last == "mdns.advertise[].interfaces" && reference.count == 7)
        #expect(reference.allSatisfy { $0.variable == nil })
    }

    @Test func `a change is told under the list, and needs no restart`() throws {
        let old = try read(file("{type: _a._tcp, port: 1}"))
        let difference = try read(file("{type: _a._tcp, port: 2}")).difference(from: old)
        #expect(difference.changed == ["mdns.advertise"] && difference.restartNeeded.isEmpty)
        let schema = Configuration.schema(paths: rootPaths)["properties"]?["mdns"]?["properties"]?["advertise"]
        #expect(schema?["type"] == "array" && schema?["items"]?["properties"]?["port"]?["maximum"] == 65_535)
        #expect(schema?["default"] == [])
    }

    @Test func `a name is taken in the form in which it is published`() throws {
        let service = try read(file("{name: \"Bu\\u0308ro\", type: _a._tcp, port: 1}")).mdns.advertised.first
        #expect(service?.name?.unicodeScalars.map(\.value) == [0x42, 0xFC, 0x72, 0x6F])
    }

    @Test func `a later file replaces the list as a whole`() throws {
        func read(_ texts: String...) throws -> [AdvertisedService] {
            let sources = texts.enumerated().map { Configuration.Source(name: "\($0).yaml", bytes: Array($1.utf8)) }
            return try Configuration.read(sources, paths: rootPaths).mdns.advertised
        }
        let first = file("{type: _a._tcp, port: 1}", "{type: _b._tcp, port: 2}")
        #expect(try read(first, "mdns: {max_types: 7}\n").map(\.port) == [1, 2])
        #expect(try read(first, file("{type: _c._tcp, port: 3}")).map(\.type) == ["_c._tcp"])
        #expect(try read(first, "mdns: {advertise: []}\n").isEmpty)
    }

    @Test func `every mistake is told, and one bad item leaves the list as it was`() throws {
        let text = file("{type: _a._tcp, port: 70000, txt: 1}", "7", "{type: _b._tcp, port: 2}", "{nam: x}")
        let found = problems(text)
        #expect(
            found == [
                "nwpath.yaml:3:29: mdns.advertise[0].port is '70000', expected a whole number from 1 to 65535",
                "nwpath.yaml:3:41: mdns.advertise[0].txt is '1', expected a map of keys and texts such as "
                    + "{path: /start}",
                "nwpath.yaml:4:7: mdns.advertise[1] is '7', expected a map of keys and values",
                "nwpath.yaml:6:8: unknown key 'nam' in mdns.advertise[3] (did you mean 'name'?)",
            ]
        )
    }

    @Test(arguments: [
        "mdns: {advertise: {type: _a._tcp, port: 1}}", "mdns: {advertise: _a._tcp}", "mdns: {advertise: }",
    ])
    func `what is no list is refused`(text: String) {
        let found = problems(text)
        #expect(found.count == 1)
        #expect(found.first?.contains("expected a list; each item a map of keys and values") == true, "\(found)")
    }

    @Test func `the example of the default file is right`() throws {
        let lines = Configuration.defaultFile(paths: rootPaths).split(separator: "\n")
        let start = try #require(lines.firstIndex(of: "  # advertise:"))
        let example = lines[start...].prefix(4).map { line in String(line.dropFirst(4)) }
        let services = try read("mdns:\n" + example.map { "  \($0)\n" }.joined()).mdns.advertised
        #expect(services.map(\.type) == ["_prometheus-http._tcp"] && services.first?.port == 8353)
        #expect(services.first?.text == [.init(key: "path", value: Array("/metrics".utf8))])
    }

    @Test(
        arguments: [
            ("_a._tcp", nil, "_A._TCP", nil, true), ("_a._tcp", "Lamp", "_a._tcp", "LAMP", true),
            ("_a._tcp", "Lamp", "_a._tcp", nil, false), ("_a._tcp", "Lamp", "_a._udp", "Lamp", false),
            ("_a._tcp", "Büro", "_a._tcp", "BÜRO", false),
        ] as [(String, String?, String, String?, Bool)]
    )
    func `N3: names differ by more than the case of ASCII letters`(
        type: String,
        name: String?,
        otherType: String,
        otherName: String?,
        isSame: Bool
    ) {
        var (first, second) = (AdvertisedService(), AdvertisedService())
        (first.type, first.name) = (type, name)
        (second.type, second.name) = (otherType, otherName)
        #expect(first.isNamed(as: second) == isSame && second.isNamed(as: first) == isSame)
    }
}
