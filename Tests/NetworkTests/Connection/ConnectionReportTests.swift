// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// Reports of connections over a cable that is too slow for what is sent.
@Suite(.inNamespace) struct ConnectionReportTests {
    private typealias Establishment = NWConnection.EstablishmentReport
    private typealias Transfer = NWConnection.DataTransferReport

    private let here = Namespace.current
    private let loop = Namespace.current.loop
    private let peer: Namespace
    private let queue = DispatchQueue(label: "reports")

    init() throws {
        peer = try Namespace()
        try here.connect("a1", to: peer, as: "b1")
        try here.ip("addr add 10.78.1.1/24 dev a1")
        try peer.ip("addr add 10.78.1.2/24 dev b1")
    }

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    private func connected(
        _ parameters: NWParameters = .tcp,
        server: NWParameters? = nil
    ) async throws -> (Watched, WatchedListener) {
        let listener = try WatchedListener(server ?? parameters)
        let port = await listener.start(in: peer)
        let client = Watched(to: "10.78.1.2", port, parameters).start()
        await eventually("ready, but \(client.state)") { client.state == .ready }
        return (client, listener)
    }

    private func establishment(_ connection: NWConnection) async -> [Establishment?] {
        let reports = Record<Establishment?>()
        let queue = queue
        connection.requestEstablishmentReport(queue: queue) { report in
            dispatchPrecondition(condition: .onQueue(queue))
            reports.append(report)
        }
        await eventually("a report") { !reports.values.isEmpty }
        return reports.values
    }

    private func collect(_ pending: NWConnection.PendingDataTransferReport) async throws -> Transfer {
        let reports = Record<Transfer>()
        let queue = queue
        pending.collect(queue: queue) { report in
            dispatchPrecondition(condition: .onQueue(queue))
            reports.append(report)
        }
        await eventually("a report") { !reports.values.isEmpty }
        #expect(reports.values.count == 1)
        return try #require(reports.values.first)
    }

    // MARK: - Establishment

