// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import CLinuxShims
import Glibc
import LinuxIO
import Metrics
import TestSupport
import Testing

@testable import StatusServer

@Suite(.inNamespace) struct ConnectionTests {
    @Test(arguments: ["", "GET /-/ready HT", "GET /-/ready HTTP/1.1\r\nHost: localhost\r\nX-Sl"])
    func `cuts a head that does not come to an end`(start: String) async throws {
        let fixture = try ServerFixture { $0.server.headDeadline = .milliseconds(60) }
        let client = try fixture.client()
        client.send(start)
        // The deadline is absolute: a byte now and then does not move it.
        for _ in 0..<100 where !client.isClosed {
            client.send("o")
            client.pump()
            await fixture.loop.sleep(for: .milliseconds(5))
        }
        #expect(client.isClosed)
        #expect(fixture.server.connectionCount == 0)
        #expect(fixture.metrics.contains("nwpath_http_connections_timed_out_total 1"))
    }

    @Test func `cuts a second head that does not come to an end`() async throws {
        let fixture = try ServerFixture { $0.server.headDeadline = .milliseconds(60) }
        let client = try fixture.client()
        client.get("/-/ready")
        _ = try await client.response()
        client.send("GET /-/ready HTTP/1.1\r\nX: ")
        for _ in 0..<100 where !client.isClosed {
            client.send("o")
            client.pump()
            await fixture.loop.sleep(for: .milliseconds(5))
        }
        #expect(client.isClosed)
    }

    @Test func `cuts a body that does not come to an end`() async throws {
        let fixture = try ServerFixture { $0.server.bodyDeadline = .milliseconds(60) }
        let client = try fixture.client()
        client.send("POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
        for _ in 0..<100 where !client.isClosed {
            client.send("o")
            client.pump()
            await fixture.loop.sleep(for: .milliseconds(5))
        }
        #expect(client.isClosed)
        #expect(fixture.provider.reloads == 0)
    }

    @Test func `closes a connection that is idle for too long`() async throws {
        let fixture = try ServerFixture { $0.server.idleDeadline = .milliseconds(30) }
        let client = try fixture.client()
        client.get("/-/ready")
        _ = try await client.response()
        await client.waitForClose()
    }

    @Test func `serves three hundred connections at once, on both sockets`() async throws {
        let fixture = try ServerFixture()
        let clients = try (0..<300).map { try $0.isMultiple(of: 2) ? fixture.client() : fixture.tcpClient() }
        for client in clients { client.get("/api/v1/status") }
        for client in clients {
            let response = try await client.response()
            #expect(response.status == 200)
        }
        #expect(fixture.server.connectionCount == 300)
    }

    @Test func `says so when one socket has no more room, while the other serves on`() async throws {
        let fixture = try ServerFixture { $0.server.connectionsPerListener = 4 }
        let crowd = try (0..<4).map { _ in try fixture.tcpClient() }
        await fixture.loop.eventually { fixture.server.connectionCount == 4 }
        let late = try await fixture.get("/-/ready", overTCP: true)
        #expect(late.status == 503)
        #expect(late.fields["retry-after"] == "1")
        let near = try await fixture.get("/-/ready")
        #expect(near.status == 200)
        for client in crowd { client.finishSending() }
        await fixture.loop.eventually { fixture.server.connectionCount <= 1 }
        let later = try await fixture.get("/-/ready", overTCP: true)
        #expect(later.status == 200)
    }

    @Test func `ends streams with a reason when it stops, and takes its socket away`() async throws {
        let fixture = try ServerFixture()
        let stream = try await fixture.stream()
        let idle = try fixture.tcpClient()
        let waiting = try fixture.client()
        waiting.get("/api/v1/status?wait=30s", fields: "If-None-Match: \"7f3a.1\"\r\n")
        await fixture.loop.eventually { fixture.server.connectionCount == 3 }
        var hasStopped = false
        fixture.server.stop { hasStopped = true }
        await stream.wait("the farewell") { $0.isComplete }
        #expect(stream.chunkedContent.contains("event: stream.closed\n"))
        #expect(stream.chunkedContent.contains("\"reason\":\"daemon_stopping\""))
        let answer = try await waiting.response()
        #expect(answer.status == 304)
        await idle.waitForClose()
        await fixture.loop.eventually { hasStopped }
        #expect(unsafe nwp_path_kind(fixture.path) == 0)
        #expect(throws: Errno.self) { try fixture.client() }
    }

    @Test func `stops in time although a client reads nothing`() async throws {
        let fixture = try ServerFixture { $0.server.streamSendBuffer = 4096 }
        let stalled = try fixture.tcpClient()
        stalled.shrinkReceiveBuffer()
        stalled.get("/api/v1/events")
        await fixture.loop.eventually { fixture.server.api.streams.count == 1 }
        for _ in 0..<500 { fixture.publish(padding: 1000) }
        var hasStopped = false
        fixture.server.stop(within: .milliseconds(50)) { hasStopped = true }
        await fixture.loop.eventually { hasStopped }
        #expect(fixture.server.connectionCount == 0)
    }

    @Test func `understands curl`() async throws {
        let fixture = try ServerFixture()
        let output = fixture.path + ".out"
        let command =
            "curl -s --unix-socket \(fixture.path) http://localhost/api/v1/dns > \(output).new; mv \(output).new \(output)"
        let curl = try RunningCommand(["sh", "-c", command])
        await fixture.loop.eventually { unsafe nwp_path_kind(output) == 2 }
        #expect(curl.wait() == 0)
        #expect(try Command.run(["cat", output]) == "{\"dns\":{}}\n")
        unsafe unlink(output)
    }
}

@Suite(.inNamespace) struct ListeningTests {
    private func server() throws -> StatusServer {
        try StatusServer(loop: Namespace.current.loop, provider: FakeProvider(), registry: MetricRegistry())
    }

