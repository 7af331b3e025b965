// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

/// TLS, passwords and tokens of TCP sockets.
@Suite(.inNamespace) struct ProtectionTests {
    private static let token = "tok-0123456789abcdef"
    /// `secret`, at cost 10 as htpasswd makes it.
    private static let hash = "$2b$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u"
    private let scratch: Scratch
    private let authority: Authority

    init() throws {
        scratch = try Scratch()
        authority = try Authority("ca", in: scratch)
        try authority.sign("server")
        try scratch.write(Self.token + "\n", to: "token")
        try Command.run(["chmod", "640", scratch.file("token")])
    }

    private func configuration(_ further: String = "") -> String {
        """
        tls_server_config:
          cert_file: \(scratch.file("server.pem"))
          key_file: \(scratch.file("server.key"))
        \(further)
        """
    }

    private func start(_ text: String, listen: String = "127.0.0.1:8443") async throws -> Service {
        try scratch.write(text, to: "nwpath.yaml")
        let arguments = ["--config", scratch.file("nwpath.yaml"), "--listen", listen]
        return try await Service(arguments, in: scratch)
    }

    /// Runs curl over TCP; the last line is the status code, 000 without an answer.
    private func curl(
        _ path: String,
        _ words: String...,
        scheme: String = "https",
        host: String = "localhost"
    ) -> String {
        let arguments = ["-s", "--max-time", "20", "--cacert", authority.file, "-w", "\n%{http_code}"] + words
        let command = ["nsenter", "--net=\(Namespace.current.path)", "curl"] + arguments
        do {
            return LiveJSON.check(try Command.run(command + ["\(scheme)://\(host):8443\(path)"]))
        } catch let failure as CommandFailure {
            return failure.output
        } catch {
            return "\(error)"
        }
    }

    private let withToken = "Authorization: Bearer \(token)"

    @Test func `TCP requires a password or the token, and only the token may change something`() async throws {
        let service = try await start(
            configuration("basic_auth_users: {ada: \"\(Self.hash)\"}\ntoken_file: \(scratch.file("token"))")
        )
        let bare = curl("/api/v1/status", "-i")
        #expect(bare.hasSuffix("\n401") && bare.contains("/problems/unauthorized"))
        #expect(bare.contains("WWW-Authenticate: Basic realm=\"nwpath\", charset=\"UTF-8\"\r\n"))
        #expect(bare.contains("WWW-Authenticate: Bearer realm=\"nwpath\"\r\n"))
        for path in ["/", "/metrics", "/-/ready", "/api/v1/nothing"] {
            #expect(curl(path).hasSuffix("\n401"), "\(path)")
        }
        #expect(curl("/-/ready", "-H", withToken) == "ok\n\n200")
        #expect(curl("/-/ready", "-H", withToken + "x").hasSuffix("\n401"))
        #expect(curl("/-/ready", "-u", "ada:secret") == "ok\n\n200")
        #expect(curl("/-/ready", "-u", "ada:Secret").hasSuffix("\n401"))
        #expect(curl("/-/ready", "-u", "eve:secret").hasSuffix("\n401"))
        // Twenty requests cost no further check.
        let many = curl("/-/ready", "-u", "ada:secret", "-Z", "https://localhost:8443/-/[1-20]")
        #expect(many.components("404") >= 20, "\(many)")
        #expect(curl("/-/reload", "-X", "POST", "-u", "ada:secret").hasSuffix("\n403"))
        #expect(curl("/-/reload", "-X", "POST", "-H", withToken).hasSuffix("\n200"))
        let foreign = curl("/-/reload", "-X", "POST", "-H", withToken, "-H", "Origin: https://evil.example")
        #expect(foreign.hasSuffix("\n403") && foreign.contains("/problems/origin-not-allowed"))
        let own = curl("/-/reload", "-X", "POST", "-H", withToken, "-H", "Origin: https://localhost:8443")
        #expect(own.hasSuffix("\n200"))
        #expect(curl("/-/ready", "-H", withToken, scheme: "http").hasSuffix("000"))
        // A unix socket is guarded by its file.
        let shown = try service.get("/api/v1/config")
        #expect(shown.contains("<redacted>") && !shown.contains("$2b") && !shown.contains(Self.token))
        let metrics = curl("/metrics", "-H", withToken, "--compressed")
        #expect(metrics.contains("nwpath_http_requests_total{handler=\"refused\",method=\"GET\",code=\"401\"}"))
        let outcome = service.stop()
        #expect(outcome.code == 0)
        let written = outcome.output + (try service.scratch.text("events.jsonl"))
        #expect(!written.contains(Self.token) && !written.contains("secret"))
    }

    @Test func `a flood of wrong passwords leaves the loop to others`() async throws {
        let service = try await start(
            "basic_auth_users: {ada: \"\(Self.hash)\"}\ntoken_file: \(scratch.file("token"))"
        )
        let flood = try RunningCommand(
            [
                "nsenter", "--net=\(Namespace.current.path)", "curl", "-s", "--max-time", "4", "-Z",
                "--parallel-max", "60",
            ] + (0..<60).map { "http://eve:wrong\($0)@127.0.0.1:8443/-/ready" }
        )
        await Namespace.current.loop.eventually(within: .seconds(10), "checks that are refused") {
            ((try? service.get("/metrics")) ?? "").contains("handler=\"refused\",method=\"GET\",code=\"503\"")
        }
        let time = curl("/-/ready", "-H", withToken, "-o", "/dev/null", "-w", "%{time_total}", scheme: "http")
        #expect(Double(time) ?? 9 < 0.5, "\(time)")
        withExtendedLifetime(flood) {}
    }

