// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The status page in a real browser (Fixtures/browser.py), beside the real service in a network of its own.
@Suite(.inNamespaceAtOnce, .serialized) struct PageTests {
    private var loop: EventLoop { Namespace.current.loop }

    private func service(
        _ arguments: [String] = [],
        in scratch: Scratch,
        hasForeignPast: Bool = false,
        takesCensus: Bool = false,
        host: String = "office"
    ) async throws -> Service {
        let listen = ["--listen", Browser.address, "--listen", "unix:" + scratch.file("api.sock")]
        // A name and a resolver of its own, so that no picture shows those of the machine.
        try scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        let script = "hostname \(host); mount --bind \(scratch.file("resolv.conf")) /etc/resolv.conf; exec \"$@\""
        let wrapper = ["unshare", "--mount", "--uts", "sh", "-ec", script, "sh"]
        return try await Service(
            arguments + listen,
            in: scratch,
            hasForeignPast: hasForeignPast,
            takesCensus: takesCensus,
            inside: wrapper
        )
    }

    /// An uplink whose router is there: what a browser sends by itself would find out that it is not.
    private static func connect() throws {
        try Uplink.make()
        try Namespace.current.ip("neigh replace 192.0.2.1 dev up0 lladdr 02:00:00:00:00:01 nud permanent")
        try Uplink.connect()
    }

    @Test func `it shows the state, for everybody, and lets nothing go unseen`() async throws {
        let neighbour = try Neighbour()
        try Namespace.current.ip("route replace default via 192.0.2.1")
        let scratch = try Scratch()
        try scratch.write(Past.log(at: loop.clock.wall), to: "events.jsonl")
        try scratch.write("monitors: {wifi: {required_type: wifi}}\n", to: "nwpath.yaml")
        let service = try await service(
            ["--config", scratch.file("nwpath.yaml")],
            in: scratch,
            hasForeignPast: true,
            takesCensus: true
        )
        try neighbour.offer(
            [
                Neighbour.Offer("Office Printer", "_ipp._tcp").with {
                    $0.port = 631
                    $0.text = ["ty=HP LaserJet", "Color=T", "constructor=x"].map { Array($0.utf8) }
                },
                Neighbour.Offer("日本語プリンタ", "_ipp._tcp").with { $0.port = 631 },
                Neighbour.Offer("Living Room", "_airplay._tcp").with { $0.port = 7000 },
                Neighbour.Offer("Wiki", "_http._tcp").with { $0.port = 80 },
            ],
            in: scratch
        )
        let browser = try Browser("content", in: scratch)
        if await browser.reached("seen") { neighbour.leave() }
        try browser.finish()
        withExtendedLifetime(service) {}
    }

    @Test func `it follows a real change, and says when the service is gone`() async throws {
        try Self.connect()
        let scratch = try Scratch()
        let service = try await service(in: scratch)
        let browser = try Browser("live", in: scratch)
        if await browser.reached("steady") { _ = service.stop(SIGKILL) }
        if await browser.reached("lost") {
            try await service.restart(["--listen", Browser.address, "--listen", "unix:" + service.socket])
        }
        try browser.finish()
    }

    @Test func `a crowd of interfaces and services has room, and the rare states too`() async throws {
        let neighbour = try Neighbour()
        for index in 1...11 {
            try Namespace.current.ipBatch([
                "link add wan\(index) type veth peer name end\(index)", "link set wan\(index) up",
                "link set end\(index) up",
                "addr add 198.18.\(index).2/24 dev wan\(index)",
                "route add default via 198.18.\(index).1 dev wan\(index) metric \(100 + index)",
            ])
        }
        try Namespace.current.ipBatch(["route replace default via 192.0.2.1"])
        let scratch = try Scratch()
        let long = "a-machine-with-a-name-of-sixty-characters-in-rack-4711-row-9"
        let service = try await service(in: scratch, takesCensus: true, host: long)
        let types = ["_ipp._tcp", "_http._tcp", "_ssh._tcp", "_hap._tcp", "_smb._tcp", "_test._tcp"]
        try neighbour.offer(
            (0..<500).map { index in
                Neighbour.Offer("Thing \(index)", types[index % types.count]).with {
                    $0.host = Array("host-\(index % 41)".utf8)
                    $0.addresses = ["192.0.2.\(10 + index % 41)"]
                }
            },
            in: scratch
        )
        try await loop.eventually(within: .seconds(60), "all services") {
            try service.json("/api/v1/services")["services"]?.array?.count == 500
        }
        try Browser("crowd,rare,traffic", in: scratch).finish()
    }

    @Test func `names of strangers do nothing but stand there`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let names = [
            "<script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "\"><svg onload=hacked=1>",
            "javascript:alert(1)", "</td></table><base href=//x/>", "{{hacked}}${hacked}", "<!-- ]]> &lt;b&gt; &#0;",
            "</script><script>hacked=1</script>", "__proto__", "constructor",
        ]
        try scratch.write(names.joined(separator: "\0"), to: "names")
        let service = try await service(in: scratch, takesCensus: true)
        try neighbour.offer(
            names.map { name in
                Neighbour.Offer(name, "_test._tcp").with {
                    $0.text = [Array("k=\(name)".utf8)]
                    $0.host = Array(name.utf8)
                }
            },
            in: scratch
        )
        try await loop.eventually("all services") {
            try service.json("/api/v1/services")["services"]?.array?.count == names.count
        }
        try Browser("hostile", in: scratch).finish()
    }

    @Test func `it runs its own script only, below any prefix, and is of use without one`() async throws {
        try Self.connect()
        let scratch = try Scratch()
        let service = try await service(in: scratch)
        try Browser("tabs,prefix,policy,link,without_script", in: scratch).finish()
        withExtendedLifetime(service) {}
    }
}
