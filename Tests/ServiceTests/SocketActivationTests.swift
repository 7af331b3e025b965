// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import ServiceSupport
import TestSupport
import Testing

@testable import PathService

/// Sockets that systemd opened (sd_listen_fds(3)), with systemd's own stand-in for the manager.
@Suite(.inNamespace) struct SocketActivationTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Starts the service as soon as somebody connects to one of `sockets`.
    private func activate(_ sockets: [String], names: String, _ arguments: [String] = []) throws -> RunningCommand {
        let inside = ["nsenter", "--net=\(Namespace.current.path)", "systemd-socket-activate", "--fdname=\(names)"]
        let daemon = [
            try Place.program, "serve", "--no-mdns",
        ]
        return try RunningCommand(
            inside + sockets.flatMap { ["-l", $0] } + daemon + DaemonFiles.options(in: scratch) + arguments,
            captures: true
        )
    }

    private func get(_ words: String...) -> String {
        let curl = ["nsenter", "--net=\(Namespace.current.path)", "curl", "-s", "--max-time", "20"]
        return LiveJSON.check((try? Command.run(curl + words)) ?? "")
    }

    private func ready(unix name: String) -> Bool {
        get("--unix-socket", scratch.file(name), "http://localhost/-/ready") == "ok\n"
    }

    @Test func `a client that came first is served, on sockets of both kinds, and the rest is opened`() async throws {
        try Namespace.current.set("lo", isUp: true)
        let process = try activate(
            [scratch.file("handed.sock"), "127.0.0.1:8353"],
            names: "api:web",
            ["--listen", "unix:" + scratch.file("own.sock"), "--listen", "127.0.0.1:8353"]
        )
        let loop = Namespace.current.loop
        await loop.eventually(within: .seconds(20), "the first client") { ready(unix: "handed.sock") }
        #expect(get("http://127.0.0.1:8353/-/ready") == "ok\n")
        #expect(ready(unix: "own.sock"))
        process.signal(SIGTERM)
        let outcome = Service.outcome(of: process)
        #expect(outcome.code == 0)
        let own = scratch.file("own.sock")
        let line = "listening on unix:\(scratch.file("handed.sock")), 127.0.0.1:8353, unix:\(own)\n"
        #expect(outcome.output.contains(line))
        // Whoever opened a socket takes its file away.
        #expect(scratch.exists("handed.sock") && !scratch.exists("own.sock"))
        LiveJSON.check(log: scratch.file("events.jsonl"))
    }

    @Test func `a socket that others can reach needs the same permission as an address`() async throws {
        try Uplink.make()
        let refused = try activate(["192.0.2.2:8353"], names: "web")
        let loop = Namespace.current.loop
        await loop.eventually(within: .seconds(20), "the socket") {
            _ = get("http://192.0.2.2:8353/-/ready")
            return scratch.exists("events.jsonl")
        }
        let outcome = Service.outcome(of: refused)
        #expect(outcome.code == 1)
        let refusal = "nwpath: 192.0.2.2:8353, passed as socket 'web', is reachable from other hosts: "
        #expect(outcome.output.contains(refusal))
        try scratch.write("insecure: true\n", to: "nwpath.yaml")
        let allowed = try activate(["192.0.2.2:8353"], names: "web", ["--config", scratch.file("nwpath.yaml")])
        await loop.eventually(within: .seconds(20), "an answer") { get("http://192.0.2.2:8353/-/ready") == "ok\n" }
        allowed.signal(SIGTERM)
        #expect(Service.outcome(of: allowed).code == 0)
        LiveJSON.check(log: scratch.file("events.jsonl"))
    }

    @Test func `what is no listening stream socket is named`() async throws {
        // The pipe of standard input is what the service is told to be the first socket.
        let script = "LISTEN_FDS=1 LISTEN_PID=$$ LISTEN_FDNAMES=pipe exec \"$@\" 3<&0"
        let process = try RunningCommand(
            [
                "nsenter", "--net=\(Namespace.current.path)", "sh", "-c", script, "sh", try Place.program, "serve",
                "--no-mdns",
            ] + DaemonFiles.options(in: scratch),
            captures: true
        )
        let outcome = Service.outcome(of: process)
        #expect(outcome.code == 1)
        #expect(outcome.output.contains("nwpath: cannot serve the passed socket 'pipe': "))
    }

    @Test(
        arguments: [
            ("unix:/run/a", "unix:/run/a", true), ("unix:/run/a", "unix:/run/b", false),
            ("127.0.0.1:1", "127.0.0.1:1", true), ("127.0.0.1:1", "127.0.0.1:2", false),
            ("[::]:1", "127.0.0.1:1", true), ("0.0.0.0:1", "[::1]:1", true), ("0.0.0.0:1", "127.0.0.1:2", false),
            ("unix:/run/a", "127.0.0.1:1", false), ("127.0.0.1:1", "unix:/run/a", false),
        ]
    )
    func `an address is covered by itself and by the same port of any address`(
        mine: String,
        other: String,
        covers: Bool
    ) throws {
        let (mine, other) = try (#require(ListenAddress(mine)), #require(ListenAddress(other)))
        #expect(mine.covers(other) == covers)
    }

    @Test func `without a service manager nothing is handed over`() {
        #expect(HandedSocket.all().isEmpty)
    }
}
