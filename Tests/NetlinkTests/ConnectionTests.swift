// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport
import Testing

/// TCP connections of the running kernel, between two namespaces.
@Suite(.inNamespace) struct ConnectionTests {
    private static let client = """
        import socket, sys, time
        server = socket.create_server(("127.0.0.1", 0))
        near = socket.create_connection(server.getsockname())
        for host in sys.argv[1:]:
            far = socket.create_connection((host, 7007), timeout=5)
            far.sendall(b"hello")
            far.recv(5)
            globals()["kept" + host] = far
        print("ready", flush=True)
        time.sleep(600)
        """
    private static let server = """
        import socket, threading
        def serve(client):
            with client:
                while data := client.recv(100): client.sendall(data)
        def listen(family, address):
            server = socket.create_server((address, 7007), family=family)
            while True: threading.Thread(target=serve, args=server.accept()[:1], daemon=True).start()
        threading.Thread(target=listen, args=(socket.AF_INET6, "::"), daemon=True).start()
        print("ready", flush=True)
        listen(socket.AF_INET, "0.0.0.0")
        """

    private static func connect() throws -> Namespace {
        let far = try Namespace()
        try Namespace.current.connect("eth0", to: far, as: "eth1")
        try far.ipBatch(["address add 192.0.2.1/24 dev eth1", "address add 2001:db8::1/64 dev eth1 nodad"])
        try Namespace.current.ipBatch([
            "address add 192.0.2.10/24 dev eth0", "address add 2001:db8::10/64 dev eth0 nodad",
        ])
        try Namespace.current.waitUntilRunning("eth0")
        return far
    }

    private static func read(_ recorder: NetlinkRecorder? = nil) throws -> [TCPConnection] {
        var socket = try ConnectionSocket(recorder: recorder)
        var found: [TCPConnection] = []
        for family in AddressFamily.allCases {
            try socket.request(family)
            while try socket.read({ found.append($0) }) != .done {}
        }
        return found
    }

    @Test func `connections of both families are read with what the kernel measured, those over loopback are not`()
        async throws
    {
        let far = try Self.connect()
        let server = try PrintingProgram(python: Self.server, in: far)
        await Namespace.current.loop.eventually("the server") { server.lines == ["ready"] }
        let client = try PrintingProgram(python: Self.client, ["192.0.2.1", "2001:db8::1"])
        await Namespace.current.loop.eventually("the client") { client.lines == ["ready"] }
        let scratch = try Scratch()
        let recorder = try NetlinkRecorder(path: scratch.file("recording"))
        var ends = try ConnectionEndSocket(recorder: recorder)
        let found = try Self.read(recorder)
        let established = found.filter { $0.state == .established }
        #expect(Set(established.map(\.destination)) == [.of("192.0.2.1"), .of("2001:db8::1")], "\(found)")
        for connection in established {
            #expect(connection.destinationPort == 7007 && connection.cookie != 0 && connection.roundTrip > 0)
            #expect(connection.segments >= 1 && connection.bytesAcknowledged >= 5 && connection.segmentsReceived >= 2)
            #expect(connection.lastReceived < 60_000 && connection.timeout >= 200_000 && connection.unacknowledged == 0)
        }
        #expect(found.contains { $0.state == .listening && $0.source == .of("127.0.0.1") })

        client.kill()
        var ended: [TCPConnection] = []
        await Namespace.current.loop.eventually("both ends") {
            // A socket that listened ends likewise.
            _ = ends.read(upTo: 64) { if !$0.destination.isUnspecified { ended.append($0) } }
            return ended.count >= 2
        }
        #expect(Set(ended.map(\.destination)) == [.of("192.0.2.1"), .of("2001:db8::1")])
        #expect(ended.allSatisfy { $0.state == .closed && $0.bytesAcknowledged >= 5 })

        recorder.finish()
        let recorded = try NetlinkRecording(path: scratch.file("recording")).entries.compactMap {
            entry -> RecordedConnections? in
            if case .connections(let connections) = entry.frame { connections } else { nil }
        }
        #expect(recorded.prefix(2).map(\.source) == [.ipv4, .ipv6])
        #expect(recorded.prefix(2).flatMap(\.connections) == found)
        #expect(recorded.dropFirst(2).allSatisfy { $0.source == .ended })
        let recordedEnds = recorded.dropFirst(2).flatMap(\.connections)
        #expect(recordedEnds.filter { !$0.destination.isUnspecified } == ended)
        withExtendedLifetime((far, server)) {}
    }

    @Test func `the counters of the namespace are those of the calling thread`() throws {
        let file = try TCPCounterFile()
        let read = file.read()
        let before = try #require(read)
        #expect(before.established == 0 && before.opened == 0)
        let text = Array(
            """
            Ip: Forwarding DefaultTTL
            Ip: 1 64
            Tcp: RtoAlgorithm RtoMin ActiveOpens PassiveOpens CurrEstab InSegs OutSegs RetransSegs
            Tcp: 1 200 7 5 3 100 90 4

            """.utf8
        )
        let counters = try #require(TCPCounters(parsing: text))
        #expect(counters.opened == 12 && counters.established == 3 && counters.retransmitted == 4)
        #expect(counters.segmentsReceived == 100 && counters.segmentsSent == 90)
        #expect(TCPCounters(parsing: Array("Udp: 1\n".utf8)) == nil)
    }
}

@Suite struct ConnectionDecodingTests {
    @Test func `short and foreign messages are no connections, and whatever is cut off is nought`() {
        var body = [UInt8](repeating: 0, count: TCPConnection.headerLength)
        #expect(TCPConnection(decoding: body.span) == nil)
        (body[0], body[1]) = (2, 1)
        #expect(TCPConnection(decoding: Array(body.dropLast()).span) == nil)
        #expect(TCPConnection(decoding: body.span)?.state == .established)
        body[1] = 6
        #expect(TCPConnection(decoding: body.span) == nil)
        body[1] = 1
        // INET_DIAG_INFO of an older kernel, which ends before the newer members.
        let information = [UInt8](repeating: 1, count: 104)
        let connection = TCPConnection(decoding: (body + [108, 0, 2, 0] + information).span)
        #expect(connection?.retransmitted == 0x0101_0101 && connection?.segments == 0)
        #expect(connection?.leastRoundTrip == nil)
    }

    @Test func `addresses of IPv4 in sockets of IPv6 are those of IPv4`() {
        var body = [UInt8](repeating: 0, count: TCPConnection.headerLength)
        (body[0], body[1]) = (10, 1)
        for start in [8, 24] {
            (body[start + 10], body[start + 11], body[start + 12], body[start + 15]) = (255, 255, 192, 1)
        }
        #expect(TCPConnection(decoding: body.span)?.destination == .of("192.0.0.1"))
    }
}
