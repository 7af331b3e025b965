// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// Where the pictures of the documentation go (`make screenshots`); `nil` takes none.
private let pictures: String? = unsafe getenv("NWPATH_TEST_SCREENSHOTS").map { unsafe String(cString: $0) }

/// The pictures of the documentation: the real service on an office network, 23 days after its first start.
@Suite(.inNamespace, .enabled(if: pictures != nil)) struct PictureTests {
    private let office: Neighbour
    private let scratch: Scratch
    private var servers: [RunningCommand] = []
    private var far: Namespace { office.namespace }

    init() async throws {
        office = try Neighbour(link: "eth0", addresses: ("192.168.7.23/24", "192.168.7.1/24"))
        scratch = try Scratch()
        try Namespace.current.ipBatch([
            "addr add 2001:db8:7::23/64 dev eth0 nodad", "route replace default via 192.168.7.1",
            "route replace ::/0 via 2001:db8:7::1",
        ])
        try far.ipBatch([
            "link set lo up", "addr add 2001:db8:7::1/64 dev peer0 nodad", "addr add 203.0.113.80/32 dev lo",
        ])
        try scratch.write("nameserver 192.168.7.1\nsearch lan\n", to: "resolv.conf")
        servers = [try page(), try names()]
        let far = far
        try await Namespace.current.loop.eventually("the servers") {
            try far.run("ss -Hltn sport = :80").contains(":80") && far.run("ss -Hlun sport = :53").contains(":53")
        }
    }

    /// A web server as far away as one on the Internet.
    private func page() throws -> RunningCommand {
        let server = """
            import http.server, time
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    time.sleep(0.011)
                    self.send_response(200); self.end_headers()
                def log_message(self, *words): pass
            http.server.HTTPServer(("203.0.113.80", 80), Handler).serve_forever()
            """
        return try office.run(["python3", "-c", server])
    }

    private func names() throws -> RunningCommand {
        try office.run([
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-hosts", "--no-resolv", "--user=root",
            "--pid-file=", "--listen-address=192.168.7.1", "--bind-interfaces", "--address=/example.com/203.0.113.80",
        ])
    }

    private func start() async throws -> Service {
        let now = Namespace.current.loop.clock.wall
        try scratch.write(Past.log(at: now, host: "office-7", days: 23), to: "events.jsonl")
        let usual = [
            (name: "website", method: "http", target: "http://example.com/", microseconds: 11_000),
            (name: "gateway", method: "icmp", target: "gateway", microseconds: 400),
            (name: "names", method: "dns", target: "example.com", microseconds: 900),
        ]
        try scratch.write(Past.probes(usual, at: now), to: "probes.jsonl")
        let probe = "interval: 1s, timeout: 500ms, threshold: 2"
        let configuration = """
            probes:
              active:
                website: {target: "http://example.com/", \(probe)}
                gateway: {target: gateway, \(probe)}
                names: {target: example.com, method: dns, \(probe)}

            """
        try scratch.write(configuration, to: "nwpath.yaml")
        let script = "hostname office-7; mount --bind \(scratch.file("resolv.conf")) /etc/resolv.conf; exec \"$@\""
        return try await Service(
            [
                "--config", scratch.file("nwpath.yaml"), "--listen", Browser.address,
                "--listen", "unix:" + scratch.file("api.sock"),
            ],
            in: scratch,
            hasForeignPast: true,
            takesCensus: true,
            inside: ["unshare", "--mount", "--uts", "sh", "-ec", script, "sh"]
        )
    }

    private func offer() throws {
        func offer(
            _ name: String,
            _ type: String,
            _ host: String,
            _ address: Int,
            _ port: Int,
            _ text: String = ""
        )
            -> Neighbour.Offer
        {
            Neighbour.Offer(name, type).with {
                $0.host = Array(host.utf8)
                $0.addresses = ["192.168.7.\(address)"]
                $0.port = port
                $0.text = text.isEmpty ? [] : [Array(text.utf8)]
            }
        }
        try office.offer(
            [
                offer("Reception Printer", "_ipp._tcp", "reception-printer", 40, 631, "ty=HP LaserJet M507"),
                offer("Label Printer", "_ipp._tcp", "label-printer", 41, 631, "ty=Brother QL-820NWB"),
                offer("Meeting Room", "_airplay._tcp", "meeting-room", 51, 7000),
                offer("Meeting Room Speaker", "_raop._tcp", "meeting-room", 51, 7001),
                offer("nas", "_smb._tcp", "nas", 10, 445), offer("nas", "_ssh._tcp", "nas", 10, 22),
                offer("nas admin", "_http._tcp", "nas", 10, 5000, "path=/"),
                offer("Wiki", "_http._tcp", "wiki", 12, 80, "path=/"), offer("build-2", "_ssh._tcp", "build-2", 20, 22),
                offer("Thermostat", "_hap._tcp", "thermostat", 61, 51827, "md=Thermo 3"),
            ],
            in: scratch
        )
    }

    @Test func `the documentation shows a network as people have one`() async throws {
        let service = try await start()
        try offer()
        try await Namespace.current.loop.eventually(within: .seconds(60), "all services") {
            try service.json("/api/v1/services")["services"]?.array?.count == 10
        }
        let browser = try Browser("pictures", in: scratch)
        try await browser.look(at: "Online")
        try far.ip("addr del 203.0.113.80/32 dev lo")
        try await browser.look(at: "No Internet")
        try far.set("peer0", isUp: false)
        try await browser.look(at: "Offline")
        try browser.finish()
        withExtendedLifetime((service, servers)) {}
    }
}
