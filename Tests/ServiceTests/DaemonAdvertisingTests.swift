// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

/// `mdns.advertise`: what the daemon offers, as its neighbours see it.
@Suite(.inNamespace) struct DaemonAdvertisingTests {
    private var loop: EventLoop { Namespace.current.loop }

    private func start(_ items: String..., in scratch: Scratch) async throws -> Service {
        try write(items, in: scratch)
        return try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch, takesCensus: true)
    }

    private func write(_ items: [String], in scratch: Scratch) throws {
        let text = items.isEmpty ? "" : "mdns:\n  advertise:\n" + items.map { "    - \($0)\n" }.joined()
        try scratch.write(text, to: "nwpath.yaml")
    }

    /// Starts python-zeroconf on the other end; what it hears goes to a file of the scratch directory.
    private func browse(_ type: String, at neighbour: Neighbour, _ scratch: Scratch) throws -> RunningCommand {
        let python = try PythonEnvironment.python.get()
        let script = "exec \(python) \(Place.fixtures)/browse.py \(type) > \(scratch.file("seen"))"
        return try neighbour.run(["sh", "-c", script])
    }

    private func seen(_ scratch: Scratch) -> [String] { ((try? scratch.text("seen")) ?? "").lines }

    @Test func `python-zeroconf sees it come, change by a reload, and go with a goodbye`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let service = try await start("{name: Box, type: _door._tcp, port: 8353, txt: {path: /a}}", in: scratch)
        let browser = try browse("_door._tcp", at: neighbour, scratch)
        await loop.eventually("the service") { seen(scratch).contains { $0.hasPrefix("added Box 8353 192.0.2.2") } }
        #expect(seen(scratch).first?.hasSuffix(" path=/a") == true)

        try write(
            [
                "{name: Box, type: _door._tcp, port: 9999, txt: {path: /b}}", "{name: Two, type: _door._tcp, port: 2}",
            ],
            in: scratch
        )
        service.process.signal(SIGHUP)
        await loop.eventually("the change and the second") {
            seen(scratch).contains { $0.hasPrefix("updated Box 9999") && $0.hasSuffix(" path=/b") }
                && seen(scratch).contains { $0.hasPrefix("added Two 2 ") }
        }
        #expect(!seen(scratch).contains("removed Box"), "what changes in place does not go meanwhile")

        try write(["{name: Box, type: _door._tcp, port: 9999, txt: {path: /b}}"], in: scratch)
        service.process.signal(SIGHUP)
        await loop.eventually("the goodbye of the second") { seen(scratch).last == "removed Two" }
        #expect(service.stop().code == 0)
        await loop.eventually("the goodbye of the first") { seen(scratch).last == "removed Box" }
        withExtendedLifetime(browser) {}
    }

    @Test func `the daemon's own endpoint is found and scraped by way of another daemon's census`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        try write(["{type: _prometheus-http._tcp, port: 18354, txt: {path: /metrics}}"], in: scratch)
        try scratch.write("insecure: true\n" + (try scratch.text("nwpath.yaml")), to: "nwpath.yaml")
        let service = try await Service(
            [
                "--config", scratch.file("nwpath.yaml"), "--listen", "192.0.2.2:18354", "--listen",
                "unix:" + scratch.file("api.sock"),
            ],
            in: scratch,
            takesCensus: true
        )
        let other = DaemonFiles(in: try Scratch())
        let listen = ["--listen", "unix:" + other.socket]
        let watcher = try neighbour.run([try Place.program, "serve"] + DaemonFiles.options(in: other.scratch) + listen)
        func ask(_ words: [String]) throws -> String {
            LiveJSON.check(try neighbour.run(["curl", "-s"] + words, captures: true).finish())
        }
        let url = "http://localhost/api/v1/sd/prometheus?type=_prometheus-http._tcp"
        func targets() -> [JSONValue] {
            guard let text = try? ask(["--unix-socket", other.socket, url]),
                let list = try? JSONValue(parsing: text)
            else { return [] }
            return list.array ?? []
        }
        await loop.eventually("the target") { targets().count == 1 }
        let target = try #require(targets().first)
        #expect(target["targets"]?[0]?.string == "192.0.2.2:18354")
        let path = try #require(target["labels"]?["__metrics_path__"]?.string)
        let metrics = try ask(["http://192.0.2.2:18354\(path)"])
        #expect(metrics.contains("nwpath_mdns_name_conflicts_total 0\n"), "the counter is there from the start")
        withExtendedLifetime((service, watcher, other)) {}
    }

    @Test func `P12: another host has the name: told, counted, and remembered over a restart`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let rival = ["advertise", "Box", "_door._tcp", "1", "--host", "a", "--address", "192.0.2.1", "--json"]
        let script = "exec \"$@\" > \(scratch.file("rival"))"
        let first = try neighbour.run(["sh", "-c", script, "sh", try Place.program] + rival)
        await loop.eventually("the rival") { ((try? scratch.text("rival")) ?? "").contains("registered") }
        let service = try await start("{name: Box, type: _door._tcp, port: 2}", in: scratch)
        try await service.eventually("mdns.name_conflict")
        let conflict = try #require(try service.records("mdns.name_conflict").first)
        #expect(conflict["severity"]?.string == "warning")
        #expect(conflict["conflict"]?["name"]?.string == "Box._door._tcp.local")
        #expect(conflict["conflict"]?["interface"]?["name"]?.string == "up0")
        #expect(conflict["conflict"]?["renamed_to"]?.string == "Box (2)._door._tcp.local")
        #expect(try service.get("/metrics").contains("nwpath_mdns_name_conflicts_total 1\n"))
        #expect(try scratch.text("names.json").contains("Box (2)._door._tcp.local"))
        #expect(service.stop().code == 0)
        try expectGood(service.log)

        // The rival is still there: a daemon that had forgotten would dispute the name again.
        let browser = try browse("_door._tcp", at: neighbour, scratch)
        try await service.restart(["--config", scratch.file("nwpath.yaml")], takesCensus: true)
        await loop.eventually("the name of before") { seen(scratch).contains { $0.hasPrefix("added Box (2) 2 ") } }
        #expect(try service.records("mdns.name_conflict").count == 1)
        withExtendedLifetime((first, browser)) {}
    }

    @Test func `a watched type that a reload adds is asked for at once`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let service = try await start(in: scratch)
        try await service.eventually("census.completed")
        // Announced by nobody who enumerates types: it is found only because somebody asks for its type.
        let script = "import socket,struct,sys\n" + Self.quietResponder
        let rare = try neighbour.run(["python3", "-c", script])
        try scratch.write("mdns: {watched: [_rare._tcp]}\n", to: "nwpath.yaml")
        service.process.signal(SIGHUP)
        try await loop.eventually("the watched service") {
            try service.get("/metrics").contains(
                "nwpath_mdns_watched_service_up{service_type=\"_rare._tcp\",service_name=\"\"} 1\n"
            )
        }
        // The next census would have been a minute after the first.
        #expect(try service.records("census.completed").count == 1)
        withExtendedLifetime(rare) {}
    }

    /// Answers questions for `_rare._tcp`, and nothing else; announces nothing.
    private static let quietResponder = """
        def name(*labels): return b"".join(bytes([len(l)]) + l for l in labels) + b"\\0"
        kind = name(b"_rare", b"_tcp", b"local")
        box, host = name(b"Box", b"_rare", b"_tcp", b"local"), name(b"a", b"local")
        def record(owner, type, data): return owner + struct.pack("!HHIH", type, 1, 120, len(data)) + data
        answer = struct.pack("!HHHHHH", 0, 0x8400, 0, 4, 0, 0) + record(kind, 12, box) + record(
            box, 33, struct.pack("!HHH", 0, 0, 7) + host) + record(box, 16, b"\\0") + record(host, 1, bytes([192, 0, 2, 1]))
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("224.0.0.251", 5353))
        mreq = socket.inet_aton("224.0.0.251") + socket.inet_aton("192.0.2.1")
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, mreq)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("192.0.2.1"))
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
        while True:
            data = s.recv(9000)
            if data[2] & 0x80 == 0 and b"\\x05_rare\\x04_tcp" in data: s.sendto(answer, ("224.0.0.251", 5353))
        """
}
