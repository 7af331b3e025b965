// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import TestSupport
import Testing

@testable import Configuration

@Suite struct TargetSettingsTests {
    /// The targets of a text that is a file of them.
    private static func load(_ text: String) throws -> TargetSettings {
        let scratch = try Scratch()
        try scratch.write(text, to: "targets.yaml")
        return try TargetSettings.load("\(scratch.path)/targets.yaml")
    }

    /// What is wrong with such a file, without its folder.
    private static func problems(_ text: String) throws -> [String] {
        let scratch = try Scratch()
        try scratch.write(text, to: "targets.yaml")
        do {
            _ = try TargetSettings.load("\(scratch.path)/targets.yaml")
            return []
        } catch {
            return error.problems.map { String($0.description.dropFirst(scratch.path.count + 1)) }
        }
    }

    @Test func `nothing is said by default`() throws {
        let settings = try read("").diagnosis
        #expect(settings.isEmpty)
        #expect(settings.targets == Targets())
        #expect(try Self.load("") == TargetSettings())
    }

    @Test func `every key has its effect`() throws {
        let targets = try read(fullConfiguration).diagnosis.targets
        #expect(targets.anchors.map(\.name) == ["a", "b"])
        #expect(targets.anchors[0].host == "a.anchor.test")
        #expect(targets.anchors[0].address(.ipv4) == IPAddress("203.0.113.80"))
        #expect(targets.anchors[0].address(.ipv6) == IPAddress("2001:db8:ff::80"))
        #expect(targets.anchors[1].host == nil && targets.anchors[1].ipv6 == nil)
        #expect(targets.path == "/hello" && targets.httpPort == 8080 && targets.httpsPort == 8443)
        #expect(targets.echoPort == 7007)
        #expect(targets.names.wildcard == "p.anchor.test")
        #expect(targets.names.wildcardAddress == IPAddress("203.0.113.80"))
        #expect(targets.names.nonexistentZone == "nx.anchor.test")
        #expect(targets.names.bigText == "big.anchor.test")
        #expect(targets.timeServers == [IPAddress("203.0.113.123")].compactMap(\.self))
        #expect(targets.authorities == "/etc/nwpath/ca.pem")
        #expect(targets.peers == [IPAddress("10.77.0.20")].compactMap(\.self))
        #expect(targets.budgets.roundTrip == .milliseconds(200))
        #expect(targets.budgets.jitter == .microseconds(12_500))
        #expect(targets.budgets.loss == 1 && targets.budgets.roundTripsPerMinute == 100)
        #expect(targets.budgets.down == 1 && targets.budgets.up == 0.25)
        #expect(targets.answersChallenge)
    }

    @Test func `a file of targets has the keys of the section, and JSON is as good`() throws {
        let yaml = try Self.load("anchors:\n  - {name: a, addr4: 192.0.2.80}\nudp_echo_port: 7\n")
        let json = try Self.load(#"{"anchors": [{"name": "a", "addr4": "192.0.2.80"}], "udp_echo_port": 7}"#)
        #expect(yaml == json)
        #expect(yaml.targets.anchors == [Targets.Anchor("a", host: nil, ipv4: .v4(0xC000_0250), ipv6: nil)])
        #expect(!yaml.isEmpty)
        let section = try read("diagnosis: {anchors: [{name: a, addr4: 192.0.2.80}], udp_echo_port: 7}")
        #expect(section.diagnosis == yaml)
    }

    @Test(arguments: [
        ("anchor: 1", "targets.yaml:1:1: unknown key 'anchor' (did you mean 'anchors'?)"),
        ("http_prt: 80", "targets.yaml:1:1: unknown key 'http_prt' (did you mean 'http_port'?)"),
        ("http_port: 0", "targets.yaml:1:12: http_port is '0', expected a whole number from 1 to 65535"),
        ("http_path: hello", "targets.yaml:1:12: http_path is 'hello', expected the path of a page such as"),
        ("udp_echo_port: many", "targets.yaml:1:16: udp_echo_port is 'many', expected a whole number"),
        ("ntp: [nobody]", "targets.yaml:1:7: ntp[0] is 'nobody', expected an address of a host"),
        ("peers: [0.0.0.0]", "targets.yaml:1:9: peers[0] is '0.0.0.0', expected an address of a host"),
        ("ca: ca.pem", "targets.yaml:1:5: ca is 'ca.pem', expected an absolute path"),
        ("nq: {download: ftp://x/}", "targets.yaml:1:16: nq.download is 'ftp://x/', expected a URL"),
        ("nq: {max_seconds: 7}", "targets.yaml:1:19: nq.max_seconds is '7', expected a whole number from 1 to 6"),
        ("nq: {max_bytes: 1000}", "targets.yaml:1:17: nq.max_bytes is '1000', expected a whole number from 1000000 to"),
        ("budgets: {loss_pct: 101}", "targets.yaml:1:21: budgets.loss_pct is '101', expected a number from 0 to 100"),
        ("dns: {wildcard: -a}", "targets.yaml:1:17: dns.wildcard is '-a', expected a host name"),
        ("dns: {wildcard_a: '::1'}", "targets.yaml:1:19: dns.wildcard_a is '::1', expected an IPv4 address of a host"),
        ("anchors: [{addr4: 192.0.2.1}]", "targets.yaml:1:11: anchors[0] needs a name"),
        ("anchors: [{name: a}]", "targets.yaml:1:11: anchors[0] needs host, addr4 or addr6"),
        ("anchors: [{name: a, addr6: 192.0.2.1}]", "targets.yaml:1:28: anchors[0].addr6 is '192.0.2.1', expected an"),
        ("anchors: [{name: a, address: 192.0.2.1}]", "targets.yaml:1:21: unknown key 'address' in anchors[0]"),
    ])
    func `what is wrong is told with its place and the nearest right spelling`(text: String, problem: String) throws {
        let found = try Self.problems(text + "\n")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(problem) == true, "\(found)")
    }

