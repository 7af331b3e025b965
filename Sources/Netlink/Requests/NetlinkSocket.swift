// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import CNetlink
internal import LinuxIO

/// Owns a libnl socket and the buffer that datagrams are read into.
@safe struct NetlinkSocket: ~Copyable {
    enum Received {
        /// A datagram of the kernel: its first `count` bytes are in the buffer.
        case datagram(count: Int, groups: UInt32)
        /// A datagram longer than the buffer, or one that another process sent (rule S8): not to be used.
        case truncated, foreign
        /// Nothing, because of a positive errno: `EAGAIN` when there is nothing, `ENOBUFS` after an overrun.
        case nothing(Errno)
    }

    private let raw: OpaquePointer
    private var buffer: [UInt8]
    let descriptor: Int32

    /// Opens a socket in the network namespace of the calling thread.
    /// - Parameters:
    ///   - family: The NETLINK_* protocol.
    ///   - capacity: How many bytes a datagram may have.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    init(family: Int32, capacity: Int) throws(NetlinkError) {
        guard let raw = unsafe nl_socket_alloc() else { throw .noSocket(step: "nl_socket_alloc", code: 12) }
        guard unsafe nl_connect(raw, family) >= 0 else {
            let reason = Errno.current
            unsafe nl_socket_free(raw)
            throw .noSocket(step: "nl_connect", code: reason.rawValue)
        }
        unsafe self.raw = raw
        buffer = [UInt8](repeating: 0, count: capacity)
        descriptor = unsafe nl_socket_get_fd(raw)
        // Kernels too old for one of these answer less strictly or in fewer words.
        for option in [NETLINK_GET_STRICT_CHK, NETLINK_EXT_ACK, NETLINK_CAP_ACK] {
            _ = nwp_netlink_option(descriptor, option, 1)
        }
    }

    deinit { unsafe nl_socket_free(raw) }

    /// The number that messages to this socket are addressed to.
    var port: UInt32 { unsafe nl_socket_get_local_port(raw) }

    /// What the last datagram holds.
    @_lifetime(borrow self)
    borrowing func bytes(_ count: Int) -> Span<UInt8> { buffer.span.extracting(0..<count) }

    func send(_ message: [UInt8]) throws(Errno) {
        var message = message
        let count = Int32(message.count)
        let code = unsafe message.withUnsafeMutableBytes { unsafe nl_sendto(raw, $0.baseAddress, Int(count)) }
        guard code >= 0 else { throw .current }
    }

    mutating func receive(waiting: Bool) -> Received {
        var origin = nwp_netlink_origin()
        let count = unsafe buffer.withUnsafeMutableBytes {
            unsafe nwp_netlink_receive(descriptor, $0.baseAddress, $0.count, waiting ? 0 : 1, &origin)
        }
        if count < 0 { return .nothing(Errno(Int32(count))) }
        if origin.port != 0 { return .foreign }
        if origin.truncated != 0 { return .truncated }
        return .datagram(count: count, groups: origin.groups)
    }

    /// Makes a read give up after a while.
    borrowing func limitWaiting(to limit: Duration) throws(NetlinkError) {
        let code = nwp_receive_timeout(descriptor, limit.nanoseconds)
        guard code >= 0 else { throw .noSocket(step: "SO_RCVTIMEO", code: -code) }
    }

    /// Sends a request, and passes type and body of each message of the answer.
    /// - Returns: `false` when what was dumped changed meanwhile (`NLM_F_DUMP_INTR`).
    @discardableResult
    mutating func exchange(
        _ question: Question,
        sequence: UInt32,
        each: (UInt16, Span<UInt8>) -> Void
    ) throws(NetlinkError) -> Bool {
        let request = MessageType(rawValue: question.type)
        do { try send(question.message(sequence: sequence)) } catch {
            throw .refused(request: request, code: error.rawValue, detail: nil)
        }
        var answer = AnswerReader(sequence: sequence, question: question)
        while true {
            switch receive(waiting: true) {
            case .foreign: continue
            case .truncated: throw .malformedAnswer(request: request)
            case .nothing(.again): throw .timedOut(request: request)
            case .nothing(let code): throw .refused(request: request, code: code.rawValue, detail: nil)
            case .datagram(let count, _):
                let end = try answer.read(bytes(count)) { type, body in
                    each(type, body)
                    return true
                }
                if end != .more { return answer.isConsistent }
            }
        }
    }
}
