// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The real service beside real connections through a router that stops to forward them.
@Suite(.inNamespace) struct TrafficServiceTests {
    private static let hosts = ["198.51.100.7", "198.51.100.8", "203.0.113.7", "198.18.7.7"]
    private static let hosts6 = ["2001:db8:7::7", "2001:db8:8::7", "2001:db8:9::7"]

    private let scratch: Scratch
    private let router: Namespace
    private let far: Namespace
    private let server: PrintingProgram

    init() throws {
        scratch = try Scratch()
        let router = try Namespace()
        let far = try Namespace()
        try Namespace.current.connect("eth0", to: router, as: "lan0")
        try router.connect("wan0", to: far, as: "eth0")
        try Namespace.current.ipBatch([
            "address add 192.0.2.10/24 dev eth0", "address add 2001:db8::10/64 dev eth0 nodad",
            "route add default via 192.0.2.1", "route add ::/0 via 2001:db8::1",
        ])
        try router.ipBatch([
            "address add 192.0.2.1/24 dev lan0", "address add 2001:db8::1/64 dev lan0 nodad",
            "address add 10.0.0.1/30 dev wan0", "address add fd00::1/64 dev wan0 nodad",
            "route add default via 10.0.0.2", "route add ::/0 via fd00::2",
        ])
        try router.run(["sh", "-c", "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1"])
        try far.ipBatch(
            ["address add 10.0.0.2/30 dev eth0", "address add fd00::2/64 dev eth0 nodad"]
                + (Self.hosts.map { "\($0)/32" } + Self.hosts6.map { "\($0)/128" }).map { "address add \($0) dev lo" }
                + ["link set lo up", "route add default via 10.0.0.1", "route add ::/0 via fd00::1"]
        )
        try Namespace.current.waitUntilRunning("eth0")
        (self.router, self.far) = (router, far)
        server = try PrintingProgram(python: Self.serverProgram, in: far)
    }

    private static let serverProgram = """
        import socket, threading
        def serve(client):
            with client:
                while data := client.recv(100): client.sendall(data)
        def answer_to(query):
            question = query[12:query.index(0, 12) + 5]
            data = b"\\0" if question[-3] == 2 else bytes([192, 0, 2, 99])
            answer = b"\\xc0\\x0c" + question[-4:] + b"\\0\\0\\0\\x3c\\0" + bytes([len(data)]) + data
            return query[:2] + b"\\x81\\x80\\0\\1\\0\\1" + bytes(4) + question + answer
        def names():
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            server.bind(("203.0.113.7", 53))
            while True:
                query, client = server.recvfrom(512)
                server.sendto(answer_to(query), client)
        def names_by_tcp():
            server = socket.create_server(("203.0.113.7", 53))
            while True:
                client = server.accept()[0]
                with client:
                    answer = answer_to(client.recv(514)[2:])
                    client.sendall(len(answer).to_bytes(2, "big") + answer)
        for part in (names, names_by_tcp): threading.Thread(target=part, daemon=True).start()
        server = socket.create_server(("::", 7007), family=socket.AF_INET6, dualstack_ipv6=True)
        say("ready")
        while True: threading.Thread(target=serve, args=server.accept()[:1], daemon=True).start()
        """

    /// Sends a few bytes over five connections to each host five times a second, and waits for what comes back.
    private static let clientProgram = """
        import socket, sys, threading, time
        def run(peer):
            while True:
                peer.sendall(b"hello")
                peer.recv(100)
                time.sleep(0.2)
        for peer in [socket.create_connection((host, 7007)) for host in sys.argv[1:] * 5]:
            threading.Thread(target=run, args=(peer,)).start()
        say("open")
        """

    private func client(_ hosts: [String]) async throws -> PrintingProgram {
        await Namespace.current.loop.eventually("the server") { server.lines == ["ready"] }
        let client = try PrintingProgram(python: Self.clientProgram, hosts)
        await Namespace.current.loop.eventually("connections") { client.lines == ["open"] }
        return client
    }

    private func service(_ configuration: String = "") async throws -> Service {
        try scratch.write("nameserver 203.0.113.7\n", to: "resolv.conf")
        let names = "dns: {resolv_conf: \(scratch.file("resolv.conf"))}\n"
        try scratch.write(names + configuration, to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch, connectivity: "local")
        try await Namespace.current.loop.eventually("connections that are read") {
            try service.json("/api/v1/traffic")["state"]?.string == "proved"
        }
        return service
    }

    private func cut(_ match: String = "") throws {
        try router.run(["nft", "add table inet cut; add chain inet cut c {type filter hook forward priority 0;}"])
        try router.run(["nft", "add rule inet cut c \(match) counter drop"])
    }

    private func mend() throws { try router.run(["nft", "delete table inet cut"]) }

