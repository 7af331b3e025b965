// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

@Suite struct RedactorTests {
    private let redactor = Redactor(isFull: false, salt: 1)

    @Test(
        arguments: [
            ("nothing to see", "nothing to see"), ("via 192.0.2.1 and 10.0.0.1.", "via 192.0.x.x and 10.0.0.1."),
            ("8.8.8.8:53", "8.8.x.x:53"), ("[2001:db8:1::5]:80", "[2001:db8::x]:80"), ("fe80::1%eth0", "fe80::1%eth0"),
            ("fe80::5:5eff:fe10:1%eth0", "fe80::x%eth0"), ("fd00::1", "fd00::1"), ("::1", "::1"), ("::", "::"),
            ("ff02::fb", "ff02::fb"), ("127.0.0.53", "127.0.0.53"), ("172.16.0.1", "172.16.0.1"),
            ("172.32.0.1", "172.32.x.x"), ("169.254.1.1", "169.254.1.1"), ("100.64.0.1", "100.64.0.1"),
            ("at 02:00:5e:10:00:01", "at 02:00:5e:xx:xx:xx"), ("02:00:5E:10:00:01:", "02:00:5E:xx:xx:xx:"),
            ("2026-11-20T13:48:50.000Z", "2026-11-20T13:48:50.000Z"), ("6.1.0-28-amd64", "6.1.0-28-amd64"),
            ("192.0.2.0/24", "192.0.x.x/24"), ("0.1.0", "0.1.0"), ("1.2.3.4.5", "1.2.3.4.5"), ("é:…", "é:…"),
        ]
    )
    func `public addresses and hardware addresses are masked, nothing else`(text: String, masked: String) {
        #expect(redactor.text(text) == masked)
        #expect(Redactor(isFull: true, salt: 1).text(text) == text)
    }

    @Test(arguments: [true, false], ["token", "api_token", "Password", "tls_password_file", "client_secret"])
    func `secrets go whatever is asked for`(isFull: Bool, key: String) throws {
        let value = try JSONValue(parsing: "{\"a\":[{\"\(key)\":{\"deep\":\"hunter2\"},\"b\":1}]}")
        let redacted = Redactor(isFull: isFull, salt: 1).redact(value)
        #expect(redacted["a"]?[0]?[key]?.string == "(removed)")
        #expect(redacted["a"]?[0]?["b"]?.int == 1)
    }

