// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The routes and metrics of services, from real packets to what clients read.
@Suite(.inNamespace) struct ServiceRouteTests {
    private var loop: EventLoop { Namespace.current.loop }

    /// A daemon whose configuration watches services.
    private func daemon(_ scratch: Scratch, watched: String = "[]") async throws -> Service {
        try scratch.write("mdns: {watched: \(watched)}\n", to: "nwpath.yaml")
        return try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch, takesCensus: true)
    }

    private func names(_ service: Service, _ target: String) throws -> [String] {
        try service.json(target)["services"]?.array?.compactMap { $0["name"]?.string } ?? []
    }

    private func wait(_ service: Service, for count: Int) async throws {
        try await loop.eventually(within: .seconds(60), "\(count) services") {
            try names(service, "/api/v1/services").count == count
        }
    }

    @Test func `services are filtered by type, name or pattern, and interface`() async throws {
        let neighbour = try Neighbour()
        let service = try await daemon(try Scratch())
        let offers = [
            Neighbour.Offer("Office Printer", "_ipp._tcp"), Neighbour.Offer("Printer [A1:B2]", "_ipp._tcp"),
            Neighbour.Offer("Office Lamp", "_test._udp"),
        ]
        try neighbour.offer(offers, in: service.scratch)
        try await wait(service, for: 3)
        for (query, expected) in [
            ("", ["Office Printer", "Printer [A1:B2]", "Office Lamp"]), ("?type=_test._udp", ["Office Lamp"]),
            ("?type=_IPP._tcp", ["Office Printer", "Printer [A1:B2]"]), ("?type=_ssh._tcp", []),
            ("?name=Office*", ["Office Printer", "Office Lamp"]), ("?name=office%20lamp", ["Office Lamp"]),
            ("?name=Printer%20%5BA1:B2%5D", ["Printer [A1:B2]"]), ("?name=*%5B!x%5D&type=_test._udp", ["Office Lamp"]),
            ("?interface=up0&name=*Lamp", ["Office Lamp"]), ("?interface=up1", []),
        ] {
            #expect(try names(service, "/api/v1/services" + query) == expected, "\(query)")
        }
        #expect(try service.code("/api/v1/services?name=%5B") == "400")
        #expect(try service.json("/api/v1/services/types")["types"]?.array?.count == 2)
        let one = try service.json("/api/v1/services/_ipp._tcp/printer%20%5Ba1:b2%5d")
        #expect(one["services"]?[0]?["addresses"]?[0]?.string == "192.0.2.1")
    }

    @Test func `a link that no path uses takes its services along and back, without an audit`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        try scratch.write("audit_interval: 0\n", to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch, takesCensus: true)
        try neighbour.offer(["Lamp", "Radio"].map { Neighbour.Offer($0, "_test._tcp") }, in: scratch)
        try await wait(service, for: 2)
        try neighbour.namespace.set("peer0", isUp: false)
        try await wait(service, for: 0)
        try await service.eventually("services.lost")
        try neighbour.namespace.set("peer0", isUp: true)
        try await wait(service, for: 2)
        try await service.eventually("services.found")
        let records = try service.records()
        for name in ["services.lost", "services.found"] {
            let record = try #require(records.last { $0["event"]?.string == name })
            #expect(record["count"]?.int == 2 && record["interface"]?["name"]?.string == "up0")
            #expect(record["names"]?.array?.compactMap(\.string) == ["Lamp (_test._tcp)", "Radio (_test._tcp)"])
            #expect(record["types"]?.array?.compactMap(\.string) == ["_test._tcp"])
            #expect(record["cause"]?["kind"]?.string == "link")
        }
        #expect(records.count { $0["event"]?.string == "service.added" } == 2)
        #expect(records.allSatisfy { !["service.removed", "service_type.removed"].contains($0["event"]?.string) })
        let counted = "nwpath_mdns_service_removals_total{reason=\"interface_down\"} 2"
        #expect(try service.get("/metrics").lines.contains(counted))
        #expect(service.stop().code == 0)
        try await service.restart(["--config", scratch.file("nwpath.yaml")], takesCensus: true)
        try await wait(service, for: 2)
        try await service.eventually("services.found", count: 2)
        #expect(try service.records("services.found").last?["cause"]?["kind"]?.string == "initial")
        #expect(try service.records("service.added").count == 2)
    }

    @Test func `a census that finds nothing new is no event, and the status tells when it was`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        try scratch.write("mdns: {census_interval: 10s}\n", to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch, takesCensus: true)
        func answer() throws -> (last: String?, tag: String?) {
            let answer = try service.get("/api/v1/status", ["-i", "-H", "Accept: application/json"])
            let tag = answer.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("etag:") }
            let status = try JSONValue(parsing: String(answer.drop { $0 != "{" }))
            return (status["services"]?["last_census"]?.string, tag.map(String.init))
        }
        var seen: [String: String] = [:]
        try await loop.eventually(within: .seconds(120), "two censuses") {
            let (last, tag) = try answer()
            if let last { seen[last] = tag }
            return seen.count == 2
        }
        #expect(Set(seen.values).count == 2)
        #expect(try service.records("census.completed").count == 1)
        withExtendedLifetime(neighbour) {}
    }

    @Test func `what is not there is a problem that names the nearest`() async throws {
        let neighbour = try Neighbour()
        let service = try await daemon(try Scratch())
        try neighbour.offer([Neighbour.Offer("Office Printer", "_ipp._tcp")], in: service.scratch)
        try await wait(service, for: 1)
        for (path, detail) in [
            (
                "_ipp._tcp/Ofice%20Printer",
                "There is no service 'Ofice Printer' of type '_ipp._tcp'; did you mean 'Office Printer'?"
            ),
            ("_ip._tcp/x", "There is no service 'x' of type '_ip._tcp'; did you mean '_ipp._tcp'?"),
            ("_ipp._tcp/%1B%5B2J", "There is no service '\\u{1B}[2J' of type '_ipp._tcp'."),
        ] {
            let problem = try service.json("/api/v1/services/" + path)
            #expect(problem["type"]?.string == "/problems/unknown-service")
            #expect(problem["detail"]?.string == detail)
            #expect(try service.code("/api/v1/services/" + path) == "404")
        }
    }

    @Test func `a watched service is up, then missing, in the metrics and for wait`() async throws {
        let neighbour = try Neighbour()
        let service = try await daemon(
            try Scratch(),
            watched: "[_ipp._tcp/Office Printer, _hidden._tcp, _ssh._tcp/None]"
        )
        func up(_ type: String, _ name: String) throws -> String? {
            let start = "nwpath_mdns_watched_service_up{service_type=\"\(type)\",service_name=\"\(name)\"} "
            let line = try service.get("/metrics").lines.first { $0.hasPrefix(start) }
            return line.map { String($0.dropFirst(start.count)) }
        }
        #expect(try up("_ipp._tcp", "Office Printer") == "0")
        try neighbour.offer(
            [Neighbour.Offer("Office Printer", "_ipp._tcp"), Neighbour.Offer("x", "_hidden._tcp")],
            in: service.scratch
        )
        let wait = [
            "nsenter", "--net=\(Namespace.current.path)", try Place.program, "wait", "service=_ipp._tcp/Office Printer",
            "service=_hidden._tcp", "--timeout", "60s", "--socket", service.socket,
        ]
        try RunningCommand(wait, captures: true).finish()
        #expect(try up("_ipp._tcp", "Office Printer") == "1")
        #expect(try up("_hidden._tcp", "") == "1")
        #expect(try up("_ssh._tcp", "None") == "0")
        neighbour.leave()
        try await loop.eventually(within: .seconds(60), "the goodbye") { try up("_ipp._tcp", "Office Printer") == "0" }
        #expect(try up("_hidden._tcp", "") == "0")
        let goodbyes = "nwpath_mdns_service_removals_total{reason=\"goodbye\"} 2"
        #expect(try service.get("/metrics").lines.contains(goodbyes))
        #expect(try service.records("service.removed").allSatisfy { $0["removed"]?["reason"]?.string == "goodbye" })
    }

    @Test func `first moments, goodbyes and absences survive a restart`() async throws {
        let neighbour = try Neighbour()
        let service = try await daemon(try Scratch())
        func past(_ name: String) throws -> JSONValue? {
            try service.json("/api/v1/services/history?name=\(name)")["services"]?[0]
        }
        try neighbour.offer(
            [Neighbour.Offer("Lamp", "_test._tcp"), Neighbour.Offer("Guest", "_test._tcp")],
            in: service.scratch
        )
        try await wait(service, for: 2)
        let first = try #require(try past("Lamp")?["first_seen"]?.string)
        #expect(try past("Lamp")?["present"]?.bool == true)
        neighbour.leave()
        try await wait(service, for: 0)
        try neighbour.offer([Neighbour.Offer("Lamp", "_test._tcp")], in: service.scratch)
        try await wait(service, for: 1)
        #expect(service.stop().code == 0)
        neighbour.fallSilent()
        let arguments = ["--config", service.scratch.file("nwpath.yaml")]
        try await service.restart(arguments, takesCensus: true)
        #expect(try names(service, "/api/v1/services") == [])
        let gone = try #require(try past("Guest"))
        #expect(gone["removed"]?["reason"]?.string == "goodbye" && gone["present"]?.bool == false)
        #expect(gone["type"]?.string == "_test._tcp" && gone["domain"]?.string == "local")
        let lamp = try #require(try past("Lamp"))
        #expect(lamp["first_seen"]?.string == first && lamp["appearances"]?.int == 2)
        #expect(lamp["present"]?.bool == false && lamp["removed"]?.isNull == true)
        try neighbour.offer([Neighbour.Offer("Lamp", "_test._tcp")], in: service.scratch)
        try await wait(service, for: 1)
        let document = try service.json("/api/v1/services/_test._tcp/Lamp")["services"]?[0]
        #expect(document?["first_seen"]?.string == first)
        let added = try service.records("service.added").filter { $0["service"]?["name"]?.string == "Lamp" }
        #expect(added.allSatisfy { $0["service"]?["first_seen"]?.string == first })
        #expect(try service.json("/api/v1/services/history?type=_ssh._tcp")["services"]?.array == [])
    }

    @Test func `an interface with 169.254 addresses only says so, and shows its services`() async throws {
        let neighbour = try Neighbour(addresses: ("169.254.7.2/16 scope link", "169.254.7.1/16 scope link"))
        let service = try await daemon(try Scratch())
        let offer = Neighbour.Offer("Camera", "_test._tcp").with { $0.addresses = ["169.254.7.1"] }
        try neighbour.offer([offer], in: service.scratch)
        try await wait(service, for: 1)
        let interface = try service.json("/api/v1/interfaces/up0")
        #expect(interface["link_local_only"]?.bool == true)
        let list = ["nsenter", "--net=\(Namespace.current.path)", try Place.program, "interfaces", "--all"]
        let text = try RunningCommand(list + ["--socket", service.socket], captures: true).finish()
        #expect(text.lines.contains { $0.hasPrefix("up0") && $0.contains("link-local addresses only") }, "\(text)")
        try Namespace.current.ip("addr add 192.0.2.2/24 dev up0")
        try await loop.eventually("the address") {
            try service.json("/api/v1/interfaces/up0")["link_local_only"]?.bool == false
        }
        let camera = try service.json("/api/v1/services/_test._tcp/Camera")["services"]?[0]
        #expect(camera?["addresses"]?[0]?.string == "169.254.7.1")
    }
}
