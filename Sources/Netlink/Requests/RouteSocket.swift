// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import CNetlink
internal import LinuxIO

public enum Completion: Hashable, Sendable {
    /// All of it was read; not consistent when the tables changed during a dump (`NLM_F_DUMP_INTR`).
    case done(isConsistent: Bool)
    /// The reader had enough.
    case stopped
}

/// Owns a socket for requests to rtnetlink(7); answers are read synchronously and within a time limit.
public struct RouteSocket: ~Copyable {
    private var socket: NetlinkSocket
    private var sequence: UInt32 = 0
    private var isAbandoned = false

    /// Opens a socket in the network namespace of the calling thread; it stays there.
    /// - Parameter limit: How long one read may wait for the kernel, which answers at once unless it is stuck.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init(limit: Duration = .seconds(2)) throws(NetlinkError) {
        // The kernel packs a dump into datagrams of up to 32 KiB, or as large as the largest buffer it was shown.
        try self.init(limit: limit, capacity: 65_536)
    }

    init(limit: Duration, capacity: Int) throws(NetlinkError) {
        let socket = try NetlinkSocket(family: NETLINK_ROUTE, capacity: capacity)
        _ = nwp_receive_buffer(socket.descriptor, 262_144)
        let code = nwp_receive_timeout(socket.descriptor, limit.nanoseconds)
        guard code >= 0 else { throw .noSocket(step: "SO_RCVTIMEO", code: -code) }
        self.socket = socket
    }

    /// Sends a request, and passes each message of the answer until `each` returns `false`.
    ///
    /// After a stop the rest of the answer is passed over by the next request.
    public mutating func exchange(
        _ question: Question,
        each: (UInt16, Span<UInt8>) -> Bool
    ) throws(NetlinkError) -> Completion {
        let request = MessageType(rawValue: question.type)
        if isAbandoned { throw .refused(request: request, code: Errno.again.rawValue, detail: nil) }
        sequence &+= 1
        do { try socket.send(question.message(sequence: sequence)) } catch {
            throw Self.error(error.rawValue, request, nil)
        }
        var isConsistent = true
        while true {
            switch socket.receive(waiting: true) {
            case .foreign:
                continue
            case .truncated:
                // What is missing is not known: half an answer is none.
                isAbandoned = question.isDump
                throw .malformedAnswer(request: request)
            case .nothing(.again):
                throw .timedOut(request: request)
            case .nothing(let code):
                throw Self.error(code.rawValue, request, nil)
            case .datagram(let count, _):
                var answer = AnswerReader(sequence: sequence, question: question)
                let end = try answer.read(socket.bytes(count), each: each)
                isConsistent = isConsistent && answer.isConsistent
                switch end {
                case .more: continue
                case .done: return .done(isConsistent: isConsistent)
                case .stopped:
                    isAbandoned = question.isDump && !isAtEnd()
                    return .stopped
                }
            }
        }
    }

    /// Whether nothing more than the end of a dump was left to read, which the kernel has ready by then; reads that.
    private mutating func isAtEnd() -> Bool {
        guard case .datagram(let count, _) = socket.receive(waiting: false) else { return false }
        var messages = MessageReader(socket.bytes(count))
        return messages.advance() && messages.sequence == sequence && Int32(messages.type) == NLMSG_DONE
    }

    /// Sends several requests that have one answer each, in one call; the kernel answers one after the other.
    ///
    /// - Parameters:
    ///   - batch: The questions.
    ///   - each: Called once for every question, in any order, with its index, and with its answer or a positive errno.
    /// - Throws: ``NetlinkError`` when answers are missing; what comes late is passed over by the next request.
    mutating func exchange(
        _ batch: inout QuestionBatch,
        each: (Int, Int32, Span<UInt8>) -> Void
    ) throws(NetlinkError) {
        let request = batch.type
        let first = sequence &+ 1
        sequence &+= UInt32(batch.count)
        batch.number(from: first)
        do { try socket.send(batch.bytes) } catch { throw Self.error(error.rawValue, request, nil) }
        var isMissing = [Bool](repeating: true, count: batch.count)
        var missing = batch.count
        while missing > 0 {
            switch socket.receive(waiting: true) {
            case .foreign: continue
            // Whose answer is cut off is not known.
            case .truncated: throw .malformedAnswer(request: request)
            case .nothing(.again): throw .timedOut(request: request)
            case .nothing(let code): throw Self.error(code.rawValue, request, nil)
            case .datagram(let count, _):
                var messages = MessageReader(socket.bytes(count))
                while messages.advance() {
                    // What an earlier request left behind is passed over, and so is a second answer.
                    let position = Int(messages.sequence &- first)
                    guard Int32(messages.type) != NLMSG_NOOP, position < batch.count, isMissing[position] else {
                        continue
                    }
                    isMissing[position] = false
                    missing -= 1
                    let isError = Int32(messages.type) == NLMSG_ERROR
                    let code = isError ? -Int32(truncatingIfNeeded: messages.body.index(at: 0)) : 0
                    each(position, isError && code == 0 ? Errno.invalid.rawValue : code, messages.body)
                }
                if messages.isMalformed { throw .malformedAnswer(request: request) }
            }
        }
    }

    /// Whether a dump was stopped in the middle: the socket is then used up, and a new one is cheaper than the rest.
    public var isUsedUp: Bool { isAbandoned }

    static func error(_ code: Int32, _ request: MessageType, _ detail: String?) -> NetlinkError {
        Errno(code) == .notPermitted
            ? .notPermitted(request: request) : .refused(request: request, code: code, detail: detail)
    }
}

struct AnswerReader {
    enum End { case more, done, stopped }

    let sequence: UInt32
    let question: Question
    private(set) var isConsistent = true

    mutating func read(
        _ datagram: Span<UInt8>,
        each: (UInt16, Span<UInt8>) -> Bool
    ) throws(NetlinkError) -> End {
        let request = MessageType(rawValue: question.type)
        var messages = MessageReader(datagram)
        while messages.advance() {
            // What an earlier request left behind is passed over.
            guard messages.sequence == sequence else { continue }
            if messages.flags & UInt16(NLM_F_DUMP_INTR) != 0 { isConsistent = false }
            switch Int32(messages.type) {
            case NLMSG_DONE, NLMSG_ERROR:
                let code = -Int32(truncatingIfNeeded: messages.body.index(at: 0))
                guard code == 0 else {
                    throw RouteSocket.error(code, request, Self.detail(messages.body, type: messages.type))
                }
                return .done
            case NLMSG_NOOP:
                continue
            default:
                guard each(messages.type, messages.body) else { return .stopped }
                if !question.isDump && question.flags & Question.acknowledge == 0 { return .done }
            }
        }
        if messages.isMalformed { throw .malformedAnswer(request: request) }
        return .more
    }

    /// The kernel's explanation (`NLMSGERR_ATTR_MSG`), which follows the code and, in an error, the header it is about.
    static func detail(_ body: Span<UInt8>, type: UInt16) -> String? {
        var attributes = AttributeReader(body, from: Int32(type) == NLMSG_ERROR ? 20 : 4)
        while attributes.advance() {
            if attributes.kind == Int(NLMSGERR_ATTR_MSG.rawValue) { return attributes.text }
        }
        return nil
    }
}
