// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import CNetlink
internal import LinuxIO

/// Owns a socket that reads all TCP connections of a network namespace (sock_diag(7)); needs no privilege.
///
/// Connections over loopback are left out by the kernel. A dump comes in many datagrams, each made when the one before was
/// read: whoever reads one at a time is never held up for long.
public struct ConnectionSocket: ~Copyable {
    public enum Progress: Hashable, Sendable {
        /// There is more to read.
        case more
        /// The connections of this family were read.
        case done
        /// Nothing can be read now.
        case waiting
    }

    private var socket: NetlinkSocket
    private var sequence: UInt32 = 0
    private var family = AddressFamily.ipv4
    private var question: Question?
    private var bodies: [[UInt8]] = []
    private let recorder: NetlinkRecorder?

    /// Opens a socket in the network namespace of the calling thread.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init(recorder: NetlinkRecorder? = nil) throws(NetlinkError) {
        socket = try NetlinkSocket(family: NETLINK_SOCK_DIAG, capacity: 65_536)
        self.recorder = recorder
    }

    /// The socket's descriptor, to be registered with an event loop.
    public var descriptor: Int32 { socket.descriptor }

    /// Begins to read the connections of a family; what is left of a dump before is passed over.
    /// - Throws: ``NetlinkError/refused(request:code:detail:)``, with `ENOENT` where the kernel has no `tcp_diag`.
    public mutating func request(_ family: AddressFamily) throws(NetlinkError) {
        let question = Question.connections(family)
        sequence &+= 1
        (self.question, self.family) = (question, family)
        bodies = []
        do { try socket.send(question.message(sequence: sequence)) } catch {
            throw .refused(request: MessageType(rawValue: question.type), code: error.rawValue, detail: nil)
        }
    }

    /// Reads one datagram of the dump, without waiting.
    /// - Throws: ``NetlinkError`` when the kernel refuses the request or the answer cannot be read.
    public mutating func read(_ each: (TCPConnection) -> Void) throws(NetlinkError) -> Progress {
        guard let question else { return .waiting }
        let request = MessageType(rawValue: question.type)
        switch socket.receive(waiting: false) {
        case .foreign: return .more
        case .truncated: throw .malformedAnswer(request: request)
        case .nothing(.again): return .waiting
        case .nothing(let code): throw .refused(request: request, code: code.rawValue, detail: nil)
        case .datagram(let count, _):
            var answer = AnswerReader(sequence: sequence, question: question)
            let isRecorded = recorder.map { $0.failure == nil } ?? false
            var bodies = bodies
            self.bodies = []
            let end = try answer.read(socket.bytes(count)) { _, body in
                if isRecorded { bodies.append(body.array) }
                if let connection = TCPConnection(decoding: body) { each(connection) }
                return true
            }
            if end == .more {
                self.bodies = bodies
                return .more
            }
            self.question = nil
            recorder?.record(RecordedConnections(source: family == .ipv4 ? .ipv4 : .ipv6, bodies: bodies))
            return .done
        }
    }
}

extension Question {
    /// `struct inet_diag_req_v2` for TCP sockets that listen, connect or are connected, except over loopback.
    fileprivate static func connections(_ family: AddressFamily) -> Question {
        let states: [TCPConnection.State] = [
            .established, .synSent, .finWait1, .closeWait, .lastAck, .listening, .closing,
        ]
        let mask = states.reduce(UInt32(0)) { $0 | 1 << UInt32($1.rawValue) }
        // IPPROTO_TCP, and the extension INET_DIAG_INFO.
        var body: [UInt8] = [family.kernelNumber, 6, 1 << 1, 0]
        body += bytes(of: mask) + [UInt8](repeating: 0, count: 48)
        var question = Question(type: 20, flags: dump, body: body)
        question.add(1, loopbackFilter(family))  // INET_DIAG_REQ_BYTECODE
        return question
    }

