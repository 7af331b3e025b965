// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import PathModel
import Spelling
import Testing

@testable import Configuration

/// A key with values it takes, the first other than the default, and values it refuses.
private struct Key: Sendable, CustomTestStringConvertible {
    let name: String
    let good: [String]
    let bad: [String]
    let needsRestart: Bool

    init(_ name: String, _ good: [String], _ bad: [String], needsRestart: Bool = false) {
        self.name = name
        self.good = good
        self.bad = bad
        self.needsRestart = needsRestart
    }

    var testDescription: String { name }

    /// A file that sets this key.
    func file(_ value: String) -> String {
        let words = name.split(separator: ".")
        let lines = words.indices.map { depth in
            String(repeating: "  ", count: depth) + words[depth] + ":" + (depth == words.count - 1 ? " \(value)" : "")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The same value as a variable has it: no brackets, no quotes.
    static func variable(_ value: String) -> String { String(value.filter { !"[]'".contains($0) }) }

    static let all = [
        Key(
            "listen",
            ["['127.0.0.1:1']", "['unix:/x', '[::1]:0']"],
            ["['0.0.0.0:1']", "['fe80::1:80']", "[8353]"],
            needsRestart: true
        ),
        Key("hosts", ["[nas]", "[a.example, b_c]"], ["[a:1]", "['']", "[a, -b]"]),
        Key("insecure", ["true"], ["1", "TRUE", "'true'", "maybe"], needsRestart: true),
        Key("embed_badge", ["true"], ["1", "'true'", "default"]),
        Key("tls_server_config.min_version", ["TLS13"], ["TLS10", "1.3", "tls13"]),
        Key("token_file", ["/x"], ["x", "''"]),
        Key("state_dir", ["/x", "/with space"], ["x", "''", "~/x"], needsRestart: true),
        Key("log.file", ["/x", "'-'"], ["x", "--", "''"], needsRestart: true),
        Key("log.level", ["debug"], ["warning", "DEBUG", "1"]),
        Key(
            "log.max_size",
            ["64KiB", "4GiB", "0", "65537"],
            ["65535", "63KiB", "4294967297", "-1", "1TiB", "1.5MiB"]
        ),
        Key("traffic.enabled", ["false"], ["0", "'false'", "off"]),
        Key("log.max_age", ["60s", "366d", "0"], ["59s", "367d", "59999ms", "8785h", "1w"]),
        Key("log.keep", ["0", "1000"], ["1001", "-1", "4.0", "'4'"]),
        Key("debounce.quiet", ["0", "1ms", "1s"], ["999us", "11s", "10001ms"]),
        Key("debounce.cap", ["100ms", "60s", "0"], ["61s", "999us", "-1s"]),
        Key("audit_interval", ["1s", "1d", "0"], ["999ms", "86401s", "1"]),
        Key("recovery_hold", ["1ms", "1h"], ["999us", "3601s"]),
        Key("connectivity.check", ["public", "off"], ["none", "true", "''"]),
        Key("probes.ipv4", ["[192.0.2.1]"], ["[192.0.2.256]", "['2001:db8::1']", "[10.0.0.0/8]"]),
        Key("probes.ipv6", ["['2001:db8::1']"], ["['fe80::1']", "[192.0.2.1]"]),
        Key("ignore", ["[eth9]", "['veth*', 'br-[0-9a-f]*']"], ["['[']", "['']", "[[a]]"]),
        Key("gateway_liveness.enabled", ["true"], ["on", "'true'"], needsRestart: true),
        Key("gateway_liveness.interval", ["1s", "1h"], ["999ms", "3601s", "0"]),
        Key("dns.resolv_conf", ["/x"], ["resolv.conf"], needsRestart: true),
        Key("providers.networkmanager", ["false"], ["off"], needsRestart: true),
        Key("providers.resolved", ["false"], ["no"], needsRestart: true),
        Key("providers.modemmanager", ["false"], ["0"], needsRestart: true),
        Key("providers.nl80211", ["false"], ["False"], needsRestart: true),
        Key("providers.ethtool", ["false"], ["False"], needsRestart: true),
        Key("wifi.redact", ["true"], ["on"]),
        Key("require_vpn", ["true"], ["yes"]),
        Key("mdns.enabled", ["false"], ["disabled"], needsRestart: true),
        Key("mdns.census_interval", ["10s", "1d"], ["9999ms", "86401s", "0"], needsRestart: true),
        Key("mdns.interfaces", ["[eth0]", "['*']"], ["eth0", "['']"]),
        Key("mdns.watched", ["[_ipp._tcp]", "[_ipp._tcp/Office Printer]"], ["[ipp]", "[_ipp._tcp/]"]),
        Key("mdns.max_types", ["1", "4096"], ["0", "4097"], needsRestart: true),
        Key("limits.max_connections", ["64", "65536"], ["7", "65537"], needsRestart: true),
        Key("limits.max_streams", ["1", "256"], ["0", "65537"]),
        Key("limits.header_timeout", ["100ms", "5m"], ["99ms", "301s", "0"], needsRestart: true),
        Key("limits.idle_timeout", ["1s", "1h"], ["999ms", "3601s"], needsRestart: true),
        Key("limits.max_header_size", ["1KiB", "1MiB"], ["1023", "1025KiB", "0"], needsRestart: true),
    ]
}

@Suite struct BoundsTests {
    private let standard = Configuration(paths: rootPaths)

    @Test func `no key is forgotten here`() {
        let known = Configuration.reference(paths: rootPaths).filter { $0.variable != nil }.map(\.key)
        // Strictness needs another key and has a test of its own.
        let others = [
            "cert_file", "key_file", "client_ca_file", "client_auth_type",
        ].map { "tls_server_config.\($0)" }
        // So do certificates and the targets of a diagnosis, and hashes are secrets.
        let targets = known.filter { $0.hasPrefix("diagnosis.") }
        let all = Set(others + ["gateway_liveness.strict", "basic_auth_users"] + targets)
        #expect(Set(known).subtracting(Key.all.map(\.name)) == all)
        #expect(Set(Key.all.map(\.name)).subtracting(known) == [])
    }

    @Test(arguments: Key.all)
    private func `every value within the bounds is taken, written and read again`(key: Key) throws {
        for value in key.good {
            let configuration = try read(key.file(value))
            #expect(try read(configuration.yaml) == configuration, "\(value)")
        }
    }

    @Test(arguments: Key.all)
    private func `a value beyond the bounds is one line with its place`(key: Key) {
        let depth = key.name.split(separator: ".").count
        for value in key.bad {
            let found = problems(key.file(value))
            #expect(found.count == 1, "\(value): \(found)")
            #expect(found.first?.hasPrefix("nwpath.yaml:\(depth):") == true, "\(value): \(found)")
            #expect(found.first?.contains(": \(key.name)") == true, "\(value): \(found)")
            // One bad value leaves everything else as it was.
            #expect(found.first?.contains("expected ") == true || found.first?.contains("insecure") == true)
        }
    }

    @Test(arguments: Key.all)
    private func `a changed value is told under its own key alone, with what it needs`(key: Key) throws {
        let difference = try read(key.file(key.good[0])).difference(from: standard)
        #expect(difference.changed == [key.name])
        #expect(difference.restartNeeded == (key.needsRestart ? [key.name] : []))
        #expect(standard.difference(from: standard).isEmpty)
    }

    @Test(arguments: Key.all)
    private func `a variable says the same as the file, and wins`(key: Key) throws {
        let variable = Configuration.variable(forKey: key.name)
        for value in key.good where !value.contains("[::1]") && !value.contains("br-[") {
            let environment = [variable: Key.variable(value)]
            let expected = try read(key.file(value))
            #expect(try read("", environment: environment) == expected, "\(value)")
            #expect(try read(key.file(key.good[0]), environment: environment) == expected, "\(value)")
        }
        for value in key.bad where !value.hasPrefix("'") && !value.contains("['']") && !value.contains("[[") {
            let found = problems("", environment: [variable: Key.variable(value)])
            let isListOnly = value == "eth0" || value == "['[']"
            if !isListOnly {
                #expect(found.first?.hasPrefix("environment \(variable): ") == true, "\(value): \(found)")
            }
        }
    }
}

@Suite struct ContradictionTests {
    @Test(arguments: [
        "debounce: {quiet: 1s, cap: 1s}", "debounce: {quiet: 10s, cap: 0}", "debounce: {quiet: 0, cap: 1ms}",
        "limits: {max_connections: 8, max_streams: 8}", "gateway_liveness: {enabled: true, strict: true}",
        "listen: ['127.0.0.1:0', '127.0.0.1:0']", "listen: ['127.0.0.1:1', '[::1]:1']",
        "insecure: true\nlisten: ['0.0.0.0:8353', '[fe80::1%eth0]:80']",
        "mdns: {watched: [_ipp._tcp, _ipp._tcp/A, _ipp._tcp/B]}",
        "monitors: {a: {required_type: wifi, prohibited_types: [cellular]}}\nviews: {b: {uid: 0}}",
        "interfaces: {eth0: {}, 'en*': {required: false}}",
    ])
    func `what just fits together is right`(text: String) {
        #expect(problems(text) == [])
    }

    @Test(arguments: [
        ("debounce: {cap: 99ms}", "nwpath.yaml:1:17: debounce.cap must not be shorter than debounce.quiet"),
        ("limits: {max_connections: 63}", "limits.max_streams must not exceed limits.max_connections (63)"),
        ("gateway_liveness: {strict: true}", "strict needs gateway_liveness.enabled: true"),
        ("listen: ['unix:/x', 'unix:/x']", "nwpath.yaml:1:21: listen[1] names unix:/x twice"),
        ("listen: ['[::]:1']", "listen[0] [::]:1 is reachable from other hosts: set tls_server_config, "),
        (
            "listen: ['[fe80::1]:80']",
            "nwpath.yaml:1:10: listen[0] is '[fe80::1]:80', expected the interface of a link-local address as well, such as "
                + "[fe80::1%eth0]:80"
        ),
        ("mdns: {watched: [_a._tcp/x, _a._tcp/x]}", "mdns.watched[1] names _a._tcp/x twice"),
        ("views: {default: {mark: 1}}", "views.default uses the reserved name of the built-in monitor"),
        ("interfaces: {eth0: {type: ethernet}}", "(did you mean 'wiredEthernet'?)"),
    ])
    func `what just does not is told where it stands`(text: String, words: String) {
        let found = problems(text)
        #expect(found.count == 1)
        #expect(found.first?.contains(words) == true || words.hasPrefix("(did"), "\(found)")
    }

    @Test(arguments: [
        ("debounce: {quiet: never, cap: 1ms}", 1), ("limits: {max_connections: many, max_streams: 300}", 1),
        ("gateway_liveness: {enabled: perhaps, strict: true}", 1), ("insecure: 1\nlisten: ['0.0.0.0:1']", 1),
        ("listen: ['0.0.0.0:1', '0.0.0.0:2']", 2), ("listen: [x]\nhosts: [':']\nignore: x", 3),
    ])
    func `a mistake hides the contradictions it may be the cause of, and no other`(text: String, count: Int) {
        #expect(problems(text).count == count)
    }

    @Test func `what contradicts may stand in different files, and the last word counts`() throws {
        func read(_ texts: String...) throws -> Configuration {
            let sources = texts.enumerated().map { Configuration.Source(name: "\($0).yaml", bytes: Array($1.utf8)) }
            return try Configuration.read(sources, paths: rootPaths)
        }
        let error = #expect(throws: ConfigurationError.self) {
            try read("debounce: {cap: 500ms}\n", "debounce:\n  quiet: 600ms\n")
        }
        let sentence = "debounce.cap must not be shorter than debounce.quiet"
        #expect(error?.problems.map(\.description) == ["0.yaml:1:17: \(sentence)"])
        #expect(try read("insecure: true\nlisten: ['0.0.0.0:1']\n", "listen: ['127.0.0.1:1']\n").listen.count == 1)
        #expect(throws: ConfigurationError.self) {
            try read("insecure: true\nlisten: ['0.0.0.0:1']\n", "insecure: false\n")
        }
    }