    @Test func `clients show certificates where they must`() async throws {
        let other = try Authority("other", in: scratch)
        try authority.sign("client", usage: "clientAuth")
        try other.sign("stranger", usage: "clientAuth")
        let service = try await start(configuration("  client_ca_file: \(authority.file)"))
        func with(_ name: String) -> String {
            curl("/-/ready", "--cert", scratch.file("\(name).pem"), "--key", scratch.file("\(name).key"))
        }
        #expect(with("client") == "ok\n\n200")
        #expect(curl("/-/ready").hasSuffix("000"))
        #expect(with("stranger").hasSuffix("000"))
        // Signed by the right authority, but for servers.
        #expect(with("server").hasSuffix("000"))
        try scratch.write(
            configuration("  client_ca_file: \(authority.file)\n  client_auth_type: VerifyClientCertIfGiven"),
            to: "nwpath.yaml"
        )
        _ = try service.curl(["-X", "POST", "http://localhost/-/reload"])
        #expect(curl("/-/ready") == "ok\n\n200" && with("client") == "ok\n\n200" && with("stranger").hasSuffix("000"))
    }

    @Test func `certificates are read again, and a bad one leaves the old in force`() async throws {
        let service = try await start(configuration())
        let stream = try RunningCommand([
            "nsenter", "--net=\(Namespace.current.path)", "curl", "-s", "-N", "--cacert", authority.file, "-o",
            service.files.stream("stream"), "https://localhost:8443/api/v1/events",
        ])
        await Namespace.current.loop.eventually { ((try? scratch.text("stream")) ?? "").contains("retry:") }
        let other = try Authority("other", in: scratch)
        try other.sign("next")
        try Command.run(["cp", scratch.file("next.pem"), scratch.file("server.pem")])
        // The new certificate with the old key.
        service.process.signal(SIGHUP)
        try await service.eventually("config.rejected")
        let told = try service.records("config.rejected").description
        #expect(told.contains("nwpath.yaml:2:14: tls_server_config.cert_file "), "\(told)")
        #expect(curl("/-/ready") == "ok\n\n200")
        try Command.run(["cp", scratch.file("next.key"), scratch.file("server.key")])
        service.process.signal(SIGHUP)
        try await service.eventually("config.reloaded")
        #expect(curl("/-/ready").hasSuffix("000"))
        #expect(curl("/-/ready", "--cacert", other.file) == "ok\n\n200")
        // The stream of before goes on, and hears of it.
        try await Namespace.current.loop.eventually { try scratch.text("stream").contains("config.reloaded") }
        withExtendedLifetime(stream) {}
        #expect(service.stop().code == 0)
    }

    @Test func `others may connect to what is guarded, and to nothing else`() async throws {
        try Uplink.make()
        try scratch.write("", to: "nwpath.yaml")
        let words = ["--config", scratch.file("nwpath.yaml"), "--listen", "0.0.0.0:8443"]
        let refused = Service.outcome(of: try Service.start(words, in: scratch))
        #expect(refused.code == 2)
        #expect(
            refused.output.contains("--listen: listen[1] 0.0.0.0:8443 is reachable from other hosts"),
            "\(refused.output)"
        )
        let service = try await start(configuration(), listen: "0.0.0.0:8443")
        #expect(curl("/-/ready", host: "192.0.2.2") == "ok\n\n200")
        // What guards an open socket is not given up by a reload that closes none.
        try scratch.write("insecure: true\n", to: "nwpath.yaml")
        _ = try service.curl(["-X", "POST", "http://localhost/-/reload"])
        #expect(curl("/-/ready", host: "192.0.2.2") == "ok\n\n200")
    }

    @Test(arguments: ["644", "602", "660"])
    func `a token that others can read is refused with its place`(mode: String) throws {
        try Command.run(["chmod", mode, scratch.file("token")])
        try scratch.write("log: {}\ntoken_file: \(scratch.file("token"))\n", to: "nwpath.yaml")
        let outcome = Service.outcome(of: try Service.start(["--config", scratch.file("nwpath.yaml")], in: scratch))
        #expect(outcome.code == 2)
        let place = "\(scratch.file("nwpath.yaml")):2:13: token_file \(scratch.file("token")) has the mode 0\(mode)"
        #expect(outcome.output.contains(place), "\(outcome.output)")
        #expect(!outcome.output.contains(Self.token))
    }

    @Test func `commands show the token and know their authority`() async throws {
        let service = try await start(configuration("token_file: \(scratch.file("token"))"))
        func run(_ words: String...) -> Outcome {
            do {
                let inside = ["nsenter", "--net=\(Namespace.current.path)"]
                return Service.outcome(of: try RunningCommand(inside + [try Place.program] + words, captures: true))
            } catch {
                return Outcome(code: -1, output: "\(error)")
            }
        }
        let url = "https://localhost:8443"
        let right = run("status", "--url", url, "--cacert", authority.file, "--token-file", scratch.file("token"))
        #expect(right.code == 0, "\(right.output)")
        #expect(run("status", "--url", url, "--cacert", authority.file).code == 5)
        #expect(run("status", "--url", url, "--token-file", scratch.file("token")).code == 4)
        let none = run("status", "--url", url, "--token-file", scratch.file("none"))
        #expect(none.code == 2 && none.output.contains("cannot read the token"))
        #expect(service.stop().code == 0)
    }
}

extension String {
    /// How often a text occurs.
    fileprivate func components(_ text: String) -> Int {
        split(separator: text, omittingEmptySubsequences: false).count - 1
    }
}
