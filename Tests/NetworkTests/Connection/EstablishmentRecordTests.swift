// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
@testable import Network
import Testing

@Suite struct EstablishmentRecordTests {
    private func end(_ text: String) throws -> SocketEnd {
        SocketEnd(address: try #require(RawAddress(text)), port: 80)
    }

    private func at(_ milliseconds: Int) -> Duration { .milliseconds(milliseconds) }

    private func isClose(_ seconds: Double?, _ milliseconds: Double) -> Bool {
        abs((seconds ?? -1) * 1000 - milliseconds) < 0.001
    }

    @Test func `there is no report before the connection is ready`() throws {
        var record = EstablishmentRecord()
        #expect(record.report == nil)
        record.begin(at: at(5))
        record.reach(try end("192.0.2.1"), nil)
        #expect(record.report == nil)
        record.finish([], at: at(6))
        #expect(record.report?.handshakes.isEmpty == true && record.report?.resolutions.isEmpty == true)
    }

    @Test func `only the last attempt counts, and how many there were before`() throws {
        var record = EstablishmentRecord()
        record.begin(at: at(100))
        record.lookUp(by: .unknown, at: at(100))
        record.found([try end("192.0.2.9")], isKnown: false, at: at(110))
        record.begin(at: at(350))
        record.reach(
            try end("192.0.2.1"),
            HandshakeRecord(definition: NWProtocolTCP.definition, duration: at(20), roundTrip: at(19))
        )
        let tls = HandshakeRecord(definition: NWProtocolTLS.definition, duration: at(45), roundTrip: at(21))
        record.finish([tls], at: at(420))
        let report = try #require(record.report)
        #expect(isClose(report.duration, 70) && isClose(report.attemptStartedAfterInterval, 250))
        #expect(report.previousAttemptCount == 1 && report.resolutions.isEmpty)
        #expect(report.handshakes.map(\.definition) == [NWProtocolTCP.definition, NWProtocolTLS.definition])
        #expect(isClose(report.handshakes[0].handshakeDuration, 20) && isClose(report.handshakes[0].handshakeRTT, 19))
        #expect(isClose(report.handshakes[1].handshakeDuration, 45) && isClose(report.handshakes[1].handshakeRTT, 21))
        #expect(!report.usedProxy && !report.proxyConfigured && report.proxyEndpoint == nil)
    }

    @Test func `a look-up lasts until its first answer, and prefers IPv6`() throws {
        let (four, six) = (try end("192.0.2.1"), try end("2001:db8::1"))
        var record = EstablishmentRecord()
        record.begin(at: at(0))
        record.lookUp(by: .udp, at: at(1))
        record.found([], isKnown: false, at: at(2))
        record.found([four], isKnown: false, at: at(11))
        record.found([six], isKnown: false, at: at(30))
        record.reach(four, nil)
        record.finish([], at: at(40))
        let resolution = try #require(record.report?.resolutions.first)
        #expect(isClose(resolution.duration, 10) && resolution.endpointCount == 2 && resolution.source == .query)
        #expect(resolution.successfulEndpoint == four.endpoint && resolution.preferredEndpoint == six.endpoint)
        #expect(resolution.dnsProtocol == .udp)
    }

    @Test(arguments: [true, false]) func `what was known came out of the cache`(isKnown: Bool) throws {
        var record = EstablishmentRecord()
        record.begin(at: at(0))
        record.lookUp(by: .udp, at: at(0))
        record.found([try end("192.0.2.1")], isKnown: isKnown, at: at(0))
        record.found([try end("192.0.2.2")], isKnown: !isKnown, at: at(3))
        record.reach(try end("192.0.2.1"), nil)
        record.finish([], at: at(4))
        #expect(record.report?.resolutions.first?.source == (isKnown ? .cache : .query))
    }
}

@Suite struct TransferCountsTests {
    @Test func `a report has the differences, and round trips as they are at the end`() {
        var first = TransferCounts(at: .seconds(3), received: 10, sent: 20)
        first.transport.sentBytes = 100
        first.transport.outOfOrderBytes = 2000
        first.transport.smoothedRoundTrip = .milliseconds(9)
        var last = TransferCounts(at: .seconds(5), received: 15, sent: 120)
        last.transport.sentBytes = 350
        last.transport.retransmittedBytes = 50
        last.transport.outOfOrderBytes = 1990
        last.transport.smoothedRoundTrip = .milliseconds(4)
        last.interface = NWInterface(name: "eth0", index: 2, type: .wiredEthernet)
        let report = last.report(since: first)
        let path = report.aggregatePathReport
        #expect(report.duration == 2 && report.pathReports.count == 1)
        #expect(path.receivedApplicationByteCount == 5 && path.sentApplicationByteCount == 100)
        #expect(path.sentTransportByteCount == 250 && path.retransmittedTransportByteCount == 50)
        #expect(path.receivedTransportOutOfOrderByteCount == 0 && path.transportSmoothedRTT == 0.004)
        #expect(path.interface?.name == "eth0" && path.radioType == nil)
    }

    @Test func `datagrams are counted one by one`() {
        var transport = TransferCounts.Transport()
        transport.sendDatagram(5)
        transport.sendDatagram(0)
        transport.receiveDatagram(7)
        #expect(transport.sentPackets == 2 && transport.sentBytes == 5)
        #expect(transport.receivedPackets == 1 && transport.receivedBytes == 7)
    }
}