    /// Operations that reject loopback destinations: a condition whose match goes on to a jump past the end, which rejects.
    ///
    /// The kernel refuses conditions that reject by themselves when they match: matches must lead to the end.
    private static func loopbackFilter(_ family: AddressFamily) -> [UInt8] {
        func rejecting(_ address: IPAddress, _ length: UInt8, remaining: Int) -> [UInt8] {
            let size = 12 + address.bytes.count
            // INET_DIAG_BC_D_COND with `struct inet_diag_hostcond` of any port, and INET_DIAG_BC_JMP.
            let condition =
                [8, UInt8(size)] + bytes(of: UInt16(size + 4)) + [address.family.kernelNumber, length, 0, 0]
                + bytes(of: Int32(-1)) + address.bytes
            return condition + [1, 4] + bytes(of: UInt16(4 + remaining + 4))
        }
        let mapped = rejecting(.v4(127 << 24), 8, remaining: 0)
        return family == .ipv4 ? mapped : rejecting(.v6(1), 128, remaining: mapped.count) + mapped
    }
}

/// Owns a socket that receives each TCP connection when it ends (`SKNLGRP_INET_TCP_DESTROY`), except those over loopback;
/// needs no privilege.
public struct ConnectionEndSocket: ~Copyable {
    private var socket: NetlinkSocket
    private let recorder: NetlinkRecorder?

    /// Opens a socket in the network namespace of the calling thread.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init(recorder: NetlinkRecorder? = nil) throws(NetlinkError) {
        let socket = try NetlinkSocket(family: NETLINK_SOCK_DIAG, capacity: 4096)
        let filtered = unsafe nwp_attach_filter(socket.descriptor, Self.filter, Int32(Self.filter.count))
        guard filtered >= 0 else { throw .noSocket(step: "SO_ATTACH_FILTER", code: -filtered) }
        // SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY of linux/sock_diag.h.
        for group in [1, 3] as [Int32] {
            let code = nwp_netlink_option(socket.descriptor, NETLINK_ADD_MEMBERSHIP, group)
            guard code >= 0 else { throw .noSocket(step: "NETLINK_ADD_MEMBERSHIP", code: -code) }
        }
        self.socket = socket
        self.recorder = recorder
    }

    /// The socket's descriptor, to be registered with an event loop.
    public var descriptor: Int32 { socket.descriptor }

    /// Reads at most `limit` messages, without waiting.
    /// - Returns: How many were read.
    public mutating func read(upTo limit: Int, _ each: (TCPConnection) -> Void) -> Int {
        var ended = RecordedConnections(source: .ended, bodies: [])
        defer { if !ended.bodies.isEmpty { recorder?.record(ended) } }
        for count in 0..<limit {
            switch socket.receive(waiting: false) {
            case .datagram(let length, _):
                var messages = MessageReader(socket.bytes(length))
                while messages.advance() {
                    if recorder != nil { ended.bodies.append(messages.body.array) }
                    if let connection = TCPConnection(decoding: messages.body) { each(connection) }
                }
            // What overran the buffer is not made up for.
            case .foreign, .truncated, .nothing(.noBufferSpace): continue
            case .nothing: return count
            }
        }
        return limit
    }

    /// Drops what is about 127.0.0.0/8, ::1 and mapped loopback: the family is at byte 16, the destination at byte 40.
    private static let filter: [UInt64] = {
        func load(_ size: Int32, _ offset: UInt64) -> UInt64 { UInt64(BPF_LD | size | BPF_ABS) << 48 | offset }
        func jump(if value: UInt64, _ equal: UInt64, else other: UInt64) -> UInt64 {
            UInt64(BPF_JMP | BPF_JEQ | BPF_K) << 48 | equal << 40 | other << 32 | value
        }
        return [
            load(BPF_B, 16), jump(if: 2, 0, else: 2),
            load(BPF_B, 40), jump(if: 127, 12, else: 11),
            load(BPF_W, 40), jump(if: 0, 0, else: 9),
            load(BPF_W, 44), jump(if: 0, 0, else: 7),
            load(BPF_W, 48), jump(if: 0, 0, else: 2),
            load(BPF_W, 52), jump(if: 1, 4, else: 3),
            jump(if: 0xFFFF, 0, else: 2),
            load(BPF_B, 52), jump(if: 127, 1, else: 0),
            UInt64(BPF_RET | BPF_K) << 48 | 0xFFFF_FFFF, UInt64(BPF_RET | BPF_K) << 48,
        ]
    }()
}
