// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct DestinationTextTests {
    private static func read(_ text: String) throws -> Destination { try Destination(text) }

    @Test(
        arguments: [
            ("a.test", "a.test", nil), ("192.0.2.1", "192.0.2.1", nil), ("2001:db8::1", "2001:db8::1", nil),
            ("fe80::1%eth0", "fe80::1%eth0", nil), ("a.test:22", "a.test", 22), ("[2001:db8::1]:22", "2001:db8::1", 22),
        ] as [(String, String, UInt16?)]
    )
    func `a host may have a port`(text: String, host: String, port: UInt16?) throws {
        let destination = try Self.read(text)
        #expect("\(destination.host)" == host && destination.port == port)
        #expect(destination.service == (port.map { .port($0) } ?? .host))
        #expect(destination.page == nil && destination.description == text)
    }

    @Test(
        arguments: [
            ("http://a.test", "http://a.test/", 80, false),
            ("https://a.test:8443/x?y", "https://a.test:8443/x?y", 8443, false),
            ("HTTPS://a.test/#top", "https://a.test/", 443, false),
            ("ws://a.test/live", "http://a.test/live", 80, true),
            ("wss://[2001:db8::1]/live", "https://[2001:db8::1]/live", 443, true),
        ] as [(String, String, UInt16, Bool)]
    )
    func `a URL is a page or a WebSocket`(text: String, page: String, port: UInt16, isWebSocket: Bool) throws {
        let destination = try Self.read(text)
        #expect(destination.page?.description == page && destination.port == port)
        guard let address = destination.page else { return }
        #expect(destination.service == (isWebSocket ? .webSocket(address) : .page(address)))
    }

    @Test(arguments: ["htps://a.test/", "ftp://a.test", "://a.test", "wsss://a.test"])
    func `another scheme is named`(text: String) {
        let scheme = String(text.prefix { $0 != ":" })
        #expect(throws: Destination.Mistake.unknownScheme(scheme)) { try Self.read(text) }
    }

    @Test(arguments: [
        "", "a b", "a.test:0", "a.test:70000", "1.2.3", "http://", "http://me@a.test/", "ws://a b/", "[::1", "-a",
        "https:/a.test", "a..test", "http:///x",
    ])
    func `anything else is malformed`(text: String) {
        #expect(throws: Destination.Mistake.malformed) { try Self.read(text) }
    }

    @Test func `schemes are told in messages`() {
        for scheme in Destination.schemes { #expect(Destination.expectation.contains(scheme)) }
    }
}

@Suite(.inNamespace) struct HostLookupTests {
    private static func look(up name: String, limit: Duration = .seconds(20)) async -> HostLookupResult.Outcome? {
        let loop = Namespace.current.loop
        var result: HostLookupResult?
        let lookup = HostLookup(name, limit: limit, loop: loop) { result = $0 }
        await loop.eventually { result != nil }
        withExtendedLifetime(lookup) {}
        return result?.outcome
    }

    @Test func `each address is found once`() async {
        guard case .addresses(let addresses)? = await Self.look(up: "localhost") else {
            Issue.record("localhost has no address")
            return
        }
        #expect(Set(addresses).count == addresses.count && addresses.allSatisfy { $0.address.isLoopback })
    }

    /// A name server at every address there is, which never answers.
    private static func silence() async throws -> RunningCommand {
        let namespace = Namespace.current
        for words in ["route add local 0.0.0.0/0 dev lo", "-6 route add local ::/0 dev lo"] { try namespace.ip(words) }
        let program = "import socket, time; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); "
        let server = try RunningCommand(
            ["nsenter", "--net=\(namespace.path)", "python3", "-c", program + "s.bind(('::', 53)); time.sleep(1000)"]
        )
        try await namespace.loop.eventually("the server") {
            try namespace.run("ss -Hlun sport = :53").contains(":53")
        }
        return server
    }

    @Test func `a limit ends it, and so does whoever wants no answer`() async throws {
        let server = try await Self.silence()
        #expect(await Self.look(up: "no-such-host.invalid", limit: .zero) == .failed("no answer in time"))
        withExtendedLifetime(server) {}
        let loop = Namespace.current.loop
        var count = 0
        for _ in 0..<3 { HostLookup("localhost", limit: .seconds(9), loop: loop) { _ in count += 1 }.cancel() }
        await loop.sleep(for: .milliseconds(50))
        #expect(count == 0)
    }

    @Test func `a name that is too long is told in words`() async {
        guard case .failed(let text)? = await Self.look(up: String(repeating: "a", count: 300)) else {
            Issue.record("a name of 300 letters has an address")
            return
        }
        #expect(!text.isEmpty)
    }

    @Test(
        arguments: [
            (.failed("x", certainty: .noSuchName), .noSuchName), (.failed("x", certainty: .noAddress), .noAddress),
            (.failed("Try Again", certainty: .none), .failed("try again")), (.addresses([]), .noAddress),
            (.addresses([.init(.v4(1)), .init(.v4(2)), .init(.v4(1))]), .addresses([.init(.v4(1)), .init(.v4(2))])),
        ] as [(NameLookup.Outcome, HostLookupResult.Outcome)]
    )
    func `what the C library says is put in order`(said: NameLookup.Outcome, expected: HostLookupResult.Outcome) {
        #expect(HostLookupResult(said, duration: .zero).outcome == expected)
    }

