// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import Glibc

/// One query to a name server on this machine, to find out whether it answers at all.
///
/// It is for the address of `localhost`, which no server has to look up (RFC 6761 section 6.3), and does not request
/// recursion. Any answer counts; over TCP, that the connection is established. The socket is bound to the address that is
/// queried, which the kernel allows for this machine's addresses only, and its packets have a TTL or hop limit of 1.
///
/// dnsmasq answers that authoritatively and with a TTL of 0; such a server is then queried for `servers.bind` of class CHAOS,
/// where dnsmasq lists the servers that it forwards queries to. One that lists none answers by itself whatever it answers, and
/// is queried for a name that does not exist: it refuses that, unless it is configured to answer for all names.
public struct LocalServerQuery: ~Copyable {
    /// What became of it.
    public enum Outcome: Hashable, Sendable {
        case answered, refused, waiting
        /// It answers, and has no server to forward queries to.
        case withoutUpstream
        /// A router dropped the query: it was redirected to another machine (`ICMP_TIME_EXCEEDED`).
        case redirected
        /// There was no answer in time.
        case silent
    }

    /// What is known of a server from an earlier query, so that one query is enough.
    public enum Kind: Hashable, Sendable {
        /// It does not list its servers.
        case plain
        /// It lists them, as dnsmasq does.
        case listing
    }

    private enum Step {
        case localhost, servers, anyName

        var question: (name: [String], type: UInt8, `class`: UInt8) {
            switch self {
            case .localhost: (["localhost"], 1, 1)
            case .servers: (["servers", "bind"], 16, 3)
            // RFC 6761 section 6.4.
            case .anyName: (["nwpath", "invalid"], 1, 1)
            }
        }
    }

    private let socket: FileDescriptor
    private let id: UInt16
    private var step: Step
    private var hasAnswered = false
    /// What its answers show.
    public private(set) var kind: Kind?
    /// Whether it is over TCP: the outcome comes when the socket is writable, not readable.
    public let isStream: Bool

    /// Sends the query to port 53 of an address of this machine.
    ///
    /// - Parameters:
    ///   - address: An address of this machine.
    ///   - isStream: Whether the server is queried over TCP.
    ///   - kind: What is known of the server.
    /// - Throws: The kernel's error, such as `EADDRNOTAVAIL` for an address of another machine, or `EPERM` by a filter.
    public init(to address: IPAddress, isStream: Bool = false, kind: Kind? = nil) throws(Errno) {
        id = .random(in: 0 ... .max)
        self.isStream = isStream
        self.kind = kind
        step = kind == .listing ? .servers : .localhost
        let bytes = address.bytes
        let query = Self.message(id, step.question)
        let descriptor = try Errno.check(
            unsafe nwp_query_local_server(bytes, Int32(bytes.count), isStream ? 1 : 0, query, Int32(query.count))
        )
        socket = FileDescriptor(owning: descriptor)
    }

    /// The socket's number, for an event loop.
    public var descriptor: Int32 { socket.rawValue }

    private static func message(_ id: UInt16, _ question: (name: [String], type: UInt8, `class`: UInt8)) -> [UInt8] {
        let header: [UInt8] = [UInt8(id >> 8), UInt8(id & 0xFF), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        return header + question.name.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
            + [0, 0, question.type, 0, question.class]
    }

    /// What has become of it by now.
    public mutating func outcome() -> Outcome {
        if isStream {
            let state = nwp_is_connected(descriptor)
            return state > 0 ? .answered : state < 0 ? failure : .waiting
        }
        while true {
            do {
                let answer = try socket.read(upTo: 512)
                guard answer.count >= 12, answer[0] == UInt8(id >> 8), answer[1] == UInt8(id & 0xFF),
                    answer[2] & 0x80 != 0
                else { continue }
                guard let next = next(after: answer) else { continue }
                guard case .waiting = next else { return next }
                _ = try socket.write(Self.message(id, step.question).span)
            } catch {
                guard error == .again else { return hasAnswered ? atDeadline : failure }
                // A write may have reported the error, and left its description in the queue.
                return nwp_exceeded_time(descriptor) != 0 ? .redirected : .waiting
            }
        }
    }

    /// What it is once no time is left.
    public var atDeadline: Outcome {
        switch step {
        case .localhost: .silent
        case .servers: hasAnswered ? .answered : .silent
        case .anyName: .withoutUpstream
        }
    }

    private var failure: Outcome { nwp_exceeded_time(descriptor) != 0 ? .redirected : .refused }

    /// - Returns: What an answer decides; `waiting` where the next step is to be sent, `nil` where it answers an earlier one.
    private mutating func next(after answer: [UInt8]) -> Outcome? {
        let isOfStep = answer.count > 13 && answer[13] == Self.message(id, step.question)[13]
        switch step {
        case .localhost:
            guard kind == nil, isOfStep, Self.isLikeDnsmasq(answer) else { return .answered }
            (step, hasAnswered, kind) = (.servers, true, .plain)
        case .servers:
            // One to `version.bind` shows that it is there, and nothing else.
            guard isOfStep else { return hasAnswered ? nil : .answered }
            kind = Self.isText(answer) ? .listing : .plain
            guard kind == .listing, answer[41] <= 1, answer[42...].allSatisfy({ $0 == 0 }) else { return .answered }
            (step, hasAnswered) = (.anyName, true)
        case .anyName:
            guard isOfStep else { return nil }
            return answer[3] & 0x0F == 0 ? .answered : .withoutUpstream
        }
        return .waiting
    }

    /// Queries again, for `version.bind` of class CHAOS: a datagram may be lost, and a server that has no name of its own for
    /// `localhost` may wait for another one, but not for that.
    public func retry() {
        guard !isStream, !hasAnswered else { return }
        _ = try? socket.write(Self.message(id, (["version", "bind"], 16, 3)).span)
    }

    /// Whether an answer to the first query is authoritative, and its only record, behind a question of 15 bytes, has a TTL of 0.
    private static func isLikeDnsmasq(_ answer: [UInt8]) -> Bool {
        answer.count >= 43 && answer[2] & 0x04 != 0 && answer[3] & 0x0F == 0 && answer[7] == 1
            && answer[27] == 0xC0 && answer[33..<37].allSatisfy { $0 == 0 }
    }

    /// Whether an answer to the second query, whose question has 18 bytes, is one text.
    private static func isText(_ answer: [UInt8]) -> Bool {
        answer.count >= 42 && answer[3] & 0x0F == 0 && answer[7] == 1 && answer[30] == 0xC0 && answer[32] == 0
            && answer[33] == 16 && answer[40] == 0
    }

    /// Waits for the answer, but not longer than until `deadline`, as time since boot.
    public mutating func wait(until deadline: Duration) -> Outcome {
        let clock = KernelClock()
        while true {
            let outcome = outcome()
            let left = deadline - clock.boot
            guard outcome == .waiting, left > .zero else { return outcome }
            var entry = pollfd(fd: descriptor, events: Int16(isStream ? POLLOUT : POLLIN), revents: 0)
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            _ = unsafe poll(&entry, 1, Int32(clamping: milliseconds + 1))
        }
    }
}