    @Test func `a handshake of TCP lasts as long as its packets are under way`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start(in: peer)
        let (filler, sink) = try await connected(.udp)
        // At 2,000 bytes a second the second datagram waits for two thirds of a second, and the handshake behind it.
        try here.run("tc qdisc add dev a1 root tbf rate 16kbit burst 1600 limit 100000")
        for _ in 0..<2 { filler.send(String(repeating: "x", count: 1400)) }
        let client = Watched(to: "10.78.1.2", port).start()
        await eventually("ready") { client.state == .ready }
        let report = try #require(await establishment(client.connection).first ?? nil)
        #expect(report.duration >= 0.2 && report.attemptStartedAfterInterval == 0)
        #expect(report.previousAttemptCount == 0 && report.resolutions.isEmpty && !report.usedProxy)
        let handshake = try #require(report.handshakes.first)
        #expect(report.handshakes.count == 1 && handshake.definition == NWProtocolTCP.definition)
        #expect(handshake.handshakeDuration >= 0.2 && handshake.handshakeRTT >= 0.2)
        #expect(handshake.handshakeDuration <= report.duration)
        withExtendedLifetime(sink) {}
    }

    @Test func `TLS upon TCP has a handshake of its own`() async throws {
        let certificates = try Certificates.shared.get()
        let (client, listener) = try await connected(
            certificates.client { sec_protocol_options_set_tls_server_name($0, "localhost") },
            server: try certificates.server(.server) { _ in }
        )
        let report = try #require(await establishment(client.connection).first ?? nil)
        #expect(report.handshakes.map(\.definition.name) == ["tcp", "tls"])
        let tls = try #require(report.handshakes.last)
        #expect(tls.handshakeRTT > 0 && tls.handshakeDuration >= tls.handshakeRTT)
        #expect(report.duration >= report.handshakes.map(\.handshakeDuration).reduce(0, +))
        await eventually("the server") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        let other = try #require(await establishment(server.connection).first ?? nil)
        #expect(other.handshakes.map(\.definition.name) == ["tls"] && other.handshakes[0].handshakeRTT == 0)
    }

    @Test func `UDP has nothing to agree on`() async throws {
        let (client, _) = try await connected(.udp)
        let report = try #require(await establishment(client.connection).first ?? nil)
        #expect(report.handshakes.isEmpty && report.duration >= 0)
    }

    @Test func `attempts that came to nothing are counted`() async throws {
        let port = NWEndpoint.Port(4711)
        let client = Watched(to: "10.78.1.2", port).start()
        await eventually("waiting") { client.state == .waiting(.posix(.ECONNREFUSED)) }
        #expect(await establishment(client.connection).map { $0 == nil } == [true])
        let parameters = NWParameters.tcp
        let listener = WatchedListener(try NWListener(using: parameters, on: port))
        _ = await listener.start(in: peer)
        client.connection.restart()
        await eventually("ready") { client.state == .ready }
        let report = try #require(await establishment(client.connection).first ?? nil)
        #expect(report.previousAttemptCount >= 1 && report.attemptStartedAfterInterval > 0)
    }

    @Test func `a name is looked up, and the address that won is told`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let client = Watched(to: "localhost", port).start()
        await eventually("ready") { client.state == .ready }
        let report = try #require(await establishment(client.connection).first ?? nil)
        let resolution = try #require(report.resolutions.first)
        #expect(report.resolutions.count == 1 && resolution.endpointCount >= 1 && resolution.duration >= 0)
        #expect(resolution.successfulEndpoint == client.connection.currentPath?.remoteEndpoint)
        #expect(resolution.source == .query && resolution.dnsProtocol == .unknown)
    }

    @Test func `there is no report of what was never ready, and there is one after the end`() async throws {
        let fresh = NWConnection(host: "10.78.1.2", port: 9, using: .tcp)
        #expect(await establishment(fresh).map { $0 == nil } == [true])
        fresh.cancel()
        #expect(await establishment(fresh).map { $0 == nil } == [true])
        let (client, _) = try await connected()
        client.connection.cancel()
        await eventually("the end") { client.state == .cancelled }
        #expect(await establishment(client.connection).map { $0 == nil } == [false])
    }

    // MARK: - Transfer

    @Test func `what went by TCP is counted from the beginning of the report`() async throws {
        let (client, listener) = try await connected()
        await eventually("the server") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        client.send("12345")
        server.receive(5)
        await eventually("the first") { server.received.values.count == 1 }
        let pending = client.connection.startDataTransferReport()
        client.send(String(repeating: "a", count: 3000))
        server.receive(3000)
        await eventually("the second") { server.received.values.count == 2 }
        server.send("thanks")
        client.receive(6)
        await eventually("thanks") { client.received.values.count == 1 }
        let report = try await collect(pending)
        let path = report.aggregatePathReport
        #expect(report.duration > 0 && report.pathReports.count == 1)
        #expect(path.sentApplicationByteCount == 3000 && path.receivedApplicationByteCount == 6)
        #expect(path.sentTransportByteCount == 3000 && path.receivedTransportByteCount == 6)
        #expect(path.retransmittedTransportByteCount == 0 && path.receivedTransportDuplicateByteCount == 0)
        #expect(path.sentIPPacketCount >= 2 && path.receivedIPPacketCount >= 2)
        #expect(path.transportMinimumRTT > 0 && path.transportSmoothedRTT >= path.transportMinimumRTT)
        #expect(path.transportRTTVariance > 0 && path.interface?.name == "a1" && path.radioType == nil)
    }

    @Test func `what is lost is sent again, and comes out of order`() async throws {
        let far = try Namespace()
        try peer.connect("c1", to: far, as: "d1")
        try peer.ip("addr add 10.79.1.1/24 dev c1")
        try far.ip("addr add 10.79.1.2/24 dev d1")
        try peer.run("sysctl -qw net.ipv4.ip_forward=1")
        try here.ip("route add 10.79.1.0/24 via 10.78.1.2")
        try far.ip("route add default via 10.79.1.1")
        // One segment a packet; the router sends a megabyte a second, and drops what does not fit into 20 ms.
        try here.ip("link set a1 gso_max_segs 1")
        try peer.run("tc qdisc add dev c1 root tbf rate 8mbit burst 16k limit 20000")
        let listener = try WatchedListener()
        let client = Watched(to: "10.79.1.2", await listener.start(in: far)).start()
        await eventually("both") { client.state == .ready && listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        let (ours, theirs) = (client.connection.startDataTransferReport(), server.connection.startDataTransferReport())
        let total = 1_000_000
        client.send(String(repeating: "a", count: total))
        server.receive(total, total)
        await eventually("all of it") { server.received.values.count == 1 }
        let sent = try await collect(ours).aggregatePathReport
        let received = try await collect(theirs).aggregatePathReport
        #expect(sent.retransmittedTransportByteCount > 0 && sent.sentApplicationByteCount == UInt64(total))
        #expect(sent.sentTransportByteCount >= UInt64(total) + sent.retransmittedTransportByteCount)
        #expect(sent.transportSmoothedRTT > 0.001 && sent.transportSmoothedRTT > sent.transportMinimumRTT)
        #expect(received.receivedTransportByteCount == UInt64(total))
        #expect(received.receivedTransportOutOfOrderByteCount > 0)
        #expect(received.receivedApplicationByteCount == UInt64(total))
    }

    @Test func `TLS makes more bytes of the transport than of the program`() async throws {
        let certificates = try Certificates.shared.get()
        let (client, listener) = try await connected(
            certificates.client { sec_protocol_options_set_tls_server_name($0, "localhost") },
            server: try certificates.server(.server) { _ in }
        )
        await eventually("the server") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        let pending = client.connection.startDataTransferReport()
        client.send("hello")
        server.receive(5)
        await eventually("hello") { server.received.values.count == 1 }
        let path = try await collect(pending).aggregatePathReport
        #expect(path.sentApplicationByteCount == 5 && path.sentTransportByteCount > 5)
    }

    @Test func `datagrams are packets`() async throws {
        let (client, listener) = try await connected(.udp)
        let pending = client.connection.startDataTransferReport()
        client.send("one")
        client.send("three")
        await eventually("the server") { listener.accepted.values.first?.state == .ready }
        let server = try #require(listener.accepted.values.first)
        server.send("answer")
        client.receiveMessage()
        await eventually("an answer") { client.received.values.count == 1 }
        let path = try await collect(pending).aggregatePathReport
        #expect(path.sentIPPacketCount == 2 && path.sentTransportByteCount == 8 && path.sentApplicationByteCount == 8)
        #expect(path.receivedIPPacketCount == 1 && path.receivedTransportByteCount == 6)
        #expect(path.transportSmoothedRTT == 0 && path.interface?.name == "a1")
    }

    @Test func `a report goes on until the connection is over, and stays as it is then`() async throws {
        let (client, listener) = try await connected()
        let pending = client.connection.startDataTransferReport()
        client.send("hello")
        client.connection.cancel()
        await eventually("the end") { client.state == .cancelled }
        let first = try await collect(pending)
        let path = first.aggregatePathReport
        #expect(path.sentApplicationByteCount == 5 && path.sentTransportByteCount == 5 && path.interface?.name == "a1")
        #expect(try await collect(pending).duration == first.duration)
        let late = try await collect(client.connection.startDataTransferReport())
        #expect(late.aggregatePathReport.sentApplicationByteCount == 0 && late.duration >= 0)
        withExtendedLifetime(listener) {}
    }

    @Test func `a connection that was not started has nothing to report, and says so once`() async throws {
        let connection = NWConnection(host: "10.78.1.2", port: 9, using: .tcp)
        let pending = connection.startDataTransferReport()
        let report = try await collect(pending)
        #expect(report.aggregatePathReport.sentIPPacketCount == 0 && report.aggregatePathReport.interface == nil)
        connection.cancel()
        #expect(try await collect(pending).aggregatePathReport.receivedApplicationByteCount == 0)
    }
}
