// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public enum NameReply: Hashable, Sendable {
    case silent
    /// The addresses of the name, or none.
    case addresses([IPAddress])
    /// So many bytes of strings, or none; `isCut` says that more would have come over a connection.
    case text(bytes: Int, isCut: Bool)
    /// There is no such name (NXDOMAIN).
    case noSuchName
    /// It failed, refused, or its answer cannot be read; the text is the name of the response code.
    case failed(String)

    init?(_ reply: NameQuery.Reply) {
        switch reply {
        case .foreign: return nil
        case .unreadable: self = .failed("a malformed response")
        case .refused(code: 3): self = .noSuchName
        case .refused(let code): self = .failed(Self.name(of: code))
        case .addresses(let addresses, _): self = .addresses(addresses)
        case .text(let count, let isCut): self = .text(bytes: count, isCut: isCut)
        }
    }

    /// The name of a response code (RFC 1035 section 4.1.1).
    private static func name(of code: UInt16) -> String {
        switch code {
        case 1: "FORMERR"
        case 2: "SERVFAIL"
        case 4: "NOTIMP"
        case 5: "REFUSED"
        default: "code \(code)"
        }
    }
}

public struct DNSServerResult: Hashable, Sendable {
    /// The replies, in the order of the questions.
    public var replies: [NameReply]
    /// How long each took from its first datagram; `nil` for silence.
    public var durations: [Duration?]
    /// Whether the kernel has no route to the server.
    public var isUnreachable = false
    /// Whether this machine was too busy to receive answers, so that silence says nothing.
    public var isDelayed = false
}

/// Sends a name server several queries at once, by datagrams of which each is repeated twice.
///
/// It sends at most three copies of each.
package struct DNSServerProbe: Probe {
    /// A name, and the record that is wanted.
    package struct Question: Hashable, Sendable {
        package var name: String
        package var record: ServerQuestion.Record

        package init(_ name: String, _ record: ServerQuestion.Record = .a) {
            self.name = name
            self.record = record
        }
    }

    /// When copies of a query are sent; the first may be lost.
    static let copies: [Duration] = [.zero, .milliseconds(450), .milliseconds(900)]

    private let server: SocketAddress
    private let route: ProbeRoute
    private let limit: Duration
    private let queries: [NameQuery?]
    /// When the first datagram was about to leave: what comes before is this machine's own time.
    private var sent = Duration.zero
    package private(set) var bytesReceived = 0
    package private(set) var result: DNSServerResult

    /// A question about what is no domain name counts as failed; silence counts as one after the limit.
    package init(
        _ server: SocketAddress,
        _ questions: [Question],
        route: ProbeRoute = ProbeRoute(),
        limit: Duration = .milliseconds(2500)
    ) {
        self.server = server
        self.route = route
        self.limit = limit
        queries = questions.map { NameQuery($0.name, record: $0.record) }
        let replies = queries.map { $0 == nil ? NameReply.failed("no domain name") : .silent }
        result = DNSServerResult(replies: replies, durations: queries.map { _ in nil })
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return [.open(.datagram(to: server, route)), .timeout(after: limit)]
        case .opened:
            sent = now.boot
            let copies = Self.copies.enumerated().dropFirst()
            return requests + copies.map { .schedule(at: now.boot + $1, timer: $0) }
        case .fired: return requests
        case .failed(let failure, _, .open):
            result.isUnreachable = FailureClassifier.reason(of: failure) == .unreachable
            return [.finish]
        case .received(let packet, _):
            record(packet, at: now.boot - packet.age)
            return result.replies.contains(.silent) ? [] : [.finish]
        case .timedOut(let isDelayed):
            result.isDelayed = isDelayed
            return [.finish]
        case .failed, .fault: return []
        }
    }

    private var requests: [ProbeAction] {
        let open = zip(queries, result.replies).compactMap { query, reply in reply == .silent ? query : nil }
        return open.isEmpty ? [.finish] : open.map { .send($0.bytes) }
    }

    private mutating func record(_ packet: ReceivedPacket, at time: Duration) {
        for (index, query) in queries.enumerated() where result.replies[index] == .silent {
            guard let query, let reply = NameReply(query.read(packet.bytes.span)) else { continue }
            result.replies[index] = reply
            result.durations[index] = max(.zero, time - sent)
            bytesReceived += packet.bytes.count
            return
        }
    }
}
