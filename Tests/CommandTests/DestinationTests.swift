// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Documents
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import Examination
@testable import Probes
@testable import nwpath

/// `nwpath diagnose HOST|URL`, without the servers of the lab.
@Suite(.inNamespace) struct DestinationCommandTests {
    /// A cable to another machine of the same kernel, which answers echo requests and refuses connections.
    private static func connect() throws -> (Tool, String, Namespace) {
        let tool = Tool(scratch: try Scratch())
        let resolver = try tool.scratch.write("nameserver 192.0.2.2\n", to: "resolv.conf")
        let text = "dns: {resolv_conf: \(resolver)}\ndiagnosis: {anchors: [{name: a, addr4: 198.51.100.80}]}\n"
        let far = try Namespace()
        try Namespace.current.connect("eth0", to: far, as: "eth1")
        try Namespace.current.ipBatch(["address add 192.0.2.1/24 dev eth0", "route add default via 192.0.2.2"])
        try far.ipBatch(["address add 192.0.2.2/24 dev eth1"])
        try Namespace.current.waitUntilRunning("eth0")
        return (tool, try tool.scratch.write(text, to: "nwpath.yaml"), far)
    }

    private static func codes(_ value: JSONValue) -> [String] { value.list("verdicts").map { $0.text("code") } }

    @Test func `a host that answers works, and nobody else is asked`() async throws {
        let (tool, file, far) = try Self.connect()
        let result = try await tool.run("diagnose", "192.0.2.2", "--json", "--config", file)
        #expect(result.status == 0, "\(result.output)\(result.messages)")
        let value = try result.json
        #expect(value.list("verdicts").isEmpty && value.text("targets") == "none" && value.text("blame") == "nobody")
        #expect(value.list("ladder").map { $0.text("layer") } == ["route", "reach"])
        #expect(value.list("ladder").allSatisfy { $0.text("state") == "ok" })
        let address = try #require(value["destination"]?.list("addresses").first)
        #expect(address["interface"]?["name"]?.string == "eth0" && address["gateway"] == .null)
        #expect(address["echo"]?.bool == true && address.text("connection") == "refused")
        let text = try await tool.run("diagnose", "192.0.2.2", "--config", file)
        #expect(text.firstLine == "✓ 192.0.2.2 works" && text.status == 0)
        #expect(text.output.contains("✓ route       on eth0\n✓ reach       192.0.2.2 ("), "\(text.output)")
        withExtendedLifetime(far) {}
    }