    @Test(arguments: [
        ("interfaces", 128, "required: true"), ("monitors", 64, "required_type: wifi"), ("views", 64, "mark: 1"),
    ])
    func `a map takes as many names as it says`(key: String, limit: Int, setting: String) throws {
        func file(_ count: Int) -> String {
            "\(key):\n" + (0..<count).map { "  n\($0): {\(setting)}\n" }.joined()
        }
        #expect(problems(file(limit)) == [])
        #expect(problems(file(limit + 1)) == ["nwpath.yaml:\(limit + 2):3: \(key) has more than \(limit) entries"])
    }

    @Test(arguments: [("hosts", 64, "a"), ("ignore", 64, "a"), ("mdns.interfaces", 64, "a")])
    func `a list takes as many items as it says`(key: String, limit: Int, item: String) {
        func file(_ count: Int) -> String {
            Key(key, [], []).file("[" + (0..<count).map { "\(item)\($0)" }.joined(separator: ", ") + "]")
        }
        #expect(problems(file(limit)) == [])
        #expect(problems(file(limit + 1)).first?.hasSuffix("\(key) has more than \(limit) entries") == true)
    }
}

@Suite struct ListenScopeTests {
    @Test(arguments: [
        ("[fe80::1]:80", "the interface of a link-local address as well, such as [fe80::1%eth0]:80"),
        ("[febf::]:1", "the interface of a link-local address as well, such as [febf::%eth0]:1"),
        ("[fe80::1%]:80", ListenAddress.expectation), ("[fe80::1]", ListenAddress.expectation),
        ("nonsense", ListenAddress.expectation),
    ])
    func `a link-local address without its interface is refused for that`(text: String, expected: String) {
        #expect(ListenAddress(text) == nil)
        #expect(ListenAddress.expectation(for: text) == expected)
    }

    @Test(arguments: ["[fe80::1%eth0]:80", "169.254.1.1:80", "[fec0::1]:80", "[fd00::1]:80", "[ff02::1%eth0]:1"])
    func `what needs no interface, or has one, is taken`(text: String) throws {
        #expect(try #require(ListenAddress(text)).description == text)
    }
}