    @Test func `a name has one tag wherever it stands, and another in the next report`() throws {
        let value = try JSONValue(
            parsing: """
                {"host":"desk","services":[{"name":"Ann's Printer","type":"_ipp._tcp","host":"ann-pc.local",
                "txt":{"note":"attic"},"txt_raw":["note=attic"]}],"watch":["_ipp._tcp/Attic"],
                "message":"Ann's Printer on ann-pc.local of desk left; Attic is missing","name":"default"}
                """
        )
        var learned = redactor
        learned.learn(value)
        let redacted = learned.redact(value)
        let text = try String(decoding: OrderedJSONEncoder().encode(redacted), as: UTF8.self)
        for secret in ["Ann", "ann", "attic", "Attic", "desk"] { #expect(!text.contains(secret), "\(text)") }
        let tag = try #require(redacted["services"]?[0]?["name"]?.string)
        #expect(tag == learned.tag("Ann's Printer".utf8) && tag.hasPrefix("name-") && tag.utf8.count == 13)
        #expect(redacted.text("message").hasPrefix("\(tag) on name-"))
        #expect(redacted["name"]?.string == "default" && redacted["services"]?[0]?["type"]?.string == "_ipp._tcp")
        #expect(Redactor(isFull: false, salt: 2).tag("Ann's Printer".utf8) != tag)
        #expect(Redactor(isFull: true, salt: 1).redact(value) == value)
    }
}

@Suite struct RedactorNetworkTests {
    @Test func `the name of a network goes, also of one that only refuses, and in labels of metrics`() throws {
        var redactor = Redactor(isFull: false, salt: 1)
        let refused = "wlan0 is rejected by Ann's: attic: wrong passphrase or credentials"
        redactor.learn(.string(refused))
        redactor.learn(try JSONValue(parsing: #"{"ssid":"back\\slash \"home\""}"#))
        let metrics = "nwpath_wifi_info{ssid=\"back\\\\slash \\\"home\\\"\"} 1"
        for text in [refused, metrics] {
            let redacted = redactor.text(text)
            #expect(
                redacted.contains("name-") && !redacted.contains("attic") && !redacted.contains("slash"),
                "\(redacted)"
            )
        }
        let unknown = "wlan0 is rejected by the access point: wrong passphrase or credentials"
        redactor.learn(.string(unknown))
        #expect(redactor.text(unknown) == unknown)
    }
}

@Suite struct RedactorNameTests {
    private static let report = #"""
        {"dns":{"servers":["192.168.1.1"],"search":["corp.example.com","lan","~."]},"hosts":["nas.corp.example.com","tv"],
        "probes":{"web":{"target":"https://api.hidden.test:8443/v1?key=hunter2"},"gw":{"target":"gateway"},
        "db":{"target":"db.hidden.test:5432"},"ns":{"target":"ns","server":"9.9.9.9"},"ll":{"target":"fe80::1%eth0"}},
        "message":"web (https://api.hidden.test:8443/v1?key=hunter2) failed: cannot resolve api.hidden.test, lan is up",
        "location":"http://me:pw@login.hidden.test/x;y","metrics":["a{t=\"http://q.test/?key=hunter2\"} 1"]}
        """#

    @Test func `Wi-Fi networks are not told`() throws {
        let value = try JSONValue(
            parsing: """
                {"interfaces":[{"name":"wlan0","wifi":{"ssid":"office-7","bssid":"02:00:00:00:01:00"}},
                {"name":"wlan1","wifi":{"ssid":null,"ssid_hex":"ff41"}}],
                "message":"wlan0 is associated with office-7 but not authorized"}
                """
        )
        var redactor = Redactor(isFull: false, salt: 1)
        redactor.learn(value)
        let redacted = redactor.redact(value)
        let text = try String(decoding: OrderedJSONEncoder().encode(redacted), as: UTF8.self)
        for secret in ["office-7", "ff41", "01:00"] { #expect(!text.contains(secret), "\(text)") }
        #expect(redacted.text("message").hasPrefix("wlan0 is associated with name-"))
        #expect(Redactor(isFull: true, salt: 1).redact(value) == value)
    }

    @Test func `URLs, search domains, hosts and targets are not told`() throws {
        let value = try JSONValue(parsing: Self.report)
        var redactor = Redactor(isFull: false, salt: 1)
        redactor.learn(value)
        let redacted = redactor.redact(value)
        let text = try String(decoding: OrderedJSONEncoder().encode(redacted), as: UTF8.self)
        for secret in ["corp", "hidden", "hunter2", "nas", "pw", "8443/", "q.test", "\"tv\"", "\"lan\"", "\"ns\":\"ns"]
        {
            #expect(!text.contains(secret), "\(secret): \(text)")
        }
        let domain = redactor.tag("corp.example.com".utf8)
        #expect(redacted["dns"]?.texts("search") == [domain, redactor.tag("lan".utf8), "~."])
        #expect(redacted["probes"]?["web"]?["target"]?.string == "https://(removed)")
        #expect(redacted["probes"]?["gw"]?["target"]?.string == "gateway")
        #expect(redacted["probes"]?["db"]?["target"]?.string == redactor.tag("db.hidden.test".utf8) + ":5432")
        #expect(redacted["probes"]?["ns"]?["target"]?.string == redactor.tag("ns".utf8))
        #expect(redacted["probes"]?["ns"]?["server"]?.string == "9.9.x.x")
        #expect(redacted["probes"]?["ll"]?["target"]?.string == "fe80::1%eth0")
        let host = redactor.tag("api.hidden.test".utf8)
        let message = "web (https://(removed)) failed: cannot resolve \(host), lan is up"
        #expect(redacted["message"]?.string == message)
        #expect(redacted["metrics"]?[0]?.string == "a{t=\"http://(removed)\"} 1")
    }

    @Test func `a full report keeps URLs without what may be a key`() throws {
        let redacted = Redactor(isFull: true, salt: 1).redact(try JSONValue(parsing: Self.report))
        let target = redacted["probes"]?["web"]?["target"]?.string
        #expect(target == "https://api.hidden.test:8443/v1?(removed)")
        #expect(redacted["location"]?.string == "http://(removed)@login.hidden.test/x;y")
        #expect(redacted["dns"]?.texts("search") == ["corp.example.com", "lan", "~."])
    }

    @Test func `a name is not looked for inside of words, and no key of a document is one`() throws {
        let value = try JSONValue(
            parsing: #"{"host":"path","path":{"is_up":1},"a":"path, nwpath_path and path","b":[{"host":"pi"}]}"#
        )
        var redactor = Redactor(isFull: false, salt: 1)
        redactor.learn(value)
        let redacted = redactor.redact(value)
        let tag = redactor.tag("path".utf8)
        #expect(redacted["path"]?["is_up"]?.int == 1)
        #expect(redacted["a"]?.string == "\(tag), nwpath_path and \(tag)")
        #expect(redacted["b"]?[0]?["host"]?.string == redactor.tag("pi".utf8))
    }

    @Test(arguments: ["localhost", "192.168.1.1", ""])
    func `what names nobody stays`(host: String) throws {
        let value = try JSONValue(parsing: "{\"host\":\"\(host)\",\"a\":\"b\(host)\"}")
        var redactor = Redactor(isFull: false, salt: 1)
        redactor.learn(value)
        #expect(redactor.redact(value) == value)
    }
}

@Suite struct ReportContentsTests {
    @Test func `the head says what follows and what is missing`() throws {
        var contents = ReportContents()
        contents.add("kernel", "6.1", .string("6.1"))
        contents.miss("status", "no answer from 192.0.2.9")
        let bytes = try contents.lines(Redactor(isFull: false, salt: 1), time: "now")
        let lines = try bytes.split(separator: 10).map { try JSONValue(parsing: $0) }
        #expect(lines.count == 3)
        #expect(lines[0]["schema"]?.string == "nwpath.bugreport/1" && lines[0]["time"]?.string == "now")
        #expect(lines[0].texts("contents") == ["kernel: 6.1", "status: missing, no answer from 192.0.x.x"])
        #expect(lines[1]["section"]?.string == "kernel" && lines[1]["value"]?.string == "6.1")
        #expect(lines[2]["problem"]?.string == "no answer from 192.0.x.x" && lines[2]["value"] == nil)
        let full = try contents.lines(Redactor(isFull: true, salt: 1), time: "now")
        #expect(String(decoding: full, as: UTF8.self).contains("\"redacted\":\"secrets only\""))
    }
}

@Suite(.inNamespace) struct BugReportCommandTests {
    private func sections(_ text: String) throws -> [String: JSONValue] {
        let lines = try text.split(separator: "\n").dropFirst().map { try JSONValue(parsing: String($0)) }
        return Dictionary(uniqueKeysWithValues: lines.map { ($0.text("section"), $0) })
    }

    @Test func `holds what a running service knows, for its owner alone`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        try await service.settle("satisfied")
        let file = service.scratch.file("report.jsonl")
        let result = try await service.ask("bugreport", "--output", file)
        #expect(result.status == 0 && result.output == file + "\n", "\(result.messages)")
        #expect(try Command.run(["stat", "-c", "%a", file]) == "600\n")
        let text = service.scratch.read("report.jsonl")
        let found = try sections(text)
        for name in [
            "version", "kernel", "configuration", "status", "interfaces", "traffic", "services", "routes", "log",
            "events", "metrics",
        ] {
            #expect(found[name]?["value"] != nil, "\(name)")
            #expect(result.messages.contains("nwpath: \(name): "), "\(name)")
            #expect(text.prefix { $0 != "\n" }.contains("\"\(name): "), "\(name)")
        }
        #expect(found["status"]?["value"]?["path"]?["status"]?.string == "satisfied")
        #expect(found["events"]?["value"]?.list("events").isEmpty == false)
        #expect(!text.contains("192.0.2.") && text.contains("192.0.x.x"))
        let link = try Namespace.current.run(["cat", "/sys/class/net/eth0/address"]).dropLast()
        #expect(link.count == 17 && !text.contains(link))
        let full = try await service.ask("bugreport", "--output", file, "--full", "-q")
        #expect(full.status == 0 && full.messages == "")
        #expect(service.scratch.read("report.jsonl").contains("192.0.2.10"))
        #expect(try Command.run(["ls", service.scratch.path]).contains("report.jsonl.new") == false)
    }

    @Test func `holds what there is without a service, the last events of the log among it`() async throws {
        let service = try Service()
        try await service.start()
        service.kill()
        let result = try await service.ask("bugreport", "--output", service.scratch.file("report.jsonl"))
        #expect(result.status == 0)
        #expect(result.messages.contains("nwpath: status: missing, the service cannot be reached"))
        let found = try sections(service.scratch.read("report.jsonl"))
        for name in ["version", "kernel", "configuration", "routes", "log", "events"] {
            #expect(found[name]?["value"] != nil, "\(name) \(result.messages)")
        }
        for name in ["status", "interfaces", "traffic", "services", "metrics"] {
            #expect(found[name]?["problem"] != nil, "\(name)")
        }
        #expect(found["events"]?["value"]?.array?.contains { $0.text("event") == "daemon.started" } == true)
    }

    @Test func `a file that cannot be written is not begun, and a foreign one not followed`() async throws {
        let scratch = try Scratch()
        let tool = Tool(scratch: scratch)
        let missing = try await tool.run("bugreport", "--output", scratch.file("none/report"))
        #expect(missing.status == 1 && missing.output == "")
        #expect(missing.messages.hasPrefix("nwpath: cannot write '"))
        let victim = try scratch.write("mine", to: "victim")
        try Command.run(["ln", "-s", victim, scratch.file("report.new")])
        #expect(try await tool.run("bugreport", "--output", scratch.file("report")).status == 0)
        #expect(scratch.read("victim") == "mine" && scratch.read("report").hasPrefix("{\"schema\""))
    }
}