    @Test func `a name that is used twice cannot tell two anchors apart`() throws {
        let text = "anchors:\n  - {name: a, addr4: 192.0.2.1}\n  - {name: a, addr4: 192.0.2.2}\n"
        #expect(try Self.problems(text) == ["targets.yaml:3:12: anchors[1].name names a twice"])
        let section = "diagnosis: {anchors: [{name: a, addr4: 192.0.2.1}, {name: a, addr4: 192.0.2.2}]}"
        #expect(Self.conflict(section) == "nwpath.yaml:1:59: diagnosis.anchors[1].name names a twice")
    }

    private static func conflict(_ text: String) -> String? {
        do {
            _ = try read(text)
            return nil
        } catch {
            return error.problems.first?.description
        }
    }

    @Test func `a file that is not there is said so`() {
        #expect(throws: ConfigurationError.self) { try TargetSettings.load("/nonexistent/targets.yaml") }
        do {
            _ = try TargetSettings.load("/nonexistent/targets.yaml")
        } catch {
            #expect(error.description.hasPrefix("/nonexistent/targets.yaml: cannot be read: "))
        }
    }

    @Test func `what is read can be written down`() throws {
        let full = try read(fullConfiguration)
        #expect(try read(full.yaml).diagnosis == full.diagnosis)
        let changed = full.difference(from: try read("")).changed
        #expect(changed.contains("diagnosis.anchors") && changed.contains("diagnosis.budgets.jitter_ms"))
        #expect(full.difference(from: full).isEmpty)
    }
}

@Suite struct DecimalTests {
    @Test(arguments: [
        ("0", 0), ("7", 7000), ("1.5", 1500), ("0.25", 250), ("12.125", 12_125), ("007.010", 7010),
    ])
    func `reads up to three digits behind the point`(text: String, thousandths: Int) throws {
        let number = try #require(Decimal(text))
        #expect(number.thousandths == thousandths)
        #expect(number.value == Double(thousandths) / 1000)
        #expect(Decimal(number.description) == number)
    }

    @Test(arguments: ["", ".", "1.", ".5", "-1", "+1", "1,5", "1.2345", "1e3", "one", "1.5.2", "99999999999"])
    func `anything else is no number`(text: String) {
        #expect(Decimal(text) == nil)
    }

    @Test(arguments: [(0, "0"), (1500, "1.5"), (1010, "1.01"), (12_000, "12"), (250, "0.25"), (5, "0.005")])
    func `needless zeros are left out`(thousandths: Int, text: String) throws {
        let number = try #require(Decimal("\(thousandths / 1000).\("\(1000 + thousandths % 1000)".dropFirst())"))
        #expect(number.description == text)
    }

    @Test func `numbers have an order`() throws {
        #expect(try #require(Decimal("0.5")) < Decimal(1))
        #expect(try #require(Decimal("2.001")) > Decimal(2))
    }
}

