// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

/// What a newcomer sees: the real program, started for the first time.
@Suite(.inNamespace) struct FreshStartTests {
    @Test func `it says where it listens, makes its files, and answers`() async throws {
        try Uplink.make()
        let service = try await Service(["--listen", "127.0.0.1:18353"])
        try Uplink.connect()
        try await service.eventually("path.changed")
        let status = try service.json("/api/v1/status")
        #expect(status["path"]?["status"]?.string == "satisfied")
        #expect(status["problems"]?.array?.isEmpty == true)
        #expect(try service.code("/api/v1/paths/default/satisfied") == "200")
        let output = service.stop().output
        #expect(output.lines.contains("nwpath: listening on unix:\(service.socket), 127.0.0.1:18353"))
        #expect(output.lines.contains("nwpath: event log: \(service.log)"))
        #expect(output.lines.contains("nwpath: status page: http://127.0.0.1:18353/"))
        #expect(output.lines.contains("nwpath: ✗ Local only: no default route"), "\(output)")
        #expect(!service.scratch.exists("api.sock"))
        #expect(try service.scratch.mode("events.jsonl").hasPrefix("640 "))
    }

    @Test func `it makes missing directories, open to readers for root`() async throws {
        let scratch = try Scratch()
        let service = try Service.start(
            ["--listen", "unix:\(scratch.path)/run/nwpath/api.sock", "--state-dir", scratch.file("lib/nwpath")],
            in: scratch
        )
        let found = try await Namespace.current.loop.eventually(within: .seconds(20), "an open socket") {
            guard scratch.exists("run/nwpath/api.sock") else { return false }
            let mode = try scratch.mode("run/nwpath/api.sock")
            // Until the mode is as wanted it is narrower, by the umask of this process.
            #expect(mode.hasPrefix("660 ") || mode.hasPrefix("640 "))
            return mode.hasPrefix("660 ")
        }
        try #require(found)
        #expect(try scratch.mode("run/nwpath").hasPrefix("755 "))
        #expect(try scratch.mode("lib/nwpath").hasPrefix("750 "))
        service.signal(SIGTERM)
        #expect(Service.outcome(of: service).code == 0)
        LiveJSON.check(log: scratch.file("events.jsonl"))
    }

    @Test(.enabled(if: geteuid() == 0))
    func `an ordinary user's files lie in the directories of the user`() async throws {
        let scratch = try Scratch()
        try Command.run(["install", "-d", "-o", "65534", "-m", "700", scratch.file("run"), scratch.file("home")])
        try Command.run(["install", "-m", "755", try Place.program, scratch.file("nwpath")])
        let process = try RunningCommand(
            [
                "nsenter", "--net=\(Namespace.current.path)", "setpriv", "--reuid", "65534", "--regid", "65534",
                "--clear-groups", "env", "-i", "XDG_RUNTIME_DIR=\(scratch.file("run"))", "HOME=\(scratch.file("home"))",
                "LD_LIBRARY_PATH=\(Self.libraries)", scratch.file("nwpath"), "serve", "--no-mdns",
            ],
            captures: true
        )
        await Namespace.current.loop.eventually(within: .seconds(20), "an answer") {
            let socket = scratch.file("run/nwpath/api.sock")
            return (try? Command.run(["curl", "-s", "--unix-socket", socket, "http://localhost/-/ready"])) == "ok\n"
        }
        #expect(try scratch.mode("run/nwpath") == "700 nobody")
        #expect(try scratch.mode("home/.local/state/nwpath").hasSuffix(" nobody"))
        #expect(try scratch.mode("home/.local/state/nwpath/events.jsonl") == "640 nobody")
        process.signal(SIGTERM)
        let outcome = Service.outcome(of: process)
        #expect(outcome.code == 0)
        LiveJSON.check(log: scratch.file("home/.local/state/nwpath/events.jsonl"))
        let addresses = "unix:\(scratch.file("run"))/nwpath/api.sock, 127.0.0.1:8353, [::1]:8353"
        #expect(outcome.output.contains("listening on \(addresses)\n"))
    }

    /// Where the dynamic linker found the Swift libraries of this process.
    private static var libraries: String {
        let maps = (try? Command.run(["grep", "-o", "/.*/libswiftCore.so", "/proc/\(getpid())/maps"])) ?? ""
        return maps.lines.first.map { String($0.dropLast("/libswiftCore.so".count)) } ?? ""
    }

    @Test func `every line of the log is valid`() async throws {
        try Uplink.make()
        let scratch = try Scratch()
        try scratch.write("log:\n  level: debug\n", to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        try Uplink.connect()
        try await service.eventually("path.changed")
        try Namespace.current.ipBatch([
            "link set up0 mtu 1400", "addr add 2001:db8::2/64 dev up0 nodad", "link set peer0 down",
            "link add br0 type bridge", "link set br0 up", "link del br0", "link del up0",
        ])
        try await service.eventually("interface.removed")
        service.process.signal(SIGHUP)
        try await service.eventually("config.reloaded")
        try scratch.write("log:\n  level: loud\n", to: "nwpath.yaml")
        service.process.signal(SIGHUP)
        try await service.eventually("config.rejected")
        let schema = try service.eventSchema()
        _ = service.stop()
        try #require(try service.records("route.changed").count > 0)
        let check = Place.root + "/Tests/EventLogTests/Fixtures/check_events.py"
        let result = try Place.python([check, schema, service.log])
        #expect(result.hasSuffix(" lines, 0 problems\n"))
    }

    @Test func `the metrics please both readers of Prometheus`() async throws {
        try Uplink.make()
        try Uplink.connect()
        let service = try await Service()
        let text = try service.get("/metrics")
        #expect(try Command.run(["promtool", "check", "metrics"], input: text) == "")
        let open = try service.get("/metrics", ["-H", "Accept: application/openmetrics-text; version=1.0.0"])
        let families = try Place.python([Place.fixtures + "/openmetrics.py"], input: open)
        #expect(families.lines.count > 30)
        // What has not happened yet is there as zero, so that increase() sees the first time.
        for sample in [
            #"nwpath_path_status_transitions_total{monitor="default",from="satisfied",to="unsatisfied"} 0"#,
            #"nwpath_events_published_total{event="log.gap"} 0"#, "nwpath_netlink_overruns_total 0",
            "nwpath_event_log_write_errors_total 0", #"nwpath_path_status{monitor="default",status="satisfied"} 1"#,
            #"nwpath_path_unsatisfied_reason{monitor="default",reason="no_carrier"} 0"#,
            "nwpath_config_last_reload_successful 1", #"nwpath_interface_up{device="up0"} 1"#,
        ] { #expect(text.contains(sample + "\n"), "\(sample)") }
    }

    @Test func `docs name every family that is exported, and no other`() async throws {
        let service = try await Service()
        let exported = try service.get("/metrics").lines.filter { $0.hasPrefix("# TYPE ") }
            .compactMap { $0.split(separator: " ").dropFirst(2).first.map(String.init) }
        let text = try Command.run(["cat", Place.root + "/docs/metrics.md"])
        let documented = text.lines.filter { $0.hasPrefix("| `") }.compactMap { line in
            line.split(separator: "`").dropFirst().first.map(String.init)
        }
        let optional: Set<String> = Set(documented.filter { $0.hasPrefix("nwpath_mdns_") })
        #expect(Set(exported).subtracting(documented) == [])
        #expect(Set(documented).subtracting(optional).subtracting(exported) == [])
    }
}
