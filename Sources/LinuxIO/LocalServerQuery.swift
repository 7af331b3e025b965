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
/// where dnsmasq lists the servers that it forwards queries to. One that lists none refuses all other names.
public struct LocalServerQuery: ~Copyable {
    /// What became of it.
    public enum Outcome: Hashable, Sendable {
        case answered, refused, waiting
        /// It answers, and has no server to forward queries to.
        case withoutUpstream
    }

    private let socket: FileDescriptor
    private let id: UInt16
    /// Whether it answered, and is queried for the servers that it forwards queries to.
    public private(set) var isAnswering = false
    /// Whether it is over TCP: the outcome comes when the socket is writable, not readable.
    public let isStream: Bool

    /// Sends the query to port 53 of an address of this machine.
    ///
    /// - Parameters:
    ///   - address: An address of this machine.
    ///   - isStream: Whether the server is queried over TCP.
    /// - Throws: The kernel's error, such as `EADDRNOTAVAIL` for an address of another machine, or `EPERM` by a filter.
    public init(to address: IPAddress, isStream: Bool = false) throws(Errno) {
        id = .random(in: 0 ... .max)
        self.isStream = isStream
        let bytes = address.bytes
        let query = Self.message(id, ["localhost"], type: 1, class: 1)
        let descriptor = try Errno.check(
            unsafe nwp_query_local_server(bytes, Int32(bytes.count), isStream ? 1 : 0, query, Int32(query.count))
        )
        socket = FileDescriptor(owning: descriptor)
    }

    /// The socket's number, for an event loop.
    public var descriptor: Int32 { socket.rawValue }

    private static func message(_ id: UInt16, _ name: [String], type: UInt8, class: UInt8) -> [UInt8] {
        let header: [UInt8] = [UInt8(id >> 8), UInt8(id & 0xFF), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        return header + name.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0, 0, type, 0, `class`]
    }

    /// What has become of it by now.
    public mutating func outcome() -> Outcome {
        if isStream {
            let state = nwp_is_connected(descriptor)
            return state > 0 ? .answered : state < 0 ? .refused : .waiting
        }
        while true {
            do {
                let answer = try socket.read(upTo: 512)
                guard answer.count >= 12, answer[0] == UInt8(id >> 8), answer[1] == UInt8(id & 0xFF),
                    answer[2] & 0x80 != 0
                else { continue }
                if isAnswering { return Self.listsNothing(answer) ? .withoutUpstream : .answered }
                guard Self.isLikeDnsmasq(answer) else { return .answered }
                _ = try socket.write(Self.message(id, ["servers", "bind"], type: 16, class: 3).span)
                isAnswering = true
            } catch {
                return error == .again ? .waiting : isAnswering ? .answered : .refused
            }
        }
    }

    /// Queries again, for `version.bind` of class CHAOS: a datagram may be lost, and a server that has no name of its own for
    /// `localhost` may wait for another one, but not for that.
    public func retry() {
        guard !isStream, !isAnswering else { return }
        _ = try? socket.write(Self.message(id, ["version", "bind"], type: 16, class: 3).span)
    }

    /// Whether an answer to the first query is authoritative, and its only record, behind a question of 15 bytes, has a TTL of 0.
    private static func isLikeDnsmasq(_ answer: [UInt8]) -> Bool {
        answer.count >= 43 && answer[2] & 0x04 != 0 && answer[3] & 0x0F == 0 && answer[7] == 1
            && answer[27] == 0xC0 && answer[33..<37].allSatisfy { $0 == 0 }
    }

    /// Whether an answer to the second query, whose question has 18 bytes, is one empty string.
    private static func listsNothing(_ answer: [UInt8]) -> Bool {
        answer.count >= 42 && answer[3] & 0x0F == 0 && answer[7] == 1 && answer[30] == 0xC0 && answer[40] == 0
            && answer[41] <= 1 && answer[42...].allSatisfy { $0 == 0 }
    }

    /// Waits for the answer, but not longer than `limit`; with `retries` queries again after a third of that.
    public mutating func wait(atMost limit: Duration, retries: Bool) -> Outcome {
        guard retries else { return wait(atMost: limit) }
        let outcome = wait(atMost: limit / 3)
        guard outcome == .waiting else { return outcome }
        retry()
        return wait(atMost: limit - limit / 3)
    }

    /// Waits for the answer, but not longer than `limit`.
    public mutating func wait(atMost limit: Duration) -> Outcome {
        let clock = KernelClock()
        let deadline = clock.boot + limit
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
