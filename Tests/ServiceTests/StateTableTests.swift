// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import Diagnosis
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The table of docs/headline.md: what every surface says in ten states, beside what ping, curl and getent get.
///
/// The router, and everything beyond it, is one namespace with real servers: dnsmasq behind a forwarder that can be slow,
/// python for pages. A real browser shows each state too.
@Suite(.inNamespaceAtOnce) struct StateTableTests {
    private let namespace = Namespace.current
    private let far: Namespace
    private let scratch: Scratch
    private var servers: [RunningCommand] = []

    /// What programs get that know nothing of nwpath.
    private struct Truth: Equatable {
        var ping: Bool
        var page: Bool
        var name: Bool
        var ping6: Bool

        init(_ letters: String) {
            let letters = Array(letters)
            (ping, page) = (letters[0] == "p", letters[1] == "w")
            (name, ping6) = (letters[2] == "n", letters[3] == "6")
        }
    }

    init() async throws {
        far = try Namespace()
        scratch = try Scratch()
        try namespace.connect("v0", to: far, as: "v1")
        try far.ipBatch([
            "link set lo up", "addr add 192.0.2.1/24 dev v1", "addr add 2001:db8::1/64 dev v1 nodad",
            "addr add 198.51.100.7/32 dev lo", "addr add 2001:db8:7::7/128 dev lo",
        ])
        try namespace.ipBatch([
            "link set lo up", "addr add 192.0.2.7/24 dev v0", "addr add 2001:db8::7/64 dev v0 nodad",
        ])
        try namespace.waitUntilRunning("v0")
        try far.waitUntilRunning("v1")
        try restoreRoutes()
        try scratch.write("nameserver 198.51.100.7\noptions timeout:3 attempts:1\n", to: "resolv.conf")
        try await serve()
    }

    /// Starts the page server and the name server.
    private mutating func serve() async throws {
        servers = [try pages(), try upstreamNames(), try names()]
        try await namespace.loop.eventually("the servers") {
            try far.run("ss -Hltn sport = :80").contains(":80") && far.run("ss -Hlun sport = :53").contains(":53")
                && far.run("ss -Hlun sport = :5300").contains(":5300")
        }
    }

    private func pages() throws -> RunningCommand {
        let pages = """
            import http.server, os
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    if os.path.exists("\(scratch.file("portal"))"):
                        self.send_response(302); self.send_header("Location", "http://login.example.test/")
                    else:
                        self.send_response(204)
                    self.end_headers()
                def log_message(self, *words): pass
            http.server.HTTPServer(("198.51.100.7", 80), Handler).serve_forever()
            """
        return try RunningCommand(["nsenter", "--net=\(far.path)", "python3", "-c", pages])
    }

    private func upstreamNames() throws -> RunningCommand {
        try RunningCommand([
            "nsenter", "--net=\(far.path)", "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-hosts",
            "--no-resolv", "--user=root", "--pid-file=", "--listen-address=127.0.0.1", "--bind-interfaces",
            "--port=5300",
            "--address=/far.test/198.51.100.7",
        ])
    }

    private func names() throws -> RunningCommand {
        try RunningCommand([
            "nsenter", "--net=\(far.path)", "python3", Place.fixtures + "/slow-names.py", "198.51.100.7",
            scratch.file("slow"),
        ])
    }

    private func restoreRoutes() throws {
        try namespace.ipBatch([
            "route replace default via 192.0.2.1 dev v0", "route replace ::/0 via 2001:db8::1 dev v0",
        ])
    }

    /// Runs four programs as any program of this machine would, with its name server; at once, and each for three seconds
    /// at most, for what is not lost may be late on a machine that runs the whole suite.
    private func truth() throws -> Truth {
        try scratch.write(
            """
            mount --bind \(scratch.file("resolv.conf")) /etc/resolv.conf
            works() { if sh -c "$2" >/dev/null 2>&1; then echo "$1 yes"; else echo "$1 no"; fi; }
            works ping 'ping -4 -c 1 -W 3 198.51.100.7' &
            works page 'test "$(curl -s -m 3 -o /dev/null -w %{http_code} http://198.51.100.7/)" = 204' &
            works name 'timeout 4 getent ahosts far.test' &
            works ping6 'ping -6 -c 1 -W 3 2001:db8:7::7' &
            wait
            """,
            to: "programs"
        )
        let results = try namespace.run(["unshare", "--mount", "sh", scratch.file("programs")])
        let lines = Set(results.split(separator: "\n"))
        #expect(lines.count == 4)
        var truth = Truth("----")
        (truth.ping, truth.page) = (lines.contains("ping yes"), lines.contains("page yes"))
        (truth.name, truth.ping6) = (lines.contains("name yes"), lines.contains("ping6 yes"))
        return truth
    }

