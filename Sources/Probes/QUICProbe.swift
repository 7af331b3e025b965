// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

package enum QUICResult: Hashable, Sendable {
    /// It answered with the versions that it speaks.
    case answered
    /// Nothing listens there, or somebody on the path says so.
    case refused
    case silent
    /// Nothing could be found out.
    case notAssessed
}

/// Queries a QUIC server (RFC 9000 section 6) with a version that no server speaks, which it answers with those it does.
///
/// Two datagrams of 1200 bytes, below which servers do not answer; no connection begins.
package struct QUICProbe: Probe {
    private let server: SocketAddress
    private let limit: Duration
    private let packet: QUICVersionQuery
    package private(set) var bytesReceived = 0
    package private(set) var result = QUICResult.silent

    package init(_ server: SocketAddress, limit: Duration = .milliseconds(1200)) {
        self.server = server
        self.limit = limit
        packet = QUICVersionQuery()
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return [.open(.datagram(to: server)), .timeout(after: limit)]
        case .opened: return [.send(packet.bytes), .schedule(at: now.boot + .milliseconds(400))]
        case .fired: return [.send(packet.bytes)]
        case .received(let received, _):
            guard packet.isAnswered(by: received.bytes.span) else { return [] }
            bytesReceived = received.bytes.count
            result = .answered
        case .failed(let failure, _, _):
            result = FailureClassifier.reason(of: failure) == .refused ? .refused : .notAssessed
        case .timedOut(let isDelayed): if isDelayed { result = .notAssessed }
        case .fault: return []
        }
        return [.finish]
    }
}

/// A long header packet of a reserved version (RFC 9000 sections 15 and 17.2).
struct QUICVersionQuery {
    private static let length = 1200
    private static let version: [UInt8] = [0x1A, 0x2A, 0x3A, 0x4A]

    /// The identifiers of the connection, which nobody can guess.
    private let destination = (0..<8).map { _ in UInt8.random(in: 0...255) }
    private let source = (0..<8).map { _ in UInt8.random(in: 0...255) }

    var bytes: [UInt8] {
        let head = [0xC0] + Self.version + [8] + destination + [8] + source
        return head + [UInt8](repeating: 0, count: Self.length - head.count)
    }

    /// Whether a packet is a Version Negotiation packet (RFC 9000 section 17.2.1) with both identifiers, turned round.
    func isAnswered(by packet: Span<UInt8>) -> Bool {
        let head: [UInt8] = [0, 0, 0, 0, 8] + source + [8] + destination
        guard packet.count >= 1 + head.count + 4, packet[0] & 0x80 != 0 else { return false }
        return head.indices.allSatisfy { packet[1 + $0] == head[$0] }
    }
}
