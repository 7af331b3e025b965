// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

/// What a real service exports, sample by sample.
@Suite(.inNamespace) struct CatalogueTests {
    /// A sample: the name, its labels and its value.
    private struct Sample: Hashable {
        var name: String
        var labels: [String: String]
        var value: String
    }

    private func samples(_ text: String) -> [Sample] {
        text.lines.filter { !$0.hasPrefix("#") }.map { line in
            let end = line.lastIndex(of: " ") ?? line.endIndex
            let head = line[..<end]
            let name = head.prefix { $0 != "{" }
            let labels = head[name.endIndex...].dropFirst().dropLast().split(separator: "\",").map { pair in
                let parts = pair.split(separator: "=\"", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), String(parts.last ?? "").filter { $0 != "\"" })
            }
            let value = String(line[end...].dropFirst())
            return Sample(name: String(name), labels: Dictionary(labels) { first, _ in first }, value: value)
        }
    }

    @Test func `a family has the labels of the catalogue, and every child that can be known beforehand`() async throws {
        try Uplink.make()
        try Uplink.connect()
        let scratch = try Scratch()
        let text =
            "interfaces: {up0: {required: true}, gone0: {required: true}}\nmonitors: {wired: {required_type: wiredEthernet}}\n"
        try scratch.write(text, to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        let all = samples(try service.get("/metrics"))
        func labels(_ name: String, _ label: String, monitor: String? = "default") -> Set<String> {
            Set(
                all.filter { $0.name == name && (monitor == nil || $0.labels["monitor"] == monitor) }.map {
                    $0.labels[label] ?? ""
                }
            )
        }
        let statuses: Set<String> = ["satisfied", "unsatisfied", "requiresConnection"]
        for monitor in ["default", "wired"] {
            #expect(labels("nwpath_path_status", "status", monitor: monitor) == statuses)
            #expect(labels("nwpath_path_status_seconds_total", "status", monitor: monitor) == statuses)
            let changes = all.filter {
                $0.name == "nwpath_path_status_transitions_total" && $0.labels["monitor"] == monitor
            }
            #expect(
                changes.count == 6 && changes.allSatisfy { $0.labels["from"] != $0.labels["to"] && $0.value == "0" }
            )
            #expect(
                labels("nwpath_path_unsatisfied_reason", "reason", monitor: monitor).isSuperset(of: [
                    "no_interface", "no_carrier", "no_address", "no_default_route",
                ])
            )
            for name in ["satisfied", "expensive", "constrained", "supports_ipv4", "supports_ipv6", "supports_dns"] {
                let found = all.filter { $0.name == "nwpath_path_\(name)" && $0.labels == ["monitor": monitor] }
                #expect(found.count == 1 && ["0", "1"].contains(found.first?.value), "\(name)")
            }
        }
        let transports = labels("nwpath_event_stream_clients", "transport", monitor: nil)
        #expect(transports == ["sse", "ndjson", "longpoll", "websocket"])
        #expect(labels("nwpath_event_stream_dropped_total", "transport", monitor: nil) == transports)
        #expect(labels("nwpath_netlink_messages_total", "group", monitor: nil).count == 12)
        #expect(
            labels("nwpath_events_published_total", "event", monitor: nil).isSuperset(of: ["log.gap", "path.changed"])
        )
        // A required interface is there with 1, present or not; what is not there is not up.
        let required = all.filter { $0.name == "nwpath_interface_required" && $0.value == "1" }
        #expect(Set(required.compactMap { $0.labels["device"] }) == ["up0", "gone0"])
        #expect(labels("nwpath_interface_up", "device", monitor: nil).contains("up0"))
        #expect(!labels("nwpath_interface_up", "device", monitor: nil).contains("gone0"))
        let addresses = all.filter { $0.name == "nwpath_interface_addresses" && $0.labels["device"] == "up0" }
        #expect(addresses.count == 4)
        #expect(addresses.first { $0.labels["family"] == "ipv4" && $0.labels["scope"] == "global" }?.value == "1")
        let path = all.first { $0.name == "nwpath_path_interface_info" && $0.labels["monitor"] == "default" }
        #expect(
            path?.labels == [
                "monitor": "default", "device": "up0", "interface_type": path?.labels["interface_type"] ?? "",
                "rank": "0",
            ]
        )
        // No series holds an address of this machine, nor one sample twice.
        #expect(!all.contains { $0.labels.values.contains("192.0.2.2") })
        let names = all.map { Sample(name: $0.name, labels: $0.labels, value: "") }
        #expect(Set(names).count == names.count)
    }

    @Test func `an outage that no scrape saw is in the counters`() async throws {
        try Uplink.make()
        try Uplink.connect()
        let service = try await Service()
        for round in 1...2 {
            try Uplink.disconnect()
            try await service.eventually("path.changed", count: 2 * round - 1)
            try Uplink.connect()
            try await service.eventually("path.changed", count: 2 * round)
        }
        let all = samples(try service.get("/metrics"))
        func value(_ name: String, _ labels: [String: String]) -> Double {
            all.first { $0.name == name && $0.labels == labels.merging(["monitor": "default"]) { a, _ in a } }
                .flatMap { Double($0.value) } ?? -1
        }
        #expect(value("nwpath_path_satisfied", [:]) == 1)
        #expect(value("nwpath_path_status_seconds_total", ["status": "unsatisfied"]) > 0)
        #expect(value("nwpath_path_status_transitions_total", ["from": "satisfied", "to": "unsatisfied"]) == 2)
        #expect(value("nwpath_path_status_transitions_total", ["from": "unsatisfied", "to": "satisfied"]) == 2)
        #expect(value("nwpath_path_unsatisfied_reason", ["reason": "no_default_route"]) == 0)
        let time =
            all.first { $0.name == "nwpath_path_last_change_timestamp_seconds" }.flatMap { Double($0.value) } ?? 0
        #expect(time > 1_700_000_000)
    }

    @Test(arguments: [#"a"b\c"#, "{x}=,1", "ü日本", "<b>&amp;"])
    func `an interface may be called almost anything, and stays one name everywhere`(name: String) async throws {
        try Uplink.make()
        try Uplink.connect()
        try Namespace.current.run(["ip", "link", "set", "up0", "name", name])
        try Namespace.current.run(["ip", "link", "set", name, "up"])
        try Namespace.current.run(["ip", "route", "replace", "default", "via", "192.0.2.1"])
        let service = try await Service()
        let interfaces = try service.json("/api/v1/interfaces")["interfaces"]?.array ?? []
        #expect(interfaces.contains { $0["name"]?.string == name })
        let escaped = name.utf8.map { byte in
            let digits = String(byte, radix: 16)
            return "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
        #expect(try service.json("/api/v1/interfaces/\(escaped)")["name"]?.string == name)
        let text = try service.get("/metrics")
        #expect(try Command.run(["promtool", "check", "metrics"], input: text) == "")
        let label = name.map { $0 == "\\" || $0 == "\"" ? "\\\($0)" : "\($0)" }.joined()
        #expect(text.contains("nwpath_interface_up{device=\"\(label)\"} 1\n"))
        let stream = try service.stream("/api/v1/events?since=0", to: "sse", ["-H", "Accept: text/event-stream"])
        await Namespace.current.loop.eventually { ((try? service.scratch.text("sse")) ?? "").contains("path.snapshot") }
        withExtendedLifetime(stream) {}
        let shown = try Command.run([
            "nsenter", "--net=\(Namespace.current.path)", try Place.program, "status", "--socket", service.socket,
        ])
        #expect(shown.contains("\n  the route via \(name) and 192.0.2.1 looks fine"), "\(shown)")
        _ = service.stop()
        try expectGood(service.log)
        let snapshot = try #require(try service.records("path.snapshot").first)
        #expect(snapshot["path"]?["interfaces"]?.array?.first?["name"]?.string == name)
    }
}
