// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import LinuxIO
import Netlink
import TestSupport
import Testing

@testable import Examination
@testable import Probes

/// The test's machine and another one with servers, on one cable; nobody else is there.
private struct Pair {
    let far: Namespace
    let scratch: Scratch
    private let servers: RunningCommand

    /// Pages on port 80 by path, the same encrypted on 443, silence on 81.
    private static func program(_ folder: String) -> String {
        """
        import base64, hashlib, http.server, socket, socketserver, ssl, subprocess, threading, time
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_GET(self):
                key = self.headers.get("Sec-WebSocket-Key", "")
                digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
                if self.path == "/mute": time.sleep(60)
                if self.path in ("/live", "/liar"):
                    self.send_response(101); self.send_header("Upgrade", "websocket")
                    self.send_header("Connection", "Upgrade")
                    accept = base64.b64encode(digest if self.path == "/live" else b"liar").decode()
                    self.send_header("Sec-WebSocket-Accept", accept); self.end_headers(); time.sleep(60)
                status = {"/fine": 200, "/moved": 302, "/fail": 503}.get(self.path, 404)
                self.send_response(status)
                if status == 302: self.send_header("Location", "http://login.example.test/")
                self.send_header("Content-Length", "0"); self.end_headers()
            def log_message(self, *words): pass
        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer): daemon_threads = True
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", "\(folder)/key", "-out", "\(folder)/pem", "-subj", "/CN=x", "-days", "2",
                        "-addext", "subjectAltName=IP:192.0.2.2"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain("\(folder)/pem", "\(folder)/key")
        secure = Server(("0.0.0.0", 443), Handler)
        secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=secure.serve_forever, daemon=True).start()
        Server(("0.0.0.0", 80), Handler).serve_forever()
        """
    }

    init() async throws {
        far = try Namespace()
        scratch = try Scratch()
        let near = Namespace.current
        try near.connect("eth0", to: far, as: "eth1")
        try near.ipBatch(["address add 192.0.2.1/24 dev eth0", "address add 2001:db8::1/64 dev eth0 nodad"])
        try far.ipBatch(["address add 192.0.2.2/24 dev eth1", "address add 2001:db8::2/64 dev eth1 nodad"])
        try near.waitForAddresses(on: "eth0")
        try far.waitForAddresses(on: "eth1")
        let words = ["nsenter", "--net=\(far.path)", "python3", "-c", Self.program(scratch.path)]
        servers = try RunningCommand(words)
        let far = far
        for port in [80, 443] {
            try await near.loop.eventually(within: .seconds(30), "port \(port)") {
                try far.run("ss -Hltn sport = :\(port)").contains(":\(port)")
            }
        }
    }

    /// Goes the way to a destination; the certificate is trusted when the host is an anchor.
    ///
    /// A server of a busy machine may not answer in time: then it goes again.
    func examine(
        _ text: String,
        isAnchor: Bool = true,
        expecting codes: [VerdictCode] = []
    ) async throws -> (evidence: Evidence, codes: [VerdictCode]) {
        var found = try await examineOnce(text, isAnchor: isAnchor)
        for _ in 0..<4 where found.codes != codes { found = try await examineOnce(text, isAnchor: isAnchor) }
        return found
    }

    private func examineOnce(
        _ text: String,
        isAnchor: Bool
    ) async throws -> (evidence: Evidence, codes: [VerdictCode]) {
        var targets = Targets()
        targets.authorities = scratch.file("pem")
        if isAnchor { targets.anchors = [.init("a", host: nil, ipv4: IPAddress("192.0.2.2"), ipv6: nil)] }
        var order = ExaminationOrder(targets: targets, servers: [])
        order.destination = try Destination(text)
        order.limit = .seconds(60)
        let loop = Namespace.current.loop
        var result: ExaminationResult?
        let kernel = try LiveKernel()
        let examination = try Examination(order, kernel: kernel, loop: loop, pages: PageClient(loop: loop)) {
            result = $0
        }
        await loop.eventually(within: .seconds(60), "the end of the examination") { result != nil }
        withExtendedLifetime(examination) {}
        let evidence = try #require(result).evidence
        let codes = RuleEvaluator().evaluate(evidence).verdicts.map(\.code).filter { $0.layer > .performance }
        return (evidence, codes)
    }

    func end() { servers.signal(9) }
}

@Suite(.inNamespace) struct DestinationFlowTests {
    @Test func `a destination that works is asked alone`() async throws {
        let pair = try await Pair()
        for text in [
            "192.0.2.2", "2001:db8::2", "192.0.2.2:80", "http://192.0.2.2/fine", "https://192.0.2.2/fine",
            "ws://192.0.2.2/live", "wss://192.0.2.2/live",
        ] {
            let (evidence, codes) = try await pair.examine(text)
            #expect(codes.isEmpty && !evidence.isNetworkExamined, "\(text)")
            let destination = try #require(evidence.destination)
            #expect(destination.isComplete && destination.text == text, "\(text): \(destination)")
            #expect(
                destination.paths.count == 1
                    && destination.paths[0].route == .known(.found(interface: "eth0", gateway: nil))
            )
            #expect(destination.paths[0].echo == .known(true) && destination.paths[0].roundTrip != nil)
        }
        pair.end()
    }

    @Test func `each step that fails is told by its own code`() async throws {
        let pair = try await Pair()
        for (text, code) in [
            ("192.0.2.2:81", VerdictCode.destinationPortClosed), ("http://192.0.2.2/gone", .destinationStatus),
            ("http://192.0.2.2/fail", .destinationStatus), ("ws://192.0.2.2/fine", .destinationNoUpgrade),
            ("ws://192.0.2.2/liar", .destinationNoUpgrade), ("https://192.0.2.2:80/fine", .destinationTLS),
            ("http://192.0.2.2/mute", .destinationNoAnswer), ("http://198.51.100.7/", .destinationNoRoute),
        ] {
            let (evidence, codes) = try await pair.examine(text, expecting: [code])
            #expect(codes == [code], "\(text)")
            #expect(evidence.isNetworkExamined, "\(text)")
        }
        pair.end()
    }

    @Test func `whose certificate counts depends on who the host is`() async throws {
        let pair = try await Pair()
        let stranger = [VerdictCode.destinationCertificate]
        let untrusted = try await pair.examine("https://192.0.2.2/fine", isAnchor: false, expecting: stranger)
        #expect(untrusted.codes == stranger)
        // An answer over a connection that is secure needs no explanation by the network.
        let (evidence, codes) = try await pair.examine("https://192.0.2.2/gone", expecting: [.destinationStatus])
        #expect(codes == [.destinationStatus] && !evidence.isNetworkExamined)
        pair.end()
    }

    @Test func `a redirect to somebody else makes the network be looked at`() async throws {
        let pair = try await Pair()
        let (evidence, codes) = try await pair.examine("http://192.0.2.2/moved")
        #expect(codes.isEmpty && evidence.isNetworkExamined && evidence.destination?.mayBeForged == true)
        pair.end()
    }
}
