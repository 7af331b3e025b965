// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// Another program has port 5353 for itself: named by the daemon and the commands, and over by itself.
@Suite(.inNamespace) struct TakenPortTests {
    private var loop: EventLoop { Namespace.current.loop }

    /// Takes the port as a program does that does not share it.
    private func holder(_ scratch: Scratch) async throws -> RunningCommand {
        let code = """
            import socket, time
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 5353))
            open("\(scratch.file("held"))", "w").close(); time.sleep(600)
            """
        let inside = ["nsenter", "--net=\(Namespace.current.path)", "python3", "-c", code]
        let holder = try RunningCommand(inside)
        await loop.eventually("the port") { scratch.exists("held") }
        return holder
    }

    @Test func `the daemon tells who has it, and that it is free again`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let holder = try await holder(scratch)
        let service = try await Service([], in: scratch, takesCensus: true)
        try await service.eventually("mdns.port_taken")
        let event = try #require(try service.records("mdns.port_taken").first)
        #expect(event["port"]?["family"]?.string == "ipv4" && event["port"]?["holder"]?["name"]?.string == "python3")
        let process = try #require(event["port"]?["holder"]?["process"]?.int)
        let sentence =
            "UDP port 5353 is used exclusively by python3 (process \(process)): "
            + "no multicast DNS over IPv4"
        #expect(event["message"]?.string == sentence)
        let problems = try service.json("/api/v1/status")["problems"]?.array ?? []
        #expect(problems.contains { $0["part"]?.string == "services" && $0["message"]?.string == sentence })
        let metrics = try service.get("/metrics")
        #expect(metrics.contains("nwpath_mdns_port_available{family=\"ipv4\"} 0\n"))
        #expect(metrics.contains("nwpath_mdns_port_available{family=\"ipv6\"} 1\n"))
        holder.signal(SIGKILL)
        // Tried again every ten seconds.
        try await service.eventually("mdns.port_free")
        #expect(try service.json("/api/v1/status")["problems"]?.array?.isEmpty == true)
        #expect(try service.get("/metrics").contains("nwpath_mdns_port_available{family=\"ipv4\"} 1\n"))
        try neighbour.offer([Neighbour.Offer("Lamp", "_lamp._tcp")], in: scratch)
        try await service.eventually("service.added")
        #expect(try service.records("mdns.port_taken").count == 1)
    }

    @Test func `a command says why it hears nothing`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let holder = try await holder(scratch)
        let script = "exec \"$@\" 2> \(scratch.file("err"))"
        let inside = ["nsenter", "--net=\(Namespace.current.path)", "sh", "-c", script, "sh", try Place.program]
        let browse = try RunningCommand(inside + ["browse", "_lamp._tcp", "--timeout", "300ms"])
        #expect(browse.wait() == 1)
        let lines = try scratch.text("err").lines
        #expect(lines.first?.hasPrefix("nwpath: UDP port 5353 is used exclusively by python3 (process ") == true)
        #expect(lines.last == "nwpath: no services were found")
        withExtendedLifetime((holder, neighbour)) {}
    }
}
