// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO

public enum NameReply: Hashable, Sendable {
    case silent
    /// The addresses of the name, or none.
    case addresses([IPAddress])
    /// So many bytes of strings, or none; `isCut` says that more would have come over a connection.
    case text(bytes: Int, isCut: Bool)
    /// There is no such name (NXDOMAIN).
    case noSuchName
    /// It failed, refused, or its answer cannot be read; the text is the name of its code.
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

/// What came of asking a name server several questions.
public struct NameInterviewResult: Hashable, Sendable {
    /// The replies, in the order of the questions.
    public var replies: [NameReply]
    /// How long each took from its first datagram; `nil` for silence.
    public var durations: [Duration?]
    /// How many datagrams were handed to the kernel.
    public var sent = 0
    /// How many of these a packet filter of this machine refused (`EPERM`).
    public var refused = 0
    /// Whether the kernel knows no way to the server.
    public var isUnreachable = false
    /// Whether this machine was too busy to hear answers, so that silence says nothing.
    public var isStarved = false
    /// What this machine lacks for sending, so that nothing follows from missing replies, such as `no local port is left (EAGAIN)`.
    public var shortage: String?
    /// The bytes of all questions, copies included.
    public var bytesSent = 0
    public var bytesReceived = 0
}

/// Asks a name server several questions at once, by datagrams of which each is repeated twice.
///
/// It sends at most three copies of each question. Confined to the loop's thread.
public final class NameInterview: Cancelable {
    /// A question: a name, and the record that is wanted.
    public struct Question: Hashable, Sendable {
        public var name: String
        public var record: ServerQuestion.Record

        public init(_ name: String, _ record: ServerQuestion.Record = .a) {
            self.name = name
            self.record = record
        }
    }

    /// When copies of a question are sent; the first may be lost.
    public static let copies: [Duration] = [.zero, .milliseconds(450), .milliseconds(900)]

    private let loop: EventLoop
    private let server: SocketAddress
    private let route: ProbeRoute
    private let completion: (NameInterviewResult) -> Void
    private let queries: [NameQuery?]
    private var result: NameInterviewResult
    private var socket: ProbeSocket?
    private var timers: [EventLoop.Timer] = []
    /// When the first datagram was about to leave: what comes before is this machine's own time.
    private var asked: Duration
    private var isOver = false

    /// Starts to ask.
    /// - Parameters:
    ///   - server: Whom to ask.
    ///   - questions: What to ask; one that is no domain name counts as failed.
    ///   - route: Which way the datagrams go.
    ///   - limit: When silence counts as one.
    ///   - loop: Where it goes on.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        _ server: SocketAddress,
        _ questions: [Question],
        route: ProbeRoute = ProbeRoute(),
        limit: Duration = .seconds(3),
        loop: EventLoop,
        completion: @escaping (NameInterviewResult) -> Void
    ) {
        self.loop = loop
        self.server = server
        self.route = route
        self.completion = completion
        let started = loop.clock.boot
        asked = started
        queries = questions.map { NameQuery($0.name, record: $0.record, id: .random(in: .min ... .max)) }
        let replies = queries.map { $0 == nil ? NameReply.failed("no domain name") : .silent }
        result = NameInterviewResult(replies: replies, durations: queries.map { _ in nil })
        timers = [loop.schedule(at: started) { [weak self] in self?.open() }]
        timers.append(
            loop.scheduleSilence(after: limit) { [weak self] isStarved in
                self?.result.isStarved = isStarved
                self?.finish()
            }
        )
    }

    deinit { release() }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        release()
    }

    private func open() {
        do throws(SocketFailure) {
            let socket = try ProbeSocket(.datagram, family: server.address.address.family, route: route, loop: loop)
            self.socket = socket
            try socket.connect(to: server)
            try socket.whenReady(.readable) { [weak self] _ in self?.receive() }
        } catch {
            note(error)
            result.isUnreachable = FailureClassifier.reason(of: error) == .unreachable
            return finish()
        }
        asked = loop.clock.boot
        timers += Self.copies.dropFirst().map { delay in
            loop.schedule(at: asked + delay) { [weak self] in self?.ask() }
        }
        ask()
    }

    private func ask() {
        for (index, query) in queries.enumerated() where result.replies[index] == .silent {
            guard let query, let socket, !isOver else { continue }
            let bytes = query.bytes
            result.sent += 1
            do throws(SocketFailure) {
                try socket.send(bytes)
                result.bytesSent += bytes.count
            } catch {
                note(error)
            }
        }
        finishIfAnswered()
    }

    private func note(_ failure: SocketFailure) {
        if FailureClassifier.reason(of: failure) == .blocked { result.refused += 1 }
        if let shortage = FailureClassifier.shortage(failure) { result.shortage = shortage }
    }

    private func receive() {
        for _ in 0..<ProbeSocket.burst {
            guard let socket, !isOver else { break }
            do throws(SocketFailure) {
                guard let arrival = try socket.receive(upTo: 65_536) else { break }
                take(arrival.bytes, at: loop.clock.boot - arrival.age)
            } catch {
                note(error)
                break
            }
        }
        finishIfAnswered()
    }

    private func take(_ bytes: [UInt8], at time: Duration) {
        for (index, query) in queries.enumerated() where result.replies[index] == .silent {
            guard let query, let reply = NameReply(query.read(bytes.span)) else { continue }
            result.replies[index] = reply
            result.durations[index] = max(.zero, time - asked)
            result.bytesReceived += bytes.count
            return
        }
    }

    private func finishIfAnswered() {
        if !result.replies.contains(.silent) { finish() }
    }

    private func finish() {
        guard !isOver else { return }
        isOver = true
        release()
        completion(result)
    }

    private func release() {
        for timer in timers { loop.cancel(timer) }
        timers = []
        socket?.close()
        socket = nil
    }
}
