// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

/// SIGHUP and `POST /-/reload`.
@Suite(.inNamespace) struct ReloadTests {
    private func start(_ configuration: String) async throws -> Service {
        let scratch = try Scratch()
        try scratch.write(configuration, to: "nwpath.yaml")
        let arguments = ["--config", scratch.file("nwpath.yaml"), "--listen", "127.0.0.1:18356"]
        return try await Service(arguments, in: scratch)
    }

    private func reload(_ service: Service) throws -> JSONValue {
        try JSONValue(parsing: try service.curl(["-X", "POST", "http://localhost/-/reload"]))
    }

    @Test func `a good configuration takes effect at once`() async throws {
        try Uplink.make()
        try Uplink.connect()
        let service = try await start("")
        #expect(try service.json("/api/v1/paths")["paths"]?.array?.count == 1)
        try service.scratch.write(
            """
            interfaces:
              up0:
                expensive: true
            monitors:
              wired:
                required_type: wiredEthernet
            log:
              level: debug
              keep: 9
            limits:
              max_streams: 1
            """,
            to: "nwpath.yaml"
        )
        let answer = try reload(service)
        let changed = answer["changed"]?.array?.compactMap(\.string) ?? []
        #expect(changed == ["log.level", "log.keep", "interfaces.up0", "monitors.wired", "limits.max_streams"])
        #expect(answer["restart_needed"]?.array?.isEmpty == true)
        try await service.eventually("path.changed")
        #expect(try service.json("/api/v1/status")["path"]?["is_expensive"]?.bool == true)
        #expect(try service.json("/api/v1/paths/wired")["path"]?["status"]?.string == "satisfied")
        try Uplink.disconnect()
        try await service.eventually("route.changed")
        let first = try service.stream("/api/v1/events?since=1", to: "first", ["-H", "Accept: text/event-stream"])
        await Namespace.current.loop.eventually { ((try? service.scratch.text("first")) ?? "").contains("data:") }
        #expect(try service.code("/api/v1/events", ["-H", "Accept: text/event-stream"]) == "429")
        withExtendedLifetime(first) {}
        #expect(try service.records("config.reloaded").count == 1)
        #expect(try service.get("/metrics").contains("nwpath_config_last_reload_successful 1\n"))
    }

    @Test(arguments: [true, false])
    func `a bad configuration is refused with its place, and the old one stays`(bySignal: Bool) async throws {
        let service = try await start("log:\n  keep: 7\n")
        try service.scratch.write("log:\n  kep: 8\n", to: "nwpath.yaml")
        let line = service.scratch.file("nwpath.yaml") + ":2:3: unknown key 'kep' in log (did you mean 'keep'?)"
        if bySignal {
            service.process.signal(SIGHUP)
        } else {
            let answer = try reload(service)
            #expect(answer["type"]?.string == "/problems/config-invalid" && answer["status"]?.int == 400)
            #expect(answer["detail"]?.string == line)
        }
        try await service.eventually("config.rejected")
        let event = try #require(try service.records("config.rejected").first)
        #expect(event["config"]?["errors"]?.array?.compactMap(\.string) == [line])
        #expect(try service.get("/metrics").contains("nwpath_config_last_reload_successful 0\n"))
        #expect(try service.json("/api/v1/config")["log"]?["keep"]?.int == 7)
        let problem = try service.json("/api/v1/status")["problems"]?.array?.first
        #expect(problem?["part"]?.string == "configuration" && problem?["message"]?.string?.contains(line) == true)
        try service.scratch.write("log:\n  keep: 8\n", to: "nwpath.yaml")
        service.process.signal(SIGHUP)
        try await service.eventually("config.reloaded")
        #expect(try service.json("/api/v1/config")["log"]?["keep"]?.int == 8)
        #expect(try service.json("/api/v1/status")["problems"]?.array?.isEmpty == true)
        #expect(service.stop().output.lines.contains("nwpath: \(line)"))
    }

    @Test func `what needs a restart is said every time until then`() async throws {
        let service = try await start("")
        try service.scratch.write("mdns:\n  census_interval: 5m\ndns:\n  resolv_conf: /etc/other\n", to: "nwpath.yaml")
        for _ in 0..<2 {
            let needed = try reload(service)["restart_needed"]?.array?.compactMap(\.string)
            #expect(needed == ["dns.resolv_conf", "mdns.census_interval"])
        }
        #expect(try service.json("/api/v1/config")["dns"]?["resolv_conf"]?.string == "/etc/resolv.conf")
    }

    @Test func `only the unix socket may reload`() async throws {
        let service = try await start("")
        let words = ["nsenter", "--net=\(Namespace.current.path)", "curl", "-s", "-X", "POST"]
        let answer = try JSONValue(
            parsing: LiveJSON.check(try Command.run(words + ["http://127.0.0.1:18356/-/reload"]))
        )
        #expect(answer["status"]?.int == 403 && answer["type"]?.string == "/problems/unauthorized")
        #expect(try service.records("config.reloaded").isEmpty)
    }
}