    @Test func `a port that is closed is told, and the network is looked at`() async throws {
        let (tool, file, far) = try Self.connect()
        let result = try await tool.run("diagnose", "http://192.0.2.2:81/", "--json", "--config", file)
        #expect(result.status == 1)
        let value = try result.json
        #expect(Self.codes(value).contains("destination.port-closed"), "\(result.output)")
        #expect(value.text("targets") == "configuration" && value["destination"]?["port"]?.int == 81)
        #expect(value.list("ladder").map { $0.text("layer") }.suffix(4) == ["route", "reach", "tcp", "http"])
        // Every test of the network, with what became of it.
        let cells = value.list("cells").map { "\($0.text("target")) \($0.text("test")) \($0.text("result"))" }
        #expect(
            cells.contains("192.0.2.2 ARP answered") && cells.contains("a 198.51.100.80 ICMP echo no_answer"),
            "\(cells)"
        )
        let text = try await tool.run("diagnose", "http://192.0.2.2:81/", "-v", "--config", file)
        #expect(text.output.contains("TARGET") && text.output.contains("no answer"), "\(text.output)")
        withExtendedLifetime(far) {}
    }

    @Test func `without a route nothing is sent, and the kernel says why`() async throws {
        let (tool, file, far) = try Self.connect()
        try Namespace.current.ip("route add blackhole 198.51.100.7/32")
        let hole = try await tool.run("diagnose", "198.51.100.7", "--offline", "--json", "--config", file)
        #expect(try Self.codes(hole.json) == ["destination.route-discarded"] && hole.status == 1)
        #expect(try hole.json["bytes"]?.int == 0)
        let fine = try await tool.run("diagnose", "198.51.100.8", "--offline", "--json", "--config", file)
        let gateway = try fine.json["destination"]?.list("addresses").first?.text("gateway")
        #expect(fine.status == 0 && gateway == "192.0.2.2")
        let text = try await tool.run("diagnose", "198.51.100.8", "--offline", "--config", file)
        #expect(text.firstLine == "? 198.51.100.8 works as far as tested; reach: not tested")
        withExtendedLifetime(far) {}
    }

    @Test func `a name is not waited for where the kernel has no way, and the kernel says why`() async throws {
        let (tool, file, far) = try Self.connect()
        try far.set("eth1", isUp: false)
        let words = ["diagnose", "https://name.test/", "--json", "--config", file]
        let dead = try await tool.run(resolvingAt: "192.0.2.2", words)
        #expect(try Self.codes(dead.json) == ["link.no-carrier"] && dead.status == 1, "\(dead.output)")
        #expect(try dead.json["bytes"]?.int == 0 && dead.json["complete"]?.bool == true)
        // A resolver that is waited for takes ten.
        #expect(try dead.json["destination"]?["lookup_seconds"]?.double ?? 9999 < 5)
        let probe = try await tool.run(resolvingAt: "192.0.2.2", ["probe", "name.test", "-c", "1"])
        #expect(probe.status == 1 && probe.output.contains("✗ 1: unreachable: eth0 has no carrier"), "\(probe.output)")
        try Namespace.current.ip("route del default")
        try far.set("eth1", isUp: true)
        try Namespace.current.waitUntilRunning("eth0")
        let cut = try await tool.run(resolvingAt: "192.0.2.2", words)
        #expect(try Self.codes(cut.json) == ["route.no-default"] && cut.status == 1, "\(cut.output)")
        #expect(try cut.json.list("masked").map { $0.text("code") } == ["destination.unresolved"])
        // What is near is in reach all the same.
        let near = try await tool.run(resolvingAt: "192.0.2.2", ["diagnose", "192.0.2.2", "--config", file])
        #expect(near.status == 0 && near.firstLine == "✓ 192.0.2.2 works")
    }

    @Test func `while a name is looked up in vain, the network is looked at`() async throws {
        let (tool, file, far) = try Self.connect()
        let named = tool.scratch.read("nwpath.yaml").replacing("name: a", with: "name: a, host: a.test")
        try tool.scratch.write(named, to: "nwpath.yaml")
        try far.ipBatch(["address add 198.51.100.80/32 dev lo", "link set lo up"])
        // Silent, not closed.
        try far.run([
            "nft",
            "add table inet f; add chain inet f i { type filter hook input priority 0; }; "
                + "add rule inet f i meta l4proto { tcp, udp } th dport 53 drop",
        ])
        let result = try await tool.run(
            resolvingAt: "192.0.2.2",
            ["diagnose", "https://name.test/", "--json", "--config", file]
        )
        let value = try result.json
        #expect(Self.codes(value) == ["dns.unreachable"], "\(value)")
        #expect(value["complete"]?.bool == true)
        // Given up once the network was known, before its own limit of six seconds.
        #expect(value["destination"]?["lookup_seconds"]?.double ?? 9999 < 6, "\(value)")
    }

    /// A proxy on the other machine, which answers each request itself, and CONNECT with 503.
    private static let proxy = """
        import http.server
        class Proxy(http.server.BaseHTTPRequestHandler):
            def log_message(self, *words): pass
            def do_GET(self):
                self.send_response(204 if self.path.startswith("http://a.test/") else 502)
                self.end_headers()
            def do_CONNECT(self):
                self.send_response(503)
                self.end_headers()
        http.server.ThreadingHTTPServer(("192.0.2.2", 3128), Proxy).serve_forever()
        """

    @Test func `a page is requested through the proxy of the environment, as programs do`() async throws {
        let (tool, file, far) = try Self.connect()
        let server = try RunningCommand(["nsenter", "--net=\(far.path)", "python3", "-c", Self.proxy])
        defer { withExtendedLifetime(server) {} }
        await Namespace.current.loop.eventually("a proxy") {
            (try? far.run(["ss", "-Hltn", "sport = :3128"]).isEmpty) == false
        }
        func diagnose(_ url: String, port: Int = 3128) async throws -> Result {
            var tool = tool
            let proxy = "http://user:secret@192.0.2.2:\(port)"
            tool.environment = ["http_proxy": proxy, "https_proxy": proxy, "no_proxy": "192.0.2.2"]
            return try await tool.run("diagnose", url, "--json", "--config", file)
        }
        // Nobody looks up the name but the proxy.
        let fine = try await diagnose("http://a.test/")
        #expect(fine.status == 0, "\(fine.output)")
        #expect(try fine.json.list("ladder").map { $0.text("layer") } == ["http"])
        let refused = try await diagnose("https://b.test/")
        // Nothing beyond the gateway answers, of which a proxy that gets no answer is a consequence.
        #expect(try refused.json.list("masked").contains { $0.text("code") == "proxy.failing" }, "\(refused.output)")
        #expect(try !Self.codes(refused.json).contains { $0.hasPrefix("destination") })
        #expect(refused.output.contains("response 503") && !refused.output.contains("secret"))
        let dead = try await diagnose("http://a.test/", port: 3129)
        #expect(try Self.codes(dead.json).contains("proxy.unreachable") && dead.status == 1, "\(dead.output)")
        // An exception of the environment is tested directly.
        let near = try await diagnose("http://192.0.2.2:81/")
        #expect(try Self.codes(near.json).contains("destination.port-closed"), "\(near.output)")
    }

    @Test func `Ctrl-C ends it at once, and the limit ends it with what is known`() async throws {
        let (tool, file, far) = try Self.connect()
        // Nobody has this address: the kernel looks for it for three seconds.
        let running = try tool.launch("diagnose", "192.0.2.77:80", "--json", "--config", file)
        await Namespace.current.loop.eventually("a connection that is tried") {
            (try? Namespace.current.run("ss -Htn state syn-sent").contains("192.0.2.77")) == true
        }
        running.command.signal(2)
        #expect(running.command.wait() == 130)
        #expect(running.output.isEmpty && running.messages.contains("interrupted; nothing was changed"))
        let short = try await tool.run("diagnose", "192.0.2.77:80", "--timeout", "100ms", "--json", "--config", file)
        #expect(short.status == 3, "\(short.output)")
        #expect(try short.json["complete"]?.bool == false && short.json.list("verdicts").isEmpty)
        let silent = try await tool.run("diagnose", "192.0.2.77:80", "--json", "--config", file)
        #expect(try silent.status == 1 && Self.codes(silent.json).contains("destination.silent"), "\(silent.output)")
        #expect(
            try silent.json.list("ladder").contains { $0.text("layer") == "tcp" && $0.text("state") == "not_assessed" }
        )
        withExtendedLifetime(far) {}
    }

    @Test(arguments: [
        (
            ["htps://a.test/"],
            "HOST|URL is 'htps://a.test/', expected a host, HOST:PORT, or a URL of http, https, ws or wss "
                + "(did you mean 'https'?)"
        ),
        (["ftp://a.test/"], "HOST|URL is 'ftp://a.test/', expected a host, HOST:PORT, or a URL"),
        (["a b"], "HOST|URL is 'a b', expected"), (["a.test:99999"], "HOST|URL is 'a.test:99999', expected"),
        (["a.test", "b.test"], "unexpected argument 'b.test'"),
        (["a.test", "--offline"], "--offline does not resolve names; give an address instead of a.test"),
        (["192.0.2.1", "--timeout", "5"], "--timeout is '5', expected a duration"),
    ])
    func `a wrong command line is one line, and status 2`(words: [String], message: String) async throws {
        let result = try await Tool(scratch: try Scratch()).run(["diagnose"] + words)
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.messages.hasPrefix("nwpath diagnose: " + message), "\(result.messages)")
        #expect(result.messages.split(separator: "\n").count == 1)
    }
}

