// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import ServiceSupport
import TestSupport
import Testing

/// docs/quickstart.md, command by command.
///
/// In place of apt-get the script behind the package puts its files below a directory of the test, and the service is
/// started by hand, as is the Prometheus of Debian's package; `make test-package` installs the package itself.
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
        let (clone, root) = (scratch.file("nwpath"), scratch.file("root"))
        try Command.run(["git", "-c", "safe.directory=*", "clone", "-q", Place.root, clone])
        try Command.run([
            "mkdir", "-p", "\(clone)/.build/release", scratch.file("home"), scratch.file("run"),
            "\(root)/var/log/nwpath",
        ])
        try Command.run(["cp", try Place.program, "\(clone)/.build/release/nwpath"])
        let blocks = try TestableBlocks.blocks(of: "docs/quickstart.md")
        #expect(blocks.count == 5)
        let script = ["/usr/share/nwpath", "/var/log/nwpath"].reduce(blocks.joined(separator: "\n")) { script, path in
            script.replacing(path, with: root + path)
        }
        let prelude = """
            set -e
            sudo() { "$@"; }
            apt-get() {
                case "$*" in
                "install ./nwpath_"*.deb*) packaging/install-files install \(root) /usr; nwpath serve & ;;
                *) mkdir debian
                    prometheus --config.file=/etc/prometheus/prometheus.yml --storage.tsdb.path=debian 2>debian/log &
                    until curl -sf localhost:9090/-/ready; do sleep 0.1; done ;;
                esac
            }
            trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
            """
        let words = [
            "nsenter", "--net=\(Namespace.current.path)", "env", "-C", clone, "HOME=\(scratch.file("home"))",
            "XDG_RUNTIME_DIR=\(scratch.file("run"))",
            "NWPATH_LOG_FILE=\(root)/var/log/nwpath/events.jsonl",
            "NWPATH_DNS_RESOLV_CONF=\(scratch.file("resolv.conf"))",
            "NWPATH_STATE_DIR=\(scratch.file("home"))/.local/state/nwpath",
            "NWPATH_LISTEN=unix:\(scratch.file("run"))/nwpath/api.sock,127.0.0.1:8353,[::1]:8353",
            "NWPATH_URL=http://localhost:8353",
            "PATH=\(root)/usr/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "timeout", "60", "bash", "-o", "pipefail", "-c", prelude + "\n" + script,
        ]
        let outcome = Service.outcome(of: try RunningCommand(words, captures: true))
        #expect(outcome.code == 0, "\(outcome.output)")
        LiveJSON.check(log: "\(root)/var/log/nwpath/events.jsonl")
        for text in [
            "Path default is satisfied via up0", "\"status\": \"satisfied\"",
            "nwpath_path_satisfied{monitor=\"default\"} 1",
            "NwpathWayOutBroken", "SUCCESS",
        ] { #expect(outcome.output.contains(text), "\(text): \(outcome.output)") }
    }
}
