// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

/// Alternative names of interfaces, through the real service (rule S19).
@Suite(.inNamespace) struct AlternativeNameTests {
    private let long = "enxlongaltname00155d010203"

    private func start(_ configuration: String) async throws -> Service {
        let scratch = try Scratch()
        try scratch.write(configuration, to: "nwpath.yaml")
        return try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
    }

    private func problems(_ service: Service) throws -> [String] {
        try service.json("/api/v1/status")["problems"]?.array?.compactMap { $0["message"]?.string } ?? []
    }

    @Test func `an alternative name is a name in routes, settings and commands`() async throws {
        try Uplink.make()
        try Uplink.connect()
        try Namespace.current.ip("link property add dev up0 altname enp0s31f6 altname \(long)")
        let service = try await start(
            """
            interfaces:
              \(long):
                required: true
              "enp*":
                expensive: true
            views:
              bound:
                oif: \(long)
            """
        )
        for name in ["up0", "enp0s31f6", long] {
            let found = try service.json("/api/v1/interfaces/\(name)")
            #expect(found["name"]?.string == "up0" && found["required"]?.bool == true)
            #expect(found["is_expensive"]?.bool == false)
            #expect(found["alternative_names"]?.array?.compactMap(\.string) == ["enp0s31f6", long])
            for words in [["interfaces", name], ["wait", "interface=\(name)"], ["check", "interface", name]] {
                try Command.run([try Place.program] + words + ["--socket", service.socket])
            }
        }
        #expect(try service.code("/api/v1/interfaces/enp0s31") == "404")
        #expect(try service.json("/api/v1/paths/bound")["path"]?["status"]?.string == "satisfied")
        #expect(try problems(service) == [])
        try Namespace.current.ip("link property del dev up0 altname \(long)")
        try await service.eventually("interface.changed")
        #expect(try problems(service) == ["there is no interface \(long) (interfaces.\(long), views.bound.oif)"])
        let changed = try #require(try service.records("interface.changed").first)
        #expect(changed["changed"]?.array?.compactMap(\.string).contains("alternative_names") == true)
        #expect(changed["previous"]?["alternative_names"]?.array?.count == 2)
        // The first pattern counts now.
        #expect(try service.json("/api/v1/interfaces/up0")["is_expensive"]?.bool == true)
    }

    @Test func `an interface that the configuration names and nobody has is a problem, once`() async throws {
        let service = try await start(
            """
            interfaces:
              later0:
                required: true
              "wl*":
                required: true
            views:
              later:
                oif: later0
              never:
                oif: never0
            """
        )
        let later = "there is no interface later0 (interfaces.later0, views.later.oif)"
        #expect(try problems(service) == [later, "there is no interface never0 (views.never.oif)"])
        try Namespace.current.ip("link add later0 type bridge")
        await Namespace.current.loop.eventually("the other problem alone") {
            (try? problems(service)) == ["there is no interface never0 (views.never.oif)"]
        }
    }
}