    @Test func `a router that stops to forward is reported, named and shown everywhere, and so is the end`()
        async throws
    {
        let client = try await client(Self.hosts)
        let service = try await service()
        try await Namespace.current.loop.eventually("online") {
            try service.json("/api/v1/status")["headline"]?["state"]?.string == "online"
        }
        let document = try service.json("/api/v1/traffic")
        #expect(document["connections"]?.int == 20 && document["unanswered"]?.int == 0, "\(document)")
        let path = try #require(document["paths"]?.array?.first)
        #expect(path["gateway"]?.string == "192.0.2.1" && path["interface"]?["name"]?.string == "eth0")
        #expect(path["destinations"]?.int == 3 && document["paths"]?.array?.count == 1)
        #expect(path["groups"]?.array?.contains { $0["addresses"] != nil } == false)
        let addresses = try service.json("/api/v1/traffic?addresses=true")["paths"]?.array?.first?["groups"]?.array
        #expect(addresses?.contains { $0["addresses"]?.array == [.string("203.0.113.7")] } == true)

        try cut()
        try await service.eventually("traffic.stalled")
        let stalled = try #require(try service.records("traffic.stalled").first)
        #expect(stalled["traffic"]?["scope"]?.string == "path" && stalled["severity"]?.string == "warning")
        #expect(stalled["traffic"]?["gateway"]?.string == "192.0.2.1" && stalled["traffic"]?["destination"] == .null)
        try await service.eventually("verdict.raised")
        let verdict = try #require(try service.records("verdict.raised").first)["verdict"]
        #expect(verdict?["code"]?.string == "traffic.stalled", "\(String(describing: verdict))")
        let sentence = "20 of 20 connections through 192.0.2.1 on eth0 unanswered"
        #expect(verdict?["message"]?.string?.hasPrefix(sentence) == true)
        let headline = try service.json("/api/v1/status")["headline"]
        #expect(headline?["state"]?.string == "no_internet", "\(String(describing: headline))")
        let labels = #"{device="eth0",gateway="192.0.2.1",family="ipv4",range="public"}"#
        let metrics = try service.get("/metrics")
        #expect(metrics.contains("nwpath_traffic_stalled\(labels) 1\n"))
        #expect(metrics.contains("nwpath_traffic_connections\(labels) 20\n"))
        let samples = metrics.lines.filter { $0.hasPrefix("nwpath_traffic_") }
        #expect(samples.count >= 8 && !samples.contains { $0.contains("203.0.113") || $0.contains("198.51.100") })

        try mend()
        try await service.eventually("traffic.resumed")
        let resumed = try #require(try service.records("traffic.resumed").first)
        #expect(resumed["duration_seconds"]?.double ?? 0 > 0.3)
        try await service.eventually("verdict.cleared")
        try await Namespace.current.loop.eventually("online") {
            try service.json("/api/v1/status")["headline"]?["state"]?.string == "online"
        }
        let accused = try service.records("traffic.stalled").filter { $0["traffic"]?["destination"] != .null }
        #expect(accused.isEmpty, "\(accused)")
        let history = try service.json("/api/v1/traffic/history")["steps"]?.array
        #expect(history?.contains { $0["stalled"]?.bool == true } == true)
        let report = try Place.python([
            Place.root + "/Tests/EventLogTests/Fixtures/check_events.py", try service.eventSchema(), service.log,
        ])
        #expect(report.contains(" 0 problems"))
        withExtendedLifetime(client) {}
    }

    @Test func `one destination that is gone is reported alone, and IPv6 apart from IPv4`() async throws {
        let client = try await client(Self.hosts + Self.hosts6)
        let service = try await service("diagnosis: {enabled: false}\n")
        try cut("ip daddr 198.51.100.0/24")
        try await service.eventually("traffic.stalled")
        let one = try #require(try service.records("traffic.stalled").first)["traffic"]
        #expect(one?["destination"]?.string == "198.51.100.0/24" && one?["scope"]?.string == "destination")
        #expect(try service.json("/api/v1/status")["headline"]?["state"]?.string == "online")
        try mend()
        try await service.eventually("traffic.resumed")

        try cut("meta nfproto ipv6")
        try await Namespace.current.loop.eventually("another one") {
            try service.records("traffic.stalled").count == 2
        }
        let six = try #require(try service.records("traffic.stalled").last)["traffic"]
        #expect(six?["family"]?.string == "ipv6" && six?["scope"]?.string == "path", "\(String(describing: six))")
        try await Namespace.current.loop.eventually("degraded") {
            try service.json("/api/v1/status")["headline"]?["state"]?.string == "degraded"
        }
        #expect(try service.records("verdict.raised").isEmpty)
        withExtendedLifetime(client) {}
    }

