// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The status page in a real browser (Fixtures/browser.py), beside the real service in a network of its own.
@Suite(.inNamespace, .serialized) struct PageTests {
    private var loop: EventLoop { Namespace.current.loop }

    private func service(
        _ arguments: [String] = [],
        in scratch: Scratch,
        takesCensus: Bool = false
    ) async throws -> Service {
        let listen = ["--listen", "127.0.0.1:18353", "--listen", "unix:" + scratch.file("api.sock")]
        // A name and a resolver of its own, so that no picture shows those of the machine.
        try scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        let script = "hostname office; mount --bind \(scratch.file("resolv.conf")) /etc/resolv.conf; exec \"$@\""
        let wrapper = ["unshare", "--mount", "--uts", "sh", "-ec", script, "sh"]
        return try await Service(arguments + listen, in: scratch, takesCensus: takesCensus, inside: wrapper)
    }

    /// An uplink whose router is there: what a browser sends by itself would find out that it is not.
    private static func connect() throws {
        try Uplink.make()
        try Namespace.current.ip("neigh replace 192.0.2.1 dev up0 lladdr 02:00:00:00:00:01 nud permanent")
        try Uplink.connect()
    }

    /// Starts a check; ``finish(_:)`` waits for its end.
    private func look(_ check: String, _ scratch: Scratch) throws -> RunningCommand {
        let words = [Place.fixtures + "/browser.py", check, "http://127.0.0.1:18353/", scratch.path]
        let inside = ["nsenter", "--net=\(Namespace.current.path)", "env", "HOME=\(scratch.path)", "PYTHONUTF8=1"]
        return try RunningCommand(inside + [try Place.python.get()] + words, captures: true)
    }

    private func finish(_ browser: RunningCommand) {
        let outcome = Service.outcome(of: browser)
        #expect(outcome.code == 0, "\(outcome.output)")
    }

    /// Waits for a mark the browser's check makes, or for its failure.
    private func marked(_ name: String, _ scratch: Scratch) async -> Bool {
        await loop.eventually(within: .seconds(300), "the browser at '\(name)'") {
            scratch.exists(name) || scratch.exists("failed")
        }
        return scratch.exists(name)
    }

    /// A month as the log tells it: two short outages in the last day, one longer ago, and an hour without a daemon.
    private func month() throws -> String {
        let now = loop.clock.wall
        var sequence = 0
        func line(_ ago: Int, _ event: String, _ rest: String = "") -> String {
            sequence += 1
            let head = #"{"time":"\#(now - .seconds(ago))","seq":\#(sequence),"stream":"7f3a","#
            return head + #""schema":"nwpath.event/1","event":"\#(event)","severity":"info","host":"h","#
                + #""message":"eth0 has no carrier"\#(rest)}"# + "\n"
        }
        func path(_ ago: Int, _ isSatisfied: Bool) -> String {
            let status = isSatisfied ? "satisfied" : "unsatisfied"
            let reason = isSatisfied ? "null" : "\"no_carrier\""
            let body = #","monitor":"default","path":{"status":"\#(status)","unsatisfied_reason":\#(reason)}"#
            return line(ago, "path.changed", body)
        }
        let (hour, day) = (3600, 86_400)
        let opening = line(26 * day, "log.opened", #","log":{"file":"\#(String(repeating: "x", count: 200))"}"#)
        return [
            opening, line(26 * day, "daemon.started"), path(26 * day, true), path(10 * day, false),
            path(10 * day - 7200, true), path(20 * hour, false), path(20 * hour - 240, true),
            line(9 * hour, "daemon.stopping"), line(8 * hour, "daemon.started"), path(8 * hour, true),
            path(3 * hour, false), path(3 * hour - 72, true), line(1, "census.completed"),
        ].joined()
    }

    @Test func `it shows the state, for everybody, and lets nothing go unseen`() async throws {
        let neighbour = try Neighbour()
        try Namespace.current.ip("route replace default via 192.0.2.1")
        let scratch = try Scratch()
        try scratch.write(try month(), to: "events.jsonl")
        try scratch.write("monitors: {wifi: {required_type: wifi}}\n", to: "nwpath.yaml")
        let service = try await service(["--config", scratch.file("nwpath.yaml")], in: scratch, takesCensus: true)
        try neighbour.offer(
            [
                Neighbour.Offer("Office Printer", "_ipp._tcp").with { $0.port = 631 },
                Neighbour.Offer("日本語プリンタ", "_ipp._tcp").with { $0.port = 631 },
                Neighbour.Offer("Living Room", "_airplay._tcp").with { $0.port = 7000 },
                Neighbour.Offer("Wiki", "_http._tcp").with { $0.port = 80 },
            ],
            in: scratch
        )
        let browser = try look("content", scratch)
        if await marked("seen", scratch) { neighbour.leave() }
        finish(browser)
        for name in ["page-light.png", "page-dark.png"] {
            let size = Int(try Command.run(["stat", "-c", "%s", scratch.file(name)]).trimmed) ?? 0
            #expect(size > 10_000, "\(name): \(size) bytes")
            guard let folder = unsafe getenv("NWPATH_TEST_SCREENSHOTS") else { continue }
            #expect(size < 150_000, "\(name): \(size) bytes")
            try Command.run(["cp", scratch.file(name), "\(unsafe String(cString: folder))/\(name)"])
        }
        withExtendedLifetime(service) {}
    }

    @Test func `it follows a real change, and says when the service is gone`() async throws {
        try Self.connect()
        let scratch = try Scratch()
        let service = try await service(in: scratch)
        let browser = try look("live", scratch)
        if await marked("steady", scratch) { _ = service.stop(SIGKILL) }
        if await marked("lost", scratch) {
            try await service.restart(["--listen", "127.0.0.1:18353", "--listen", "unix:" + service.socket])
        }
        finish(browser)
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
        finish(try look("hostile", scratch))
    }

    @Test func `it runs its own script only, below any prefix, and is of use without one`() async throws {
        try Self.connect()
        let scratch = try Scratch()
        let service = try await service(in: scratch)
        finish(try look("tabs,prefix,policy,later,without_script", scratch))
        withExtendedLifetime(service) {}
    }
}