@Suite struct DestinationEvidenceTests {
    private static func result(
        _ outcome: ProbeResult.Outcome,
        isSecured: Bool = false,
        _ change: (inout ProbeResult) -> Void = { _ in }
    ) -> ProbeResult {
        var result = ProbeResult(outcome)
        result.isSecured = isSecured
        change(&result)
        return result
    }

    @Test func `a request that fails tells how far it got`() {
        let late = Self.result(.failure(.timeout, detail: "x"))
        #expect(DestinationEvidence.Exchange(late, isSecure: true, nil) == .unencrypted(detail: "no answer in time"))
        #expect(DestinationEvidence.Exchange(late, isSecure: false, nil) == .unanswered(detail: "no answer in time"))
        let mute = Self.result(.failure(.timeout, detail: "x"), isSecured: true)
        #expect(DestinationEvidence.Exchange(mute, isSecure: true, nil) == .unanswered(detail: "no answer in time"))
        let odd = Self.result(.failure(.answer, detail: "garbage"))
        #expect(DestinationEvidence.Exchange(odd, isSecure: false, nil) == .unanswered(detail: "garbage"))
        let expired = Self.result(.failure(.tls, detail: "expired")) { $0.certificate = .outOfDate }
        #expect(
            DestinationEvidence.Exchange(expired, isSecure: true, nil)
                == .untrusted(detail: "expired", isAboutTime: true)
        )
    }

    @Test func `a WebSocket is open when its key was answered`() {
        let right = Self.result(.success) { result in
            result.page = PageAnswer(status: 101)
            result.page?.acceptance = "abc="
        }
        #expect(
            DestinationEvidence.Exchange(right, isSecure: false, "abc=")
                == .answered(status: 101, location: nil, isUpgraded: true)
        )
        for key in ["abd=", nil] {
            #expect(
                DestinationEvidence.Exchange(right, isSecure: false, key)
                    == .answered(status: 101, location: nil, isUpgraded: false)
            )
        }
    }

    @Test func `what a look-up says is kept`() {
        let outcomes: [(HostLookupResult.Outcome, DestinationEvidence.Lookup)] = [
            (.addresses([ScopedAddress(.v4(1))]), .found), (.noSuchName, .noSuchName), (.noAddress, .noAddress),
            (.failed("no answer in time"), .failed("no answer in time")),
        ]
        for (outcome, lookup) in outcomes { #expect(DestinationEvidence.Lookup(outcome) == lookup) }
    }

    @Test func `of several connections the best one counts`() {
        var path = DestinationEvidence.Path(ScopedAddress(.v4(1)))
        path.record(Self.result(.failure(.resources, detail: "")))
        #expect(path.connection == .notAsked && path.isReachable == nil)
        path.record(Self.result(.failure(.timeout, detail: "")))
        #expect(path.connection == .known(.silent) && path.isReachable == false)
        path.record(Self.result(.failure(.refused, detail: "")))
        path.record(Self.result(.failure(.unreachable, detail: "")))
        #expect(path.connection == .known(.refused) && path.isReachable == true && path.connectTime == nil)
        path.record(Self.result(.success) { $0.duration = .milliseconds(5) })
        path.record(Self.result(.failure(.blocked, detail: "")))
        #expect(path.connection == .known(.connected) && path.connectTime == .milliseconds(5) && path.isRefused)
    }

    @Test func `what is shown has everything that was found`() throws {
        var evidence = DestinationEvidence(try Destination("https://a.test/x"))
        #expect(evidence.service == .page(isSecure: true) && evidence.host == "a.test" && evidence.port == 443)
        evidence.lookupTime = .microseconds(1_234)
        var path = DestinationEvidence.Path(ScopedAddress(.v4(0xC000_0202)))
        path.route = .known(.found(interface: "eth0", gateway: .v4(0xC000_0201)))
        path.record(Self.result(.success) { $0.duration = .milliseconds(5) })
        evidence.paths = [path]
        evidence.exchange = .known(.answered(status: 301, location: "/y", isUpgraded: false))
        let value = try JSONValue(parsing: try OrderedJSONEncoder().encode(DestinationDocument(evidence)))
        #expect(
            value.object?.keys == [
                "target", "host", "port", "lookup_seconds", "addresses", "status", "location",
            ]
        )
        #expect(
            value["lookup_seconds"]?.double == 0.001234 && value["status"]?.int == 301 && value.text("location") == "/y"
        )
        let details = DestinationText(renderer: TextRenderer(now: WallTime(nanoseconds: 0))).details(value)
        #expect(details["resolve"] == "192.0.2.2 (1.23 ms)" && details["route"] == "via 192.0.2.1 on eth0")
        #expect(details["tcp"] == "192.0.2.2 (5.00 ms)" && details["http"] == "status 301 to /y")
        #expect(details["reach"] == "")
    }

    @Test(arguments: [
        (#"{"target":"a.test","status":null}"#, #"[{"layer":"reach","state":"ok"}]"#, "✓ a.test works\n"),
        (
            #"{"target":"http://a/","status":204}"#, #"[{"layer":"http","state":"ok"}]"#,
            "✓ http://a/ works: status 204\n"
        ),
        (
            #"{"target":"https://a/","status":null}"#,
            #"[{"layer":"tcp","state":"ok"},{"layer":"tls","state":"not_assessed","message":"HTTP needs libcurl"}]"#,
            "? https://a/ works as far as tested; tls: HTTP needs libcurl\n"
        ),
    ])
    func `a destination that works is one line`(destination: String, ladder: String, line: String) throws {
        let document = try JSONValue(parsing: #"{"ladder":\#(ladder)}"#)
        let text = DestinationText(renderer: TextRenderer(now: WallTime(nanoseconds: 0)))
        #expect(text.sentence(try JSONValue(parsing: destination), document) == line)
    }
}
