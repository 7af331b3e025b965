// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// A machine that is called otherwise long after the start, as cloud-init and DHCP do it.
@Suite(.inNamespace) struct HostNameTests {
    private func setName(_ name: String, of service: Service) throws {
        try Command.run(["nsenter", "--uts=/proc/\(service.process.processID)/ns/uts", "hostname", name])
    }

    private func entityTag(_ service: Service) throws -> String {
        let head = try service.get("/api/v1/status", ["-I"]).lowercased()
        return String(try #require(head.split(separator: "\r\n").first { $0.hasPrefix("etag: ") }))
    }

    @Test func `a new name of the machine is in the documents and records from then on`() async throws {
        let start = ["unshare", "--uts", "sh", "-c", "hostname localhost; exec \"$0\" \"$@\""]
        let service = try await Service(inside: start)
        #expect(try service.json("/api/v1/status")["host"]?.string == "localhost")
        let tag = try entityTag(service)
        try setName("edge-17.example.test", of: service)
        await Namespace.current.loop.eventually("the new name") {
            (try? service.json("/api/v1/status"))?["host"]?.string == "edge-17.example.test"
        }
        // Who has the document of before gets the new one.
        #expect(try entityTag(service) != tag)
        #expect(try service.get("/-/reload", ["-X", "POST"]).contains("changed"))
        let records = try service.scratch.text("events.jsonl").lines.map { try JSONValue(parsing: $0) }
        #expect(records.first?["host"]?.string == "localhost")
        #expect(records.last?["event"]?.string == "config.reloaded")
        #expect(records.last?["host"]?.string == "edge-17.example.test")
        // A name that is set to what it is changes nothing.
        let last = try entityTag(service)
        try setName("edge-17.example.test", of: service)
        service.process.signal(SIGHUP)
        await Namespace.current.loop.eventually("the reload") {
            ((try? service.scratch.text("events.jsonl")) ?? "").lines.last { $0.contains("config.reloaded") } != nil
        }
        #expect(try entityTag(service).hasSuffix("n1\"") && last.hasSuffix("n1\""))
        let outcome = service.stop()
        #expect(outcome.code == 0)
        #expect(
            outcome.output.contains("nwpath: host name changed to 'edge-17.example.test'"),
            "\(outcome.output)"
        )
    }
}