    @Test func `codes of getaddrinfo are told apart`() {
        #expect(NameLookup.Certainty(-2) == .noSuchName && NameLookup.Certainty(-5) == .noAddress)
        #expect(NameLookup.Certainty(-3) == .none && NameLookup.Certainty(-11) == .none)
    }
}

@Suite(.inNamespace) struct HandshakeProbeTests {
    /// A server that answers any request of a handshake with a fixed key, and says no more; others get a long page.
    private static let server = """
        import http.server, socketserver, socket, time
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_GET(self):
                if self.path == "/hang": time.sleep(60)
                if self.path == "/length":
                    self.send_response(302); self.send_header("Location", "/%d" % len(self.headers["X-NWPath-Padding"] or ""))
                    self.send_header("Content-Length", "0"); self.end_headers(); return
                if self.headers.get("Upgrade") == "websocket" and "Sec-WebSocket-Key" in self.headers:
                    self.send_response(101); self.send_header("Upgrade", "websocket")
                    self.send_header("Connection", "Upgrade"); self.send_header("Sec-WebSocket-Accept", "abc=")
                    self.end_headers(); self.wfile.flush(); time.sleep(60)
                else:
                    self.send_response(200); self.send_header("Content-Length", "10000000"); self.end_headers()
                    try: self.wfile.write(b"x" * 10000000)
                    except OSError: pass
            def log_message(self, *words): pass
        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer): daemon_threads = True
        Server(("0.0.0.0", 80), Handler).serve_forever()
        """

    private static func with(_ body: (ProbeNetwork) async throws -> Void) async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(self.server)
        try await network.waitForPort(80)
        try await body(network)
        server.signal(9)
    }

    @Test func `a handshake ends with its answer, though the connection stays open`() async throws {
        try await Self.with { network in
            let result = try await network.attempt(.http, "http://192.0.2.2/live") { definition in
                definition.page.key = "dGhlIHNhbXBsZSBub25jZQ=="
                definition.page.isHeadEnough = true
            }
            #expect(result.page?.status == 101 && result.page?.acceptance == "abc=" && !result.isSecured)
        }
    }

    @Test func `the head of an answer is enough`() async throws {
        try await Self.with { network in
            let result = try await network.attempt(.http, "http://192.0.2.2/") { $0.page.isHeadEnough = true }
            #expect(result.page?.status == 200 && result.isSuccess)
            #expect(result.received < 32_768)
        }
    }

    @Test(arguments: [0, 1, 6000])
    func `a request is as long as it is wanted`(padding: Int) async throws {
        try await Self.with { network in
            let result = try await network.attempt(.http, "http://192.0.2.2/length") { $0.page.padding = padding }
            #expect(result.page?.status == 302 && result.page?.location == "/\(padding)")
            #expect(result.sent > padding && result.sent < padding + 400)
        }
    }

    @Test func `a request ends by itself after its limit`() async throws {
        try await Self.with { network in
            let result = try await network.attempt(.http, "http://192.0.2.2/hang") { definition in
                definition.page.limit = .milliseconds(200)
            }
            #expect(result.reason == .timeout && result.page == nil && result.duration < .seconds(20))
        }
    }
}

@Suite(.inNamespace) struct SecuredProbeTests {
    /// Two servers with a certificate of their own: one that never answers a request, one that never shakes hands.
    private static let server = """
        import socket, ssl, subprocess, tempfile, threading
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                            "-keyout", folder + "/key", "-out", folder + "/pem", "-subj", "/CN=x", "-days", "2",
                            "-addext", "subjectAltName=IP:192.0.2.2"], check=True, capture_output=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain(folder + "/pem", folder + "/key")
            open("FILE", "w").write(open(folder + "/pem").read())
        kept = []
        def serve(port, hand):
            s = socket.create_server(("0.0.0.0", port))
            while True:
                c = s.accept()[0]; kept.append(c)
                threading.Thread(target=hand, args=(c,), daemon=True).start()
        def secure(c):
            try: kept.append(context.wrap_socket(c, server_side=True))
            except (OSError, ssl.SSLError): pass
        threading.Thread(target=serve, args=(8443, lambda c: None), daemon=True).start()
        serve(443, secure)
        """

    private static func with(_ body: (ProbeNetwork, String) async throws -> Void) async throws {
        let network = try ProbeNetwork()
        let scratch = try Scratch()
        let file = scratch.file("secured.pem")
        let program = server.split(separator: "FILE", omittingEmptySubsequences: false).joined(separator: file)
        let running = try network.servePython(program)
        try await network.waitForPort(443)
        try await network.waitForPort(8443)
        try await body(network, file)
        running.signal(9)
    }

    @Test func `how far an encrypted request got is known`() async throws {
        try await Self.with { network, authorities in
            let mute = try await network.attempt(.http, "https://192.0.2.2/") { definition in
                definition.page.authorities = authorities
                definition.page.limit = .seconds(2)
            }
            #expect(mute.reason == .timeout && mute.isSecured && mute.page == nil)
            let deaf = try await network.attempt(.http, "https://192.0.2.2:8443/") {
                $0.page.limit = .milliseconds(300)
            }
            #expect(deaf.reason == .timeout && !deaf.isSecured && deaf.certificate == nil)
        }
    }

    @Test func `a certificate that nobody vouches for secures nothing`() async throws {
        try await Self.with { network, _ in
            let result = try await network.attempt(.http, "https://192.0.2.2/") { $0.page.limit = .seconds(20) }
            #expect(result.reason == .tls && result.certificate == .untrusted && result.page == nil)
        }
    }
}