    /// Writes a configuration whose tests fail at this threshold; `nil` tests nothing.
    private func configure(threshold: Int?) throws {
        let probe = "interval: 1s, timeout: 500ms, threshold: \(threshold ?? 0)"
        let tests = """
            probes:
              active:
                far: {target: 198.51.100.7, \(probe)}
                far6: {target: "2001:db8:7::7", \(probe)}
                page: {target: "http://198.51.100.7/", expect_status: [204], \(probe)}
                port: {target: "198.51.100.7:80", \(probe)}
                names: {target: far.test, method: dns, server: 198.51.100.7, \(probe)}

            """
        let diagnosis = """
            diagnosis:
              enabled: false
              anchors: [{name: far, addr4: 198.51.100.7, addr6: "2001:db8:7::7"}]
              http_port: 81
              dns: {wildcard: far.test, wildcard_a: 198.51.100.7}

            """
        let names = "dns: {resolv_conf: \(scratch.file("resolv.conf"))}\ntraffic: {enabled: false}\n"
        try scratch.write(names + (threshold == nil ? "" : diagnosis + tests), to: "nwpath.yaml")
    }

    private func start() async throws -> Service {
        try configure(threshold: 2)
        let now = namespace.loop.clock.wall
        try scratch.write(Past.log(at: now), to: "events.jsonl")
        let usual = [
            (name: "far", method: "icmp", target: "198.51.100.7", microseconds: 400),
            (name: "far6", method: "icmp", target: "2001:db8:7::7", microseconds: 450),
            (name: "page", method: "http", target: "http://198.51.100.7/", microseconds: 11_000),
            (name: "port", method: "tcp", target: "198.51.100.7:80", microseconds: 420),
            (name: "names", method: "dns", target: "far.test", microseconds: 14_000),
        ]
        try scratch.write(Past.probes(usual, at: now), to: "probes.jsonl")
        return try await Service(arguments, in: scratch, hasForeignPast: true)
    }

    private var arguments: [String] {
        let listen = ["--listen", Browser.address, "--listen", "unix:" + scratch.file("api.sock")]
        return ["--config", scratch.file("nwpath.yaml")] + listen
    }