    @Test func `listens on a unix socket that only owner and group may open`() throws {
        let fixture = try ServerFixture()
        var status = stat()
        #expect(unsafe stat(fixture.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o660)
    }

    @Test func `listens on IPv6 loopback`() async throws {
        let fixture = try ServerFixture()
        try fixture.server.listen(on: .tcp(ScopedAddress(.v6(1)), port: 0))
        guard case .tcp(_, let port) = fixture.server.addresses.last else { return #expect(Bool(false)) }
        let address = IPAddress.v6(1).bytes
        let client = try RawClient(port: port, address: address, loop: fixture.loop)
        client.send("GET /-/ready HTTP/1.1\r\nHost: [::1]:\(port)\r\n\r\n")
        let response = try await client.response()
        #expect(response.status == 200)
    }

    @Test func `replaces a socket file that nobody serves`() async throws {
        let scratch = try Scratch()
        let path = scratch.file("socket")
        let raw = unsafe nwp_unix_listen(path, 0o600, 1)
        try #require(raw >= 0)
        close(raw)
        let server = try server()
        // A child that another test is just starting may hold a copy of the socket until it runs its program.
        await Namespace.current.loop.eventually("the socket to be free") {
            (try? server.listen(on: .unix(path: path))) != nil
        }
        #expect(server.addresses == [.unix(path: path)])
    }

    @Test func `names who serves a unix socket already`() throws {
        let fixture = try ServerFixture()
        let server = try server()
        let error = #expect(throws: StatusServerError.self) { try server.listen(on: .unix(path: fixture.path)) }
        #expect(error?.description.contains("(process \(getpid()))") == true)
    }

    @Test func `names who has a TCP port already`() throws {
        let fixture = try ServerFixture()
        let server = try server()
        let address = ListenAddress.tcp(ScopedAddress(.v4(0x7F00_0001)), port: fixture.port)
        let error = #expect(throws: StatusServerError.self) { try server.listen(on: address) }
        #expect(error?.description.contains("127.0.0.1:\(fixture.port): in use by ") == true)
    }

    @Test func `does not touch a path that is no socket`() throws {
        let scratch = try Scratch()
        let path = scratch.file("socket")
        try Command.run(["touch", path])
        let server = try server()
        #expect(throws: StatusServerError.pathTaken(path: path)) { try server.listen(on: .unix(path: path)) }
        #expect(unsafe nwp_path_kind(path) == 2)
    }

    @Test func `says what is wrong with a path or an address`() throws {
        let server = try server()
        let path = "/nonexistent/nwpath.sock"
        #expect(throws: StatusServerError.noDirectory(path: path)) { try server.listen(on: .unix(path: path)) }
        let foreign = ListenAddress.tcp(ScopedAddress(.v4(0xC000_0201)), port: 8353)
        #expect(throws: StatusServerError.addressNotAvailable(address: "192.0.2.1:8353")) {
            try server.listen(on: foreign)
        }
        let long = "/tmp/" + String(repeating: "a", count: 200)
        #expect(throws: StatusServerError.failed(address: "unix:\(long)", errno: Errno(ENAMETOOLONG))) {
            try server.listen(on: .unix(path: long))
        }
        #expect(throws: StatusServerError.permissionDenied(address: "unix:/sys/nwpath.sock")) {
            try server.listen(on: .unix(path: "/sys/nwpath.sock"))
        }
    }

    @Test(arguments: [
        ("unix:/run/nwpath/api.sock", true), ("127.0.0.1:8353", true), ("[::1]:8353", true), ("0.0.0.0:80", false),
        ("[fe80::1%eth0]:8353", false),
    ])
    func `reads addresses and writes them back`(text: String, isLocal: Bool) throws {
        let address = try #require(ListenAddress(text))
        #expect(address.description == text)
        #expect(address.isLocal == isLocal)
    }

    @Test(arguments: [
        "", "unix:", "unix:relative", "8353", ":8353", "::1:8353", "[127.0.0.1]:1", "localhost:80", "1.2.3.4:99999",
    ])
    func `refuses what is no address`(text: String) {
        #expect(ListenAddress(text) == nil)
    }
}

