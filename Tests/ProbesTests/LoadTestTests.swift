// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite(.inNamespace) struct LoadTestTests {
    /// A server whose path says what it gives or takes; it prints how many bytes of a body came.
    private static let server = """
        import http.server, socketserver, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_GET(self):
                if self.path == "/large":
                    size, status = 1 << 40, 200
                    if "Range" in self.headers:
                        size, status = int(self.headers["Range"].split("-")[1]) + 1, 206
                    self.give(status, size)
                elif self.path == "/ignorant":
                    self.give(200, 1 << 40)
                elif self.path == "/medium":
                    self.give(200, 100000)
                elif self.path == "/small":
                    self.give(200, 5)
                else:
                    self.give(404, 2)
            def do_POST(self):
                if self.path != "/slurp":
                    return self.give(405, 2)
                left, room = int(self.headers["Content-Length"]), memoryview(bytearray(1 << 16))
                try:
                    while left > 0:
                        count = self.rfile.readinto(room[:min(left, 1 << 16)])
                        if not count: break
                        left -= count
                except OSError: pass
                self.close_connection = True
            def give(self, status, size):
                self.send_response(status); self.send_header("Content-Length", str(size)); self.end_headers()
                piece = b"x" * 65536
                try:
                    while size > 0:
                        self.wfile.write(piece[:size]); size -= min(size, 65536)
                except OSError:
                    self.close_connection = True
            def log_message(self, *words): pass
        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 64
        Server(("192.0.2.2", 80), Handler).serve_forever()
        """

    private final class Holder {
        var test: LoadTest?
        var result: LoadResult?
        var traffic = (sent: 0, received: 0)
    }

    private static func page(_ path: String, port: Int = 80) throws -> LoadOrder.Page {
        let address = try #require(IPAddress(ProbeNetwork.peer4))
        return LoadOrder.Page(try #require(PageAddress("http://a.test:\(port)\(path)")), at: ScopedAddress(address))
    }

    private static func order(
        _ download: String? = nil,
        _ upload: String? = nil,
        _ small: String? = "/small",
        bytes: Int = 8_000_000
    ) throws -> LoadOrder {
        var order = LoadOrder()
        order.download = try download.map { try page($0) }
        order.upload = try upload.map { try page($0) }
        order.small = try small.map { try page($0) }
        order.maximumBytes = bytes
        // Bytes end it earlier, unless the machine is busy.
        order.maximumDuration = .seconds(6)
        return order
    }

    private static func begin(_ order: LoadOrder, on loop: EventLoop) -> Holder {
        let holder = Holder()
        holder.test = LoadTest(
            order,
            loop: loop,
            report: { sent, received in
                holder.traffic.sent += sent
                holder.traffic.received += received
            },
            completion: { result in
                holder.result = result
                holder.test = nil
            }
        )
        return holder
    }

    private static func run(_ order: LoadOrder, on loop: EventLoop) async -> Holder {
        let holder = begin(order, on: loop)
        await loop.eventually("the end of the load test") { holder.result != nil }
        return holder
    }

    private static func with(_ body: (ProbeNetwork) async throws -> Void) async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(Self.server)
        try await network.waitForPort(80)
        try await body(network)
        server.signal(9)
    }

    @Test func `both ways are loaded, within the bytes, and latency is measured meanwhile`() async throws {
        try await Self.with { network in
            let holder = await Self.run(try Self.order("/large", "/slurp"), on: network.loop)
            let result = try #require(holder.result)
            #expect(result.failures == [])
            #expect(Set(result.directions.keys) == [.down, .up])
            for loaded in result.directions.values {
                #expect(loaded.megabitsPerSecond > 1)
                #expect(loaded.roundTripsPerMinute ?? 1 > 0)
            }
            #expect(try #require(result.idle) < .seconds(1))
            #expect(result.received > 800_000 && result.received < 4_500_000)
            #expect(result.sent > 800_000 && result.sent < 4_500_000)
            #expect(holder.traffic == (result.sent, result.received))
            #expect(result.duration < .seconds(8))
        }
    }

    @Test(arguments: ["/ignorant", "/medium"])
    func `a server that ignores how much is wanted is cut off, and a page that is short is asked for again`(
        path: String
    ) async throws {
        try await Self.with { network in
            let result = try #require(await Self.run(try Self.order(path), on: network.loop).result)
            #expect(result.failures == [] && Array(result.directions.keys) == [.down])
            #expect(result.received > 1_700_000 && result.received < 9_000_000)
            #expect(result.directions[.down]?.roundTrip.map { $0 < .seconds(1) } ?? true)
        }
    }

    @Test(
        arguments: [
            ("/gone", nil, "nq.download answered with status 404"),
            (nil, "/gone", "nq.upload answered with status 405"),
            ("/small", nil, "nq.download moved 5 bytes only"),
        ] as [(String?, String?, String)]
    )
    func `a page that cannot be loaded is told`(download: String?, upload: String?, failure: String) async throws {
        try await Self.with { network in
            let result = try #require(await Self.run(try Self.order(download, upload), on: network.loop).result)
            #expect(result.failures == [failure])
            #expect(result.directions.isEmpty && result.idle != nil)
        }
    }

    @Test func `what a server said before it broke the connection off is told`() async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(
            """
            import socket, struct
            server = socket.create_server(("192.0.2.2", 80))
            while True:
                client, _ = server.accept()
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(b"HTTP/1.1 413 No\\r\\n\\r\\n")
                client.close()
            """
        )
        try await network.waitForPort(80)
        let holder = Self.begin(try Self.order(nil, "/slurp", nil), on: network.loop)
        // Each turn is so late that the answer and the end are there before the first byte is sent.
        await network.loop.eventually("the end of the load test") {
            poll(nil, 0, 20)
            return holder.result != nil
        }
        #expect(holder.result?.failures == ["nq.upload answered with status 413"])
        withExtendedLifetime(server) {}
    }

    @Test func `without a small page throughput alone is measured, and one that is wrong is told`() async throws {
        try await Self.with { network in
            let order = try Self.order("/large", nil, nil)
            let result = try #require(await Self.run(order, on: network.loop).result)
            #expect(result.failures == [] && result.idle == nil)
            #expect(result.directions[.down]?.megabitsPerSecond ?? 0 > 1)
            #expect(result.directions[.down]?.roundTripsPerMinute == nil)
            let wrong = try #require(
                await Self.run(try Self.order("/large", nil, "/gone"), on: network.loop).result
            )
            #expect(wrong.failures == ["nq.small answered with status 404"])
            #expect(wrong.directions[.down]?.megabitsPerSecond ?? 0 > 1)
        }
    }

    @Test func `nobody there is told, in time`() async throws {
        let network = try ProbeNetwork()
        var order = try Self.order("/large")
        let closed = try #require(await Self.run(order, on: network.loop).result)
        #expect(closed.directions.isEmpty && closed.failures.count == 2)
        #expect(closed.failures.allSatisfy { $0.contains("onnect") || $0.contains("refused") }, "\(closed.failures)")
        try ProbeNetwork.filter(network.far, hook: "input", ["tcp dport 80 drop"])
        order.maximumDuration = .seconds(1)
        let silent = try #require(await Self.run(order, on: network.loop).result)
        #expect(silent.failures == ["nq.small: no connection in time", "nq.download: no data arrived in time"])
        #expect(silent.duration >= .milliseconds(900) && silent.duration < .seconds(3))
    }

    @Test func `a narrow line is measured, and what waits to be sent is thrown away at the end`() async throws {
        try await Self.with { network in
            let machines = [(network.near, "eth0"), (network.far, "eth1")]
            for (machine, name) in machines {
                try machine.run("tc qdisc add dev \(name) root tbf rate 8mbit burst 16k limit 600000")
            }
            var order = try Self.order("/large", "/slurp", bytes: 40_000_000)
            order.maximumDuration = .seconds(4)
            let holder = Self.begin(order, on: network.loop)
            await network.loop.eventually("the upload") { holder.traffic.sent > 50_000 }
            // A program that is started meanwhile does not keep the connections.
            let other = try RunningCommand(["sleep", "infinity"])
            defer { other.signal(SIGKILL) }
            await network.loop.eventually("the end of the load test") { holder.result != nil }
            let result = try #require(holder.result)
            #expect(result.failures == [])
            for loaded in result.directions.values {
                // Less when the machine is busy, and never more than the line carries.
                #expect((0.2...9.0).contains(loaded.megabitsPerSecond), "\(result.directions)")
            }
            #expect(result.sent > 50_000 && result.sent < 3_000_000, "\(result)")
            func sending() -> String {
                (try? network.near.run("ss -Htnpio state established state fin-wait-1 state last-ack")) ?? "unknown"
            }
            await network.loop.eventually("no connection that is still sending", found: sending()) {
                sending() == ""
            }
        }
    }

    @Test func `an encrypted load is measured, if its certificate is right`() async throws {
        let network = try ProbeNetwork()
        let folder = try Command.run(["mktemp", "-d"]).filter { !$0.isNewline }
        defer { _ = try? Command.run(["rm", "-r", folder]) }
        try Command.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=a.test", "-addext", "subjectAltName=DNS:a.test", "-keyout", "\(folder)/key.pem", "-out",
            "\(folder)/certificate.pem",
        ])
        let encryption = """
            import ssl
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain("\(folder)/certificate.pem", "\(folder)/key.pem")
            server = Server(("192.0.2.2", 443), Handler)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            server.serve_forever()
            """
        let plain = "Server((\"192.0.2.2\", 80), Handler).serve_forever()"
        let server = try network.servePython(Self.server.replacing(plain, with: encryption))
        try await network.waitForPort(443)
        var order = LoadOrder()
        let address = ScopedAddress(try #require(IPAddress(ProbeNetwork.peer4)))
        func page(_ path: String, _ authorities: String?) throws -> LoadOrder.Page {
            LoadOrder.Page(try #require(PageAddress("https://a.test\(path)")), at: address, authorities: authorities)
        }
        order.maximumBytes = 2_000_000
        order.maximumDuration = .seconds(6)
        order.download = try page("/large", "\(folder)/certificate.pem")
        order.small = try page("/small", "\(folder)/certificate.pem")
        let trusted = try #require(await Self.run(order, on: network.loop).result)
        #expect(trusted.failures == [] && trusted.directions[.down]?.megabitsPerSecond ?? 0 > 1, "\(trusted)")
        #expect(trusted.idle != nil)
        order.download = try page("/large", nil)
        order.small = nil
        let stranger = try #require(await Self.run(order, on: network.loop).result)
        #expect(stranger.directions.isEmpty && stranger.failures.count == 1)
        #expect(stranger.failures.first?.hasPrefix("nq.download: SSL") == true, "\(stranger.failures)")
        server.signal(9)
    }

    @Test func `a name is pinned to its address, an address needs none`() throws {
        let page = try #require(PageAddress("https://a.test:8443/x"))
        #expect(page.pin(to: ScopedAddress(.v4(0xC000_0202))) == "a.test:8443:192.0.2.2")
        let host = IPAddress.v6(0x2001_0DB8_0000_0000_0000_0000_0000_0002)
        #expect(page.pin(to: ScopedAddress(host)) == "a.test:8443:[2001:db8::2]")
        #expect(try #require(PageAddress("http://192.0.2.2/")).pin(to: ScopedAddress(.v4(0xC000_0202))) == "")
    }

    @Test func `requests tell what they moved, before and after their end`() async throws {
        try await Self.with { network in
            let client = PageClient(loop: network.loop)
            #expect(client.load() == nil)
            var endings: [LoadRequest.Ending] = []
            let whole = LoadRequest(
                try Self.page("/large"),
                for: .load(.down, bytes: 300_000),
                client: client,
                clock: network.loop.clock
            )
            #expect(whole.start { endings.append($1) })
            #expect(whole.delivered == 0 && !whole.isDone && whole.carried == 0)
            await network.loop.eventually("the end of a download") { !endings.isEmpty }
            #expect(endings == [.answered(status: 206)] && whole.delivered == 300_000 && whole.isDone)
            #expect(whole.carried == 300_000 && whole.traffic.received > 300_000 && whole.traffic.sent > 50)
            let upload = LoadRequest(
                try Self.page("/slurp"),
                for: .load(.up, bytes: 300_000),
                client: client,
                clock: network.loop.clock
            )
            #expect(upload.start { endings.append($1) })
            await network.loop.eventually("the end of an upload") { upload.isDone }
            // It claims to be longer than it is, so that its end is when it arrived.
            #expect(upload.delivered == 300_000 && endings.count == 1)
            upload.cancel()
            #expect(upload.delivered == 300_000 && upload.traffic.sent > 300_000 && upload.traffic.received == 0)
            let small = LoadRequest(try Self.page("/small"), for: .own, client: client, clock: network.loop.clock)
            #expect(small.start { endings.append($1) })
            #expect(small.steps.tcp == .none)
            await network.loop.eventually("a small page") { endings.count == 2 }
            guard case .took(let time) = small.steps.http else {
                Issue.record("\(small.steps)")
                return
            }
            #expect(time > .zero && time < .seconds(5) && !small.isDone)
        }
    }

    @Test func `it can be ended at any time, and tells what it moved`() async throws {
        try await Self.with { network in
            for bytes in [1, 300_000] {
                let holder = Self.begin(try Self.order("/large", "/slurp", bytes: 40_000_000), on: network.loop)
                await network.loop.eventually("some traffic") { holder.traffic.received > 0 || bytes == 1 }
                holder.test?.cancel()
                #expect(holder.result == nil)
                #expect(holder.traffic.received > 0 || bytes == 1)
                holder.test = nil
                await network.loop.eventually("no connection") {
                    (try? network.near.run("ss -Htn state established")) == ""
                }
                #expect(holder.result == nil)
            }
        }
    }
}
