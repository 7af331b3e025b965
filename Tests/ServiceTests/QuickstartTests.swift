// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import ServiceSupport
import TestSupport
import Testing

/// docs/quickstart.md from a fresh clone, by somebody who has only just come.
///
/// Two things are not as on a newcomer's machine: the program is the one that is being tested instead of one built in the
/// clone, and it is installed below a directory of the test, by nobody's `sudo`.
@Suite(.inNamespace) struct QuickstartTests {
    /// A router that is the name server too, as at home.
    private func network(_ scratch: Scratch) async throws -> (Namespace, RunningCommand) {
        let (near, router) = (Namespace.current, try Namespace())
        try near.connect("up0", to: router, as: "lan0")
        try router.ipBatch(["link set lo up", "addr add 192.0.2.1/24 dev lan0"])
        try near.ipBatch(["link set lo up", "addr add 192.0.2.2/24 dev up0", "route add default via 192.0.2.1"])
        try near.waitUntilRunning("up0")
        try scratch.write("nameserver 192.0.2.1\nsearch example.test\n", to: "resolv.conf")
        let names = try RunningCommand([
            "nsenter", "--net=\(router.path)", "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-hosts",
            "--no-resolv", "--user=root", "--pid-file=", "--listen-address=192.0.2.1", "--bind-interfaces",
            "--address=/example.test/192.0.2.9",
        ])
        try await near.loop.eventually("the name server") { try router.run("ss -Hlun sport = :53").contains(":53") }
        return (router, names)
    }

    @Test func `five minutes are enough`() async throws {
        let scratch = try Scratch()
        let (router, names) = try await network(scratch)
        defer { withExtendedLifetime((router, names)) {} }
        let clone = scratch.file("nwpath")
        try Command.run(["git", "-c", "safe.directory=*", "clone", "-q", Place.root, clone])
        try Command.run(["mkdir", "-p", "\(clone)/.build/release", scratch.file("home"), scratch.file("run")])
        try Command.run(["cp", try Place.program, "\(clone)/.build/release/nwpath"])
        let blocks = try TestableBlocks.blocks(of: "docs/quickstart.md")
        #expect(blocks.count == 5)
        let prelude = """
            set -e
            sudo() { "$@"; }
            make() { command make -s -o build DESTDIR=\(scratch.file("root")) "$@"; }
            trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
            """
        let words = [
            "nsenter", "--net=\(Namespace.current.path)", "env", "-C", clone, "HOME=\(scratch.file("home"))",
            "XDG_RUNTIME_DIR=\(scratch.file("run"))",
            "NWPATH_LOG_FILE=\(scratch.file("home"))/.local/state/nwpath/events.jsonl",
            "NWPATH_DNS_RESOLV_CONF=\(scratch.file("resolv.conf"))",
            "NWPATH_STATE_DIR=\(scratch.file("home"))/.local/state/nwpath",
            "NWPATH_LISTEN=unix:\(scratch.file("run"))/nwpath/api.sock,127.0.0.1:8353,[::1]:8353",
            "NWPATH_URL=http://localhost:8353",
            "PATH=\(scratch.file("root"))/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "timeout", "60", "bash", "-o", "pipefail", "-c", prelude + "\n" + blocks.joined(separator: "\n"),
        ]
        let outcome = Service.outcome(of: try RunningCommand(words, captures: true))
        #expect(outcome.code == 0, "\(outcome.output)")
        LiveJSON.check(log: scratch.file("home/.local/state/nwpath/events.jsonl"))
        for text in [
            "Path default is satisfied via up0", "\"status\": \"satisfied\"",
            "nwpath_path_satisfied{monitor=\"default\"} 1",
            "NwpathWayOutBroken", "SUCCESS",
        ] { #expect(outcome.output.contains(text), "\(text): \(outcome.output)") }
    }
}