@Suite(.inNamespace) struct AdmissionTests {
    @Test func `refused connections are counted`() async throws {
        let fixture = try ServerFixture { $0.server.connectionsPerListener = 2 }
        #expect(fixture.metrics.contains("nwpath_http_connections_refused_total 0\n"))
        let crowd = try (0..<2).map { _ in try fixture.tcpClient() }
        await fixture.loop.eventually { fixture.server.connectionCount == 2 }
        for number in 1...3 {
            let late = try await fixture.get("/-/ready", overTCP: true)
            #expect(late.status == 503 && late.fields["content-type"] == "application/problem+json")
            #expect(late.body.contains("Too many connections; try again soon."))
            #expect(fixture.metrics.contains("nwpath_http_connections_refused_total \(number)\n"))
        }
        // A refusal is no request: no route was asked.
        #expect(!fixture.metrics.contains("code=\"503\""))
        withExtendedLifetime(crowd) {}
    }

    @Test(arguments: [false, true])
    func `there is one limit for all sockets of a kind, and the other kind has its own`(overTCP: Bool) async throws {
        let fixture = try ServerFixture { $0.server.connections = 3 }
        let crowd = try (0..<3).map { _ in try overTCP ? fixture.tcpClient() : fixture.client() }
        await fixture.loop.eventually { fixture.server.connectionCount == 3 }
        #expect(try await fixture.get("/-/ready", overTCP: overTCP).status == 503)
        #expect(try await fixture.get("/-/ready", overTCP: !overTCP).status == 200)
        withExtendedLifetime(crowd) {}
    }