@Suite struct TargetSettingsOverrideTests {
    @Test func `the defaults are those of the documentation`() {
        let settings = TargetSettings()
        #expect(settings.path == "/generate_204" && settings.httpPort == 80 && settings.httpsPort == 443)
        #expect(settings.echoPort == nil && settings.authorities == nil)
        #expect(settings.load.maximumBytes == 40_000_000 && settings.load.maximumSeconds == 5)
        #expect(settings.budgets.roundTrip == Decimal(250) && settings.budgets.jitter == Decimal(30))
        #expect(settings.budgets.loss == Decimal(3) && settings.budgets.roundTripsPerMinute == 300)
        #expect(settings.budgets.down == nil && settings.budgets.up == nil)
        #expect(settings.targets.budgets == Budgets())
    }

    @Test func `what a load test loads reaches the diagnosis`() throws {
        let section = try read(
            "diagnosis: {nq: {download: 'http://a.test/l', upload: 'http://a.test/s', small: 'http://a.test/k', "
                + "max_bytes: 6000000, max_seconds: 6}}"
        )
        let load = section.diagnosis.effectiveTargets.load
        #expect(load.download == "http://a.test/l" && load.upload == "http://a.test/s")
        #expect(load.small == "http://a.test/k" && load.isPossible)
        #expect(load.maximumBytes == 6_000_000 && load.maximumDuration == .seconds(6))
        #expect(!TargetSettings().targets.load.isPossible)
    }

    @Test func `variables set single keys`() throws {
        let environment = [
            "NWPATH_DIAGNOSIS_UDP_ECHO_PORT": "7", "NWPATH_DIAGNOSIS_BUDGETS_LOSS_PCT": "0.5",
            "NWPATH_DIAGNOSIS_DNS_WILDCARD": "w.example.test", "NWPATH_DIAGNOSIS_CA": "/etc/ca.pem",
        ]
        let settings = try read("", environment: environment).diagnosis
        #expect(settings.echoPort == 7)
        #expect(settings.budgets.loss == Decimal("0.5"))
        #expect(settings.names.wildcard == "w.example.test")
        #expect(settings.authorities == "/etc/ca.pem")
    }

    @Test func `a later file replaces the list of anchors and leaves other keys`() throws {
        let sources = [
            "diagnosis:\n  http_port: 8080\n  anchors:\n    - {name: a, addr4: 192.0.2.1}\n",
            "diagnosis:\n  anchors:\n    - {name: b, addr4: 192.0.2.2}\n    - {name: c, host: c.example.test}\n",
        ].enumerated().map { Configuration.Source(name: "\($0.offset).yaml", bytes: Array($0.element.utf8)) }
        let settings = try Configuration.read(sources, paths: rootPaths).diagnosis
        #expect(settings.anchors.map(\.name) == ["b", "c"])
        #expect(settings.httpPort == 8080)
    }

