// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite(.inNamespace) struct PageProbeTests {
    /// A server whose path says how it answers.
    private static let server = """
        import http.server, socketserver, socket, time, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_GET(self):
                path = self.path.split("?")[0]
                if path == "/generate_204":
                    self.send_response(204)
                    if "X-NWPath-Challenge" in self.headers:
                        self.send_header("X-NWPath-Response", "response " + self.headers["X-NWPath-Challenge"])
                    self.end_headers()
                elif path == "/page":
                    self.answer(200, b"hello")
                elif path == "/api":
                    body = b'{"captive":true}' if self.headers["Accept"] == "application/captive+json" else b"{}"
                    self.send_response(200); self.send_header("Content-Type", "Application/Captive+JSON; charset=x")
                    self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
                elif path == "/portal":
                    self.send_response(302); self.send_header("Location", "http://login.example.test/?from=here")
                    self.send_header("Content-Length", "0"); self.end_headers()
                elif path == "/secure":
                    self.send_response(301); self.send_header("Location", "https://192.0.2.2/")
                    self.send_header("Content-Length", "0"); self.end_headers()
                elif path == "/511":
                    self.answer(511, b"log in")
                elif path == "/endless":
                    self.send_response(200); self.end_headers()
                    try:
                        while True: self.wfile.write(b"x" * 4096)
                    except OSError: pass
                    self.close_connection = True
                elif path.startswith("/interim"):
                    self.wfile.write(b"HTTP/1.1 100 Continue\\r\\n\\r\\nHTTP/1.1 103 Early Hints\\r\\n\\r\\n")
                    if path == "/interim": self.answer(200, b"hello")
                    if path == "/interim-hang": time.sleep(60)
                    self.close_connection = True
                elif path == "/half":
                    self.wfile.write(b"HTTP/1.1 200 OK\\r\\nA: b\\r\\n"); time.sleep(60)
                elif path == "/hang":
                    time.sleep(60)
                elif path == "/garbage":
                    self.wfile.write(b"\\x00\\x01garbage\\r\\n\\r\\n"); self.close_connection = True
                elif path == "/close":
                    self.close_connection = True
                else:
                    self.answer(404, b"no")
            def answer(self, status, body):
                self.send_response(status); self.send_header("Content-Length", str(len(body))); self.end_headers()
                self.wfile.write(body)
            def log_message(self, *words): pass
        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            address_family = socket.AF_INET6
        Server(("::", 80), Handler).serve_forever()
        """

    private static func with(_ body: (ProbeNetwork) async throws -> Void) async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(Self.server)
        try await network.waitForPort(80)
        try await body(network)
        server.signal(9)
    }

    @Test(arguments: ["192.0.2.2", "[2001:db8::2]", "[fe80::2%eth0]", "[fe80::2%25eth0]"])
    func `a page and the lack of one are right`(host: String) async throws {
        try await Self.with { network in
            try network.far.ipBatch(["address add fe80::2/64 dev eth1 nodad"])
            for path in ["generate_204", "page"] {
                let result = try await network.attempt(.http, "http://\(host)/\(path)")
                #expect(result.outcome == .success, "\(path)")
                #expect(result.page?.status == (path == "page" ? 200 : 204))
                #expect(result.sent > 30 && result.received > 15)
            }
        }
    }

    @Test func `a challenge comes back from whoever knows of it`() async throws {
        try await Self.with { network in
            let right = try await network.attempt(.http, "http://192.0.2.2/generate_204") { $0.page.challenge = "abc" }
            #expect(right.isSuccess && right.page?.isEchoed == true)
            let page = try await network.attempt(.http, "http://192.0.2.2/page") { $0.page.challenge = "abc" }
            #expect(page.isSuccess && page.page?.isEchoed == false)
            let plain = try await network.attempt(.http, "http://192.0.2.2/generate_204")
            #expect(plain.page?.isEchoed == false)
        }
    }

    @Test func `an address that is given is asked under the name of the page`() async throws {
        try await Self.with { network in
            let result = try await network.attempt(.http, "http://no-such-host.invalid/page") {
                $0.address = IPAddress("192.0.2.2").map { ScopedAddress($0) }
            }
            #expect(result.isSuccess && result.address?.description == "192.0.2.2" && result.resolution == nil)
        }
    }

    @Test func `a body is kept where it is wanted, whole or not at all`() async throws {
        try await Self.with { network in
            let change: (inout ProbeDefinition) -> Void = { definition in
                definition.page.accepted = PortalStatus.mediaType
                definition.page.longestBody = PortalStatus.longest
            }
            let page = try #require(try await network.attempt(.http, "http://192.0.2.2/api", change).page)
            #expect(page.mediaType == PortalStatus.mediaType && page.body == Array(#"{"captive":true}"#.utf8))
            #expect(PortalStatus(page) == PortalStatus(isCaptive: true))
            let endless = try #require(try await network.attempt(.http, "http://192.0.2.2/endless", change).page)
            #expect(endless.status == 200 && endless.body == nil && endless.mediaType == nil)
            let small = try await network.attempt(.http, "http://192.0.2.2/api") { $0.page.longestBody = 1 }
            #expect(small.page?.body == nil)
            #expect(try await network.attempt(.http, "http://192.0.2.2/api").page?.body == nil)
            // Nobody is followed elsewhere.
            let redirect = try await network.attempt(.http, "http://192.0.2.2/portal", change)
            #expect(redirect.page?.status == 302)
        }
    }

    @Test func `a portal is known by its redirect, its status, or a page where there is none`() async throws {
        try await Self.with { network in
            let redirect = try await network.attempt(.http, "http://192.0.2.2/portal")
            #expect(redirect.reason == .captivePortal)
            #expect(redirect.page?.status == 302 && redirect.page?.location == "http://login.example.test/?from=here")
            #expect(try await network.attempt(.http, "http://192.0.2.2/511").reason == .captivePortal)
            let only204 = try await network.attempt(.http, "http://192.0.2.2/page") { $0.page.statuses = [204] }
            #expect(only204.reason == .captivePortal)
        }
    }

    @Test func `other answers are a wrong status`() async throws {
        try await Self.with { network in
            #expect(try await network.attempt(.http, "http://192.0.2.2/secure").reason == .status)
            #expect(try await network.attempt(.http, "http://192.0.2.2/missing").reason == .status)
            let expected = try await network.attempt(.http, "http://192.0.2.2/missing") { $0.page.statuses = [404] }
            #expect(expected.isSuccess)
        }
    }

    @Test func `what never ends, never comes or makes no sense is bounded`() async throws {
        try await Self.with { network in
            let endless = try await network.attempt(.http, "http://192.0.2.2/endless")
            #expect(endless.isSuccess)
            #expect(endless.received < 1 << 20)
            let hang = try await network.attempt(.http, "http://192.0.2.2/hang", timeout: .milliseconds(300))
            #expect(hang.reason == .timeout)
            #expect(try await network.attempt(.http, "http://192.0.2.2/garbage").reason != nil)
            #expect(try await network.attempt(.http, "http://192.0.2.2/close").reason == .answer)
            #expect(try await network.attempt(.http, "http://192.0.2.2/page").isSuccess)
        }
    }

    @Test(arguments: [false, true])
    func `an interim status is no answer, nor is half a head`(isHeadEnough: Bool) async throws {
        try await Self.with { network in
            func ask(_ path: String) async throws -> ProbeResult {
                try await network.attempt(.http, "http://192.0.2.2/\(path)", timeout: .milliseconds(300)) {
                    $0.page.isHeadEnough = isHeadEnough
                    $0.page.statuses = [100, 103, 200]
                }
            }
            let whole = try await network.attempt(.http, "http://192.0.2.2/interim")
            #expect(whole.isSuccess && whole.page?.status == 200)
            let hanging = try await ask("interim-hang")
            #expect(hanging.page == nil)
            let text = "no answer in time: only an interim response (status 103) was received"
            #expect(hanging.outcome == .failure(.timeout, detail: text))
            let ended = try await ask("interim-end")
            #expect(ended.page == nil && ended.reason == .answer)
            let half = try await ask("half")
            #expect(half.page == nil && half.reason == .timeout)
        }
    }

    @Test func `several go on side by side`() async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(Self.server)
        try await network.waitForPort(80)
        let page = try ProbeNetwork.definition(.http, "http://192.0.2.2/page")
        let hang = try ProbeNetwork.definition(.http, "http://192.0.2.2/hang", timeout: .milliseconds(500))
        let results = await network.attempts([hang, page, page])
        #expect(results.map(\.isSuccess) == [false, true, true])
        #expect(results.first?.reason == .timeout)
        server.signal(9)
    }

    @Test func `a closed port refuses, a filtered one is silent, and a host without a route is unreachable`()
        async throws
    {
        let network = try ProbeNetwork()
        #expect(try await network.attempt(.http, "http://192.0.2.2/").reason == .refused)
        try ProbeNetwork.filter(network.far, hook: "input", ["tcp dport 80 drop"])
        let silent = try await network.attempt(.http, "http://192.0.2.2/", timeout: .milliseconds(300))
        #expect(silent.reason == .timeout)
        #expect(try await network.attempt(.http, "http://198.51.100.1/").reason == .unreachable)
        let gone = try await network.attempt(.http, "http://192.0.2.2/") { $0.route.interface = "gone0" }
        #expect(gone.outcome == .failure(.unreachable, detail: "there is no interface gone0"))
        #expect(try await network.attempt(.http, "http://no-such-host.invalid/").reason == .dns)
    }

    @Test func `a name is asked at the address that was found for it`() async throws {
        let network = try ProbeNetwork()
        let program = Self.server.replacing("(\"::\", 80)", with: "(\"::\", 8088)")
        let server = try RunningCommand(["nsenter", "--net=\(network.near.path)", "python3", "-c", program])
        try await network.loop.eventually { try network.near.run("ss -Hltn sport = :8088").contains(":8088") }
        let result = try await network.attempt(.http, "http://localhost:8088/page") { $0.family = .ipv4 }
        #expect(result.isSuccess)
        #expect(result.address?.description == "127.0.0.1")
        server.signal(9)
    }

    @Test func `a certificate must verify, and the one that is named does`() async throws {
        let network = try ProbeNetwork()
        let folder = try Command.run(["mktemp", "-d"]).filter { !$0.isNewline }
        defer { _ = try? Command.run(["rm", "-r", folder]) }
        try Command.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2",
            "-subj", "/CN=192.0.2.2", "-addext", "subjectAltName=IP:192.0.2.2", "-keyout", "\(folder)/key.pem", "-out",
            "\(folder)/certificate.pem",
        ])
        let server = try network.serve([
            "openssl", "s_server", "-quiet", "-www", "-accept", "443", "-key", "\(folder)/key.pem", "-cert",
            "\(folder)/certificate.pem",
        ])
        try await network.waitForPort(443)
        let stranger = try await network.attempt(.http, "https://192.0.2.2/")
        #expect(stranger.reason == .tls && stranger.certificate == .untrusted)
        let trusted = try await network.attempt(.http, "https://192.0.2.2/") {
            $0.page.authorities = "\(folder)/certificate.pem"
        }
        #expect(trusted.outcome == .success)
        let missing = try await network.attempt(.http, "https://192.0.2.2/") { $0.page.authorities = "/nowhere.pem" }
        #expect(missing.reason == .tls && missing.certificate == nil)
        server.signal(9)
    }
}