    @Test func `new host names and a new limit of streams count at once, and what is open stays`() async throws {
        let fixture = try ServerFixture { $0.hostNames = ["old.example"] }
        func status(_ host: String) async throws -> Int {
            let client = try fixture.tcpClient()
            client.send("GET /-/ready HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            return try await client.response().status
        }
        let streams = try [await fixture.stream(), await fixture.stream()]
        #expect(try await status("old.example") == 200)
        #expect(try await status("new.example") == 421)
        var configuration = StatusServer.Configuration()
        configuration.hostNames = ["new.example"]
        configuration.api.streams = 1
        try fixture.server.take(configuration)
        #expect(try await status("old.example") == 421)
        #expect(try await status("new.example") == 200)
        #expect(fixture.server.api.streams.count == 2)
        #expect(try await fixture.get("/api/v1/events").status == 429)
        fixture.publish()
        for stream in streams { await stream.wait("the event") { $0.chunkedContent.contains("id: 7f3a.1\n") } }
    }

    @Test(arguments: [(16_000, 200), (17_000, 431)])
    func `the limit of the head is the operator's`(size: Int, status: Int) async throws {
        let fixture = try ServerFixture { $0.server.request.head = 16_384 }
        let response = try await fixture.get("/-/ready", fields: "X: \(String(repeating: "a", count: size))\r\n")
        #expect(response.status == status)
    }

    @Test func `a refused head is counted as invalid, not under the route it named`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.tcpClient()
        client.send("GET /api/v1/dns HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        #expect(try await client.response().status == 421)
        #expect(try await fixture.get("/nowhere").status == 404)
        #expect(fixture.metrics.contains("{handler=\"invalid\",method=\"GET\",code=\"421\"} 1\n"))
        #expect(fixture.metrics.contains("{handler=\"unknown\",method=\"GET\",code=\"404\"} 1\n"))
        #expect(fixture.metrics.contains("{handler=\"/api/v1/dns\",method=\"GET\",code=\"200\"} 0\n"))
    }

    @Test func `one who stops twice is told twice, and new sockets are not served`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.tcpClient()
        var stops = 0
        fixture.server.stop { stops += 1 }
        fixture.server.stop { stops += 1 }
        await client.waitForClose()
        await fixture.loop.eventually { stops == 2 }
        #expect(throws: Errno.self) { try fixture.tcpClient() }
    }
}

@Suite(.inNamespace) struct LinkLocalTests {
    @Test func `a link-local address is listened on with its interface, and only with one that exists`() async throws {
        let fixture = try ServerFixture()
        try Namespace.current.ipBatch([
            "link add eth0 type veth peer name far", "addr add fe80::7/64 dev eth0 nodad", "link set eth0 up",
            "link set far up",
        ])
        let address = try #require(ListenAddress("[fe80::7%eth0]:0"))
        await fixture.loop.eventually("the address to be usable") { (try? fixture.server.listen(on: address)) != nil }
        #expect(fixture.server.addresses.last?.description.hasPrefix("[fe80::7%eth0]:") == true)
        let missing = try #require(ListenAddress("[fe80::7%eth7]:8353"))
        #expect(throws: StatusServerError.addressNotAvailable(address: "[fe80::7%eth7]:8353")) {
            try fixture.server.listen(on: missing)
        }
        let elsewhere = try #require(ListenAddress("[fe80::8%eth0]:8353"))
        #expect(throws: StatusServerError.addressNotAvailable(address: "[fe80::8%eth0]:8353")) {
            try fixture.server.listen(on: elsewhere)
        }
    }

    @Test(
        arguments: [
            (.addressInUse(address: "a:1", owner: "nginx (process 7)"), "a:1: in use by nginx (process 7)"),
            (.addressInUse(address: "a:1", owner: nil), "a:1: in use by another program"),
            (.pathTaken(path: "/p"), "unix:/p: the path exists and is not a socket"),
            (.permissionDenied(address: "a:1"), "a:1: permission denied"),
            (.addressNotAvailable(address: "a:1"), "a:1: no interface has this address"),
            (.noDirectory(path: "/p/q"), "unix:/p/q: the directory does not exist"),
            (.failed(address: "a:1", errno: Errno(ENOBUFS)), "a:1: No buffer space available (ENOBUFS)"),
        ] as [(StatusServerError, String)]
    )
    func `why it cannot listen is one line that names the place`(error: StatusServerError, words: String) {
        #expect(error.description == "cannot listen on \(words)")
    }

    @Test(
        arguments: [
            (EACCES, .permissionDenied(address: "a")), (EPERM, .permissionDenied(address: "a")),
            (EADDRNOTAVAIL, .addressNotAvailable(address: "a")), (EAFNOSUPPORT, .addressNotAvailable(address: "a")),
            (EMFILE, .failed(address: "a", errno: Errno(EMFILE))),
        ] as [(Int32, StatusServerError)]
    )
    func `what the kernel says is sorted by what can be done about it`(code: Int32, error: StatusServerError) {
        #expect(StatusServerError.from(Errno(code), address: "a") == error)
    }
}