    /// Waits for a state with that chain, and holds every surface and every program against it.
    private func expect(
        _ state: Headline.State,
        _ chain: String,
        _ truth: String,
        _ service: Service,
        _ browser: Browser,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let letters = ["good": "+", "degraded": "~", "broken": "x", "not_reached": ".", "not_asked": "?"]
        var status = JSONValue.null
        var found = ""
        let holds = try await namespace.loop.eventually("\(state) \(chain)", sourceLocation: sourceLocation) {
            status = try service.json("/api/v1/status")
            found = (status["chain"]?.array ?? []).compactMap { letters[$0["condition"]?.string ?? ""] }.joined()
            return status["headline"]?["state"]?.string == state.rawValue && found == chain
        }
        try #require(holds, "\(found) \(status["headline"] ?? .null)", sourceLocation: sourceLocation)
        let measured = try self.truth()
        #expect(measured == Truth(truth), sourceLocation: sourceLocation)
        #expect(
            try service.get("/metrics").contains("nwpath_headline{state=\"\(state.rawValue)\"} 1\n"),
            sourceLocation: sourceLocation
        )
        let sign = "\(state.level.symbol) \(state.word)"
        #expect(try service.get("/api/v1/badge/default.svg").contains(sign), sourceLocation: sourceLocation)
        let socket = ["--socket", service.socket]
        for words in [[], ["status"]] {
            let text = try namespace.run([try Place.program] + words + socket)
            #expect(text.hasPrefix(sign + ", for "), "\(text)", sourceLocation: sourceLocation)
        }
        let exit = [Headline.Level.good: 0, .untested: 0, .worse: 1, .bad: 2][state.level] ?? 3
        let check = try service.check("path")
        #expect(check.hasSuffix("\n\(exit)\n"), "\(check)", sourceLocation: sourceLocation)
        let isGood = state.isGood
        #expect(
            try service.code("/api/v1/online") == (isGood ? "200" : "503"),
            sourceLocation: sourceLocation
        )
        for (words, expected) in [
            (["status", "--exit-code"], isGood), (["wait", "--timeout", "1s"], isGood && state != .checking),
            (["wait", "online", "--timeout", "1s"], state == .online),
        ] {
            let command = ["nsenter", "--net=\(namespace.path)", try Place.program] + words + socket
            let code = try RunningCommand(command, captures: true).wait()
            #expect((code == 0) == expected, "\(words): \(code)", sourceLocation: sourceLocation)
        }
        // A state is reported once it stood for a second.
        try await namespace.loop.eventually("\(state) in the history", sourceLocation: sourceLocation) {
            let last = try service.json("/api/v1/history?since=1h")["outages"]?.array?.last
            let isOngoing = last.map { $0["end"] == .null } ?? false
            return isOngoing == (state.level == .bad) && (!isOngoing || last?["reason"]?.string == state.rawValue)
        }
        let history = try namespace.run([try Place.program, "history", "--since", "1h"] + socket)
        #expect(history.contains("ongoing") == (state.level == .bad), "\(history)", sourceLocation: sourceLocation)
        try await browser.look(at: state.word)
    }

    @Test func `in every state every surface agrees with what programs get`() async throws {
        let service = try await start()
        let browser = try Browser("states", in: scratch)
        try await expect(.online, "+++++", "pwn6", service, browser)
        try scratch.write("", to: "portal")
        try await expect(.loginNeeded, "+++x.", "p-n6", service, browser)
        try Command.run(["rm", scratch.file("portal")])
        try await expect(.online, "+++++", "pwn6", service, browser)
        servers[2].signal(SIGKILL)
        try await expect(.dnsBroken, "++++x", "pw-6", service, browser)
        let again = try names()
        try await expect(.online, "+++++", "pwn6", service, browser)
        try far.ip("addr del 2001:db8:7::7/128 dev lo")
        try await expect(.online, "+++~+", "pwn-", service, browser)
        let chains = try service.json("/api/v1/status")["chains"]?.array ?? []
        #expect(chains.map { $0["family"]?.string } == ["ipv4", "ipv6"])
        #expect(chains.map { $0["chain"]?.array?[3]["condition"]?.string } == ["good", "broken"])
        servers[0].signal(SIGKILL)
        try await expect(.degraded, "+++~+", "p-n-", service, browser)
        let page = try pages()
        try await expect(.online, "+++~+", "pwn-", service, browser)
        try far.ipBatch(["addr del 198.51.100.7/32 dev lo"])
        try await expect(.noInternet, "++?x.", "----", service, browser)
        try far.ipBatch(["addr add 198.51.100.7/32 dev lo", "addr add 2001:db8:7::7/128 dev lo"])
        try await expect(.online, "+++++", "pwn6", service, browser)
        try namespace.ipBatch(["route del default", "route del ::/0"])
        try await expect(.localOnly, "++x..", "----", service, browser)
        try far.set("v1", isUp: false)
        try await expect(.offline, "+x...", "----", service, browser)
        try far.set("v1", isUp: true)
        try namespace.waitUntilRunning("v0")
        try far.ip("addr replace 2001:db8::1/64 dev v1 nodad")
        try restoreRoutes()
        try await expect(.online, "+++++", "pwn6", service, browser)
        // What `nwpath diagnose` finds counts as well.
        try scratch.write("", to: "slow")
        #expect(try service.code("/api/v1/diagnosis", ["-X", "POST"]) == "202")
        try await expect(.slow, "++++~", "pwn6", service, browser)
        try Command.run(["rm", scratch.file("slow")])
        try configure(threshold: nil)
        service.process.signal(SIGHUP)
        try await expect(.connected, "++???", "pwn6", service, browser)
        // Tests that fail, and not often enough to say what that means.
        try configure(threshold: 100)
        try far.ipBatch(["addr del 198.51.100.7/32 dev lo", "addr del 2001:db8:7::7/128 dev lo"])
        service.process.signal(SIGHUP)
        try await expect(.checking, "++???", "----", service, browser)
        try configure(threshold: 2)
        service.process.signal(SIGHUP)
        try await expect(.noInternet, "++?x.", "----", service, browser)
        try far.ipBatch(["addr add 198.51.100.7/32 dev lo", "addr add 2001:db8:7::7/128 dev lo"])
        try await expect(.online, "+++++", "pwn6", service, browser)
        // A service that is gone reports nothing, and what it reported before its crash is no evidence for the next.
        _ = service.stop(SIGKILL)
        #expect(try service.check("path").hasSuffix("\n3\n") && truth() == Truth("pwn6"))
        try await browser.look(at: "No contact")
        try far.ip("addr del 198.51.100.7/32 dev lo")
        try await service.restart(arguments)
        try await expect(.dnsBroken, "+++~x", "---6", service, browser)
        try browser.finish()
        withExtendedLifetime((again, page)) {}
    }
}
