// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

@testable import nwpath

@Suite(.inNamespace) struct ReadCommandTests {
    @Test func `status begins with the verdict and ends with 0 whatever it is`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        try await service.settle("satisfied")
        let good = try await service.ask("status")
        #expect(good.status == 0)
        #expect(good.firstLine.hasPrefix("? Connected, for "))
        #expect(good.output.contains("\n  path      satisfied\n  supports  IPv4, "))
        #expect(good.output.contains("192.0.2.1  eth0"))
        #expect(good.output.contains("192.0.2.10/24"))
        try Namespace.current.ip("route del default")
        try await service.settle("unsatisfied")
        let bad = try await service.ask("status")
        #expect(bad.status == 0)
        #expect(bad.firstLine.hasPrefix("✗ Local only, for "))
        #expect(bad.output.contains("\n  no default route\n  → `ip route show default`"))
        #expect(bad.output.contains("\n  path      unsatisfied (no_default_route)\n"))
        #expect(try await service.ask("status", "--exit-code").status == 1)
        let quiet = try await service.ask("status", "-q", "--exit-code")
        #expect(quiet.status == 1 && quiet.output == "")
    }

    @Test func `status shows one monitor and knows no other`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        let known = try await service.ask("status", "--monitor", "default", "--json", "--exit-code")
        #expect(known.status == 0)
        #expect(try known.json["monitor"]?.string == "default")
        let unknown = try await service.ask("status", "--monitor", "a b/c")
        #expect(unknown.status == 1)
        #expect(unknown.messages == "nwpath: There is no monitor 'a b/c'.\n")
    }

    @Test(arguments: [
        (["status"], "/api/v1/status"), (["interfaces", "--all"], "/api/v1/interfaces"),
        (["interfaces", "eth0"], "/api/v1/interfaces/eth0"), (["gateways"], "/api/v1/gateways"),
        (["dns"], "/api/v1/dns"), (["services"], "/api/v1/services"),
        (["services", "--types"], "/api/v1/services/types"), (["services", "--past"], "/api/v1/services/history"),
        (["status", "--monitor", "default"], "/api/v1/paths/default"),
        (["traffic"], "/api/v1/traffic"), (["traffic", "--addresses"], "/api/v1/traffic?addresses=true"),
    ])
    func `prints the very object of the API, on one line in a pipe`(words: [String], route: String) async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        let curl = ["curl", "-s", "--unix-socket", service.socket, "http://localhost\(route)"]
        var served = LiveJSON.check(try Command.run(curl))
        var result = try await service.tool.run(words + ["--json", "--socket", service.socket])
        // The kernel looks for the gateway's neighbour meanwhile: what changes between two answers is asked for again.
        for _ in 0..<20 where result.output != served {
            served = LiveJSON.check(try Command.run(curl))
            result = try await service.tool.run(words + ["--json", "--socket", service.socket])
        }
        #expect(result.output == served)
        #expect(result.output.split(separator: "\n").count == 1)
        #expect(result.messages == "")
    }

    @Test func `leaves out ignored interfaces unless asked`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        let some = try await service.ask("interfaces")
        #expect(some.output.contains("eth0"))
        #expect(!some.output.contains("loopback"))
        #expect(try await service.ask("interfaces", "--all").output.contains("loopback"))
        let json = try await service.ask("interfaces", "--json").json
        #expect(json.list("interfaces").allSatisfy { !$0.isTrue("ignored") })
        let one = try await service.ask("interfaces", "eth0")
        #expect(one.output.hasPrefix("✓ eth0: usable\n"))
        let none = try await service.ask("interfaces", "eth9")
        #expect(none.status == 1)
        #expect(none.messages == "nwpath: There is no interface 'eth9'.\n")
    }

    @Test func `lists gateways and name servers`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        #expect(try await service.ask("gateways").output.contains("192.0.2.1  eth0       ipv4"))
        #expect(try await service.ask("dns").output.contains("DNS: "))
        try Namespace.current.ip("route del default")
        try await service.settle("unsatisfied")
        #expect(try await service.ask("gateways").output == "no gateway\n")
    }

    @Test func `gateways, name servers and why show what probes found`() async throws {
        let service = try Service()
        let peer = try Namespace()
        try Namespace.current.connect("eth0", to: peer, as: "far")
        try peer.ip("addr add 192.0.2.1/24 dev far")
        try Namespace.current.ipBatch(["addr add 192.0.2.10/24 dev eth0", "route add default via 192.0.2.1"])
        try peer.waitUntilRunning("far")
        let resolver = try service.scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        let pace = "interval: 1s, threshold: 1"
        try service.scratch.write(
            """
            dns: {resolv_conf: \(resolver)}
            probes:
              active:
                router: {target: gateway, \(pace)}
                names: {method: dns, target: example.test, \(pace)}
            """,
            to: "nwpath.yaml"
        )
        try await service.start()
        try await Namespace.current.loop.eventually("both results") {
            let curl = ["curl", "-s", "--unix-socket", service.socket, "http://localhost/api/v1/probes"]
            let probes = try JSONValue(parsing: try Command.run(curl)).list("probes")
            return probes.count == 2 && probes.allSatisfy { $0["last"]?["address"]?.string == "192.0.2.1" }
        }
        let gateways = try await service.ask("gateways").output
        #expect(gateways.contains("  yes, ") && gateways.hasSuffix(" ago\n"), "\(gateways)")
        let dns = try await service.ask("dns").output
        #expect(dns.contains("\n  servers  192.0.2.1") && dns.contains("  fails: refused, "), "\(dns)")
        let why = try await service.tool.run("why").output
        #expect(why.contains("; ping answers, ") && why.contains("; 192.0.2.1 fails: refused, "), "\(why)")
        let host = try await service.tool.run("why", "192.0.2.1").output
        #expect(host.contains("The kernel would send to 192.0.2.1: IPv4 via eth0; answers, "), "\(host)")
        service.kill()
        #expect(try await service.tool.run("why", "192.0.2.1").output.contains("; not tested (run `nwpath diagnose "))
    }

    @Test func `knows its version without a daemon`() async throws {
        let tool = Tool(scratch: try Scratch())
        #expect(try await tool.run("version").output == "nwpath \(NWPath.version)\n")
        #expect(try await tool.run("--version").output == "nwpath \(NWPath.version)\n")
        #expect(try await tool.run("version", "--json").json["version"]?.string == NWPath.version)
    }
}