    @Test func `several mistakes are told at once`() {
        let text = """
            diagnosis:
              anchors:
                - {name: A B, addr4: 192.0.2.1}
              https_port: 70000
              budgets: {rpm: 0, down_mbps: fast}

            """
        #expect(
            problems(text) == [
                "nwpath.yaml:3:14: diagnosis.anchors[0].name is 'A B', expected "
                    + "a name of a-z, 0-9, _ and -, up to 32 long",
                "nwpath.yaml:4:15: diagnosis.https_port is '70000', expected a whole number from 1 to 65535",
                "nwpath.yaml:5:18: diagnosis.budgets.rpm is '0', expected a whole number from 1 to 100000",
                "nwpath.yaml:5:32: diagnosis.budgets.down_mbps is 'fast', expected "
                    + "a number from 0 to 1000000, such as 1.5",
            ]
        )
    }

    @Test func `the schema tells what is allowed`() throws {
        let schema = try #require(Configuration.schema(paths: rootPaths)["properties"]?["diagnosis"])
        let keys = try #require(schema["properties"])
        guard case .map(let fields) = keys else {
            Issue.record("the section has no properties")
            return
        }
        #expect(
            fields.map(\.name) == [
                "enabled", "interval", "anchors", "http_path", "http_port", "https_port", "udp_echo_port", "dns", "ntp",
                "ca",
                "nq", "peers", "budgets",
            ]
        )
        #expect(keys["anchors"]?["type"] == "array")
        #expect(keys["anchors"]?["items"]?["properties"]?["addr6"]?["type"] == "string")
        #expect(keys["http_port"]?["maximum"] == 65_535)
        #expect(keys["budgets"]?["properties"]?["loss_pct"]?["default"] == 3)
        #expect(keys["budgets"]?["properties"]?["loss_pct"]?["anyOf"] != nil)
    }

    @Test func `an anchor has a host, an address, or both`() throws {
        for text in ["host: a.example.test", "addr4: 192.0.2.1", "addr6: '2001:db8::1'", "host: h, addr4: 192.0.2.1"] {
            let settings = try read("diagnosis: {anchors: [{name: a, \(text)}]}").diagnosis
            #expect(settings.conflicts.isEmpty && settings.anchors.count == 1, "\(text)")
        }
        var settings = TargetSettings()
        settings.anchors = [AnchorSettings()]
        #expect(settings.conflicts.map(\.key) == ["anchors[0]", "anchors[0]"])
        settings.anchors[0].name = "a"
        #expect(settings.conflicts.map(\.sentence) == ["needs host, addr4 or addr6"])
    }

    @Test func `no more is taken than a diagnosis can ask in its time`() {
        let anchors = (0..<17).map { "{name: a\($0), addr4: 192.0.2.\($0 + 1)}" }.joined(separator: ", ")
        let found = problems("diagnosis: {anchors: [\(anchors)]}")
        #expect(found == ["nwpath.yaml:1:22: diagnosis.anchors has more than 16 entries"])
        let servers = (0..<9).map { "192.0.2.\($0 + 1)" }.joined(separator: ", ")
        #expect(problems("diagnosis: {ntp: [\(servers)]}").count == 1)
    }

    @Test func `a change of a target is told by its key`() throws {
        let old = try read("diagnosis: {peers: [192.0.2.20], budgets: {rpm: 100}}")
        let new = try read("diagnosis: {peers: [192.0.2.21], budgets: {rpm: 100}, nq: {max_seconds: 6}}")
        let difference = new.difference(from: old)
        #expect(difference.changed == ["diagnosis.nq.max_seconds", "diagnosis.peers"])
        #expect(difference.restartNeeded.isEmpty)
    }

    @Test func `nothing is sent because of an empty section`() throws {
        #expect(try read("diagnosis:\n").diagnosis.isEmpty)
        #expect(try read("diagnosis: {dns: , budgets: {}}").diagnosis.isEmpty)
    }

    @Test func `public hosts are asked where nobody is named, and what else is said stays`() throws {
        let none = try read("diagnosis: {udp_echo_port: 7, dns: {nx_zone: nx.example.test}}").diagnosis
        #expect(none.origin == "public defaults" && none.targets.anchors.isEmpty)
        #expect(none.effectiveTargets.anchors == Targets.publicDefaults.anchors)
        #expect(none.effectiveTargets.echoPort == 7 && !none.effectiveTargets.answersChallenge)
        #expect(none.effectiveTargets.names.nonexistentZone == "nx.example.test")
        #expect(TargetSettings().effectiveTargets == Targets.publicDefaults)
        let own = try read("diagnosis: {anchors: [{name: a, addr4: 192.0.2.1}]}").diagnosis
        #expect(own.origin == "configuration" && own.effectiveTargets == own.targets)
        #expect(own.effectiveTargets.names.nonexistentZone == nil && own.effectiveTargets.answersChallenge)
    }

    @Test func `without anchors the service examines only what fails, and goes beyond name servers only in public`()
        throws
    {
        let none = TargetSettings()
        let local = try #require(none.automaticExamination(.local))
        #expect(local.targets.anchors.isEmpty && local.targets.names.queriesRoot && local.interval == nil)
        let wide = try #require(none.automaticExamination(.public))
        #expect(wide.targets.anchors == Targets.publicDefaults.anchors && wide.interval == nil)
        #expect(none.automaticExamination(.off) == nil)
        #expect(try read("diagnosis: {enabled: false}").diagnosis.automaticExamination(.public) == nil)
    }

    @Test func `with anchors the service examines once a minute as well`() throws {
        let own = try read("diagnosis: {anchors: [{name: a, addr4: 192.0.2.1}]}").diagnosis
        #expect(own.automaticExamination(.off)?.interval == .seconds(60))
        #expect(own.automaticExamination(.off)?.targets == own.targets)
        let seldom = try read("diagnosis: {interval: 0, anchors: [{name: a, addr4: 192.0.2.1}]}").diagnosis
        #expect(seldom.automaticExamination(.local)?.targets == own.targets)
        #expect(seldom.automaticExamination(.local).map { $0.interval == nil } == true)
    }
}