    @Test(arguments: ["", "diagnosis: {anchors: [{name: far, addr4: 203.0.113.7}]}\n"])
    func `a destination that is gone is a verdict, also where connections prove the path`(text: String) async throws {
        let client = try await client(Self.hosts)
        let service = try await service(text)
        if !text.isEmpty {
            try await Namespace.current.loop.eventually("a round without a fault") {
                let document = try service.json("/api/v1/diagnosis")
                return document["complete"]?.bool == true && document["verdicts"]?.array == []
            }
        }
        for count in 1...2 {
            try cut("ip daddr 198.51.100.0/24")
            try await service.eventually("verdict.raised", count: count)
            try mend()
            try await service.eventually("verdict.cleared", count: count)
        }
        let codes = try service.records("verdict.raised").map { $0["verdict"]?["code"]?.string }
        #expect(codes == ["traffic.destination-stalled", "traffic.destination-stalled"])
        withExtendedLifetime(client) {}
    }

    @Test func `while connections prove the path, rounds are left out`() async throws {
        let client = try await client(Self.hosts + Self.hosts6)
        let service = try await service("diagnosis: {interval: 10s, anchors: [{name: far, addr4: 203.0.113.7}]}\n")
        var (rounds, since) = ("0", Namespace.current.loop.clock.boot)
        try await Namespace.current.loop.eventually("fifteen seconds without a round, after one") {
            let now = try service.get("/metrics").lines.first { $0.hasPrefix("nwpath_diagnosis_rounds_total ") } ?? ""
            if now != rounds { (rounds, since) = (String(now), Namespace.current.loop.clock.boot) }
            return !rounds.hasSuffix(" 0") && Namespace.current.loop.clock.boot - since >= .seconds(15)
        }
        withExtendedLifetime(client) {}
    }

    @Test func `where packets leave without a gateway, the headline follows connections as well`() async throws {
        try Namespace.current.ipBatch(["route replace default dev eth0"])
        try router.run(["sh", "-c", "sysctl -qw net.ipv4.conf.lan0.proxy_arp=1"])
        let client = try await client(Self.hosts)
        let service = try await service("diagnosis: {enabled: false}\n")
        func eventually(_ state: String) async throws {
            try await Namespace.current.loop.eventually("\(state)") {
                try service.json("/api/v1/status")["headline"]?["state"]?.string == state
            }
        }
        try await eventually("online")
        try cut()
        try await eventually("no_internet")
        try scratch.write("traffic: {enabled: false}\n", to: "nwpath.yaml")
        service.process.signal(SIGHUP)
        try await service.eventually("traffic.unknown")
        withExtendedLifetime(client) {}
    }

    @Test func `where connections cannot be read, that is said, and nothing else of them`() async throws {
        let client = try await client([Self.hosts[0]])
        let wrapper = ["python3", Place.fixtures + "/without_netlink.py", "--protocol=4"]
        let service = try await Service(in: scratch, inside: wrapper)
        try await Namespace.current.loop.eventually("the problem") {
            try service.json("/api/v1/traffic")["problem"] != .null
        }
        let document = try service.json("/api/v1/traffic")
        let problem = try #require(document["problem"]?.string)
        #expect(problem.hasPrefix("TCP connections cannot be read: "))
        #expect(
            document["sampled"] == .null && document["state"]?.string == "unknown" && document["paths"]?.array == []
        )
        let shown = try service.json("/api/v1/status")["problems"]?.array
        #expect(shown?.contains { $0["part"]?.string == "traffic" && $0["message"]?.string == problem } == true)
        func run(_ words: String...) throws -> Outcome {
            let inside = ["nsenter", "--net=\(Namespace.current.path)"]
            let program = [try Place.program] + words + ["--socket", service.socket]
            return Service.outcome(of: try RunningCommand(inside + program, captures: true))
        }
        #expect(try run("traffic").output == "? \(problem)\n")
        let check = try run("check", "traffic")
        #expect(check.code == 3 && check.output.contains(problem), "\(check)")
        withExtendedLifetime(client) {}
    }

    @Test func `with traffic off nothing is read, and it can be turned on again`() async throws {
        let client = try await client([Self.hosts[0]])
        try scratch.write("traffic: {enabled: false}\n", to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        let document = try service.json("/api/v1/traffic")
        #expect(document["enabled"]?.bool == false && document["state"]?.string == "unknown")
        #expect(document["sampled"] == .null && document["connections"]?.int == 0)
        try scratch.write("traffic: {enabled: true}\n", to: "nwpath.yaml")
        service.process.signal(SIGHUP)
        try await Namespace.current.loop.eventually("connections that are read") {
            try service.json("/api/v1/traffic")["connections"]?.int == 5
        }
        withExtendedLifetime(client) {}
    }
}
