// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import Glibc
public import LinuxIO

/// The running kernel as a source of answers: one socket for requests, in the namespace it was made in.
///
/// Confined to one thread. A socket whose dump was stopped in the middle is replaced by a new one, which is opened in
/// the namespace of the calling thread.
public final class LiveKernel: MessageSource {
    private var socket: RouteSocket
    private let limit: Duration
    public private(set) var questions = 0
    /// The duration of the last reading of packet filters.
    public private(set) var filterReading = Duration.zero
    /// Records requests and answers, while it is set.
    public var recorder: NetlinkRecorder?

    /// Opens the socket.
    /// - Parameter limit: How long one read may wait for the kernel.
    /// - Throws: ``NetlinkError/noSocket(step:code:)``.
    public init(limit: Duration = .seconds(2)) throws(NetlinkError) {
        self.limit = limit
        socket = try RouteSocket(limit: limit)
    }

    /// Sends a request, and passes each message of the answer until `each` returns `false`.
    public func request(
        _ question: Question,
        each: (UInt16, Span<UInt8>) -> Bool
    ) throws(NetlinkError) -> Completion {
        questions += 1
        guard let recorder else { return try exchange(question, each: each) }
        var received: [RecordedMessage] = []
        do {
            let completion = try exchange(question) { type, body in
                received.append(RecordedMessage(type: type, body: body.array))
                return each(type, body)
            }
            recorder.record(question, answer: received, .completed(completion))
            return completion
        } catch {
            recorder.record(question, answer: received, .failed(error.code))
            throw error
        }
    }

    private func exchange(
        _ question: Question,
        each: (UInt16, Span<UInt8>) -> Bool
    ) throws(NetlinkError) -> Completion {
        if socket.isUsedUp { socket = try RouteSocket(limit: limit) }
        return try socket.exchange(question, each: each)
    }

    /// Looks up where several packets would go, with one request for all of them.
    ///
    /// - Parameters:
    ///   - lookups: The questions, prepared once for any number of times.
    ///   - answers: Is filled with the answers in the order of the questions, `nil` for one that makes no sense; stays
    ///     empty when they cannot be sent together, as while everything is recorded: look up one by one then.
    public func lookup(_ lookups: inout PreparedLookups, into answers: inout [Result<RouteAnswer, RouteFailure>?]) {
        answers.removeAll(keepingCapacity: true)
        guard recorder == nil, lookups.batch.count > 0 else { return }
        questions += lookups.batch.count
        for _ in 0..<lookups.batch.count { answers.append(nil) }
        var areComplete = true
        // Where lookups are not answered each is a case for the table (rule S50).
        var isWithoutLookups = false
        do {
            if socket.isUsedUp { socket = try RouteSocket(limit: limit) }
            try socket.exchange(&lookups.batch) { position, code, body in
                guard code == 0 else {
                    let failure = RouteFailure(errno: code)
                    isWithoutLookups = isWithoutLookups || failure.isWithoutLookups
                    answers[position] = .failure(failure)
                    return
                }
                guard let answer = RouteEntry(decoding: body)?.answer else { return }
                areComplete = areComplete && (answer.nexthopID == nil || !answer.nexthops.isEmpty)
                answers[position] = answer.verdict
            }
        } catch {
            return answers.removeAll()
        }
        guard !isWithoutLookups else { return answers.removeAll() }
        // Nexthop objects are read when all answers are: the socket has one exchange at a time.
        if !areComplete { answers = answers.map { answer in answer.map { $0.flatMap(resolve) } } }
    }

    /// What connect(2) of a UDP socket gives, which sends nothing; `nil` for packets of others or with a mark.
    public func connect(_ query: RouteQuery) -> ConnectAnswer? {
        guard query.mark == 0, query.uid == nil || query.uid == geteuid() else { return nil }
        do {
            return .source(try ConnectedSource.find(for: query.destination, port: 443, by: query.outputInterface))
        } catch {
            return error.isShortage ? nil : .refused
        }
    }

    /// Tries whether packets may leave.
    public func output(
        of transport: Transport,
        to destination: IPAddress,
        by index: Int?,
        sends: Bool
    ) -> OutputVerdict {
        let (number, port) = (transport.number, transport.port)
        return OutputTest.verdict(of: number, to: destination, port: port, by: index, sends: sends)
    }

    /// The chains of nf_tables, and what is known of iptables beside it; `nil` without `CAP_NET_ADMIN`.
    public func packetFilter(after previous: PacketFilter?) -> PacketFilter? {
        let started = KernelClock().boot
        defer { filterReading = KernelClock().boot - started }
        do throws(NetlinkError) {
            var filter = try PacketFilter.read(after: previous)
            guard let legacy = LegacyTables.rules() else { return .unreadable }
            filter.legacyEffects = legacy.effects
            filter.legacyDestinations = legacy.destinations
            return filter
        } catch .timedOut, .malformedAnswer {
            return .unreadable
        } catch {
            // Without the privilege, or without nf_tables.
            return nil
        }
    }

    public func keptHeader(_ family: AddressFamily) -> KeptHeader { OutputTest.keptHeader(family) }

    public func wireGuardAnswer(of index: Int, for destination: IPAddress) -> TunnelAnswer? {
        do {
            let device = try WireGuardDevice.read(index: index)
            return device.answer(for: destination, isLocal: OutputTest.isBound(port: device.port))
        } catch NetlinkError.notPermitted {
            return nil
        } catch {
            return .unknown
        }
    }

    public func tunnelRefusal(of destination: IPAddress) -> TunnelRefusal? {
        switch OutputTest.tunnelRefusal(of: destination) {
        case ENOKEY: .noPeer
        case EDESTADDRREQ: .noEndpoint
        case EHOSTUNREACH: .noPolicy
        default: nil
        }
    }

    public func tunnelProgram(named interface: String) -> TunnelProgram { TunPrograms.find(serving: interface) }

    public func acceptsFromVRFs(_ transport: Transport) -> Bool {
        let name = transport.number == UInt8(IPPROTO_TCP) ? "tcp_l3mdev_accept" : "udp_l3mdev_accept"
        return ProcFile.text("/proc/sys/net/ipv4/\(name)").map { $0.first == "1" } ?? true
    }

    /// Waits 10 ms.
    public func pauseBeforeRetry() { usleep(10_000) }
}

/// A reusable batch of RTM_GETROUTE requests.
public struct PreparedLookups: Sendable {
    public let queries: [RouteQuery]
    var batch: QuestionBatch

    /// Prepares questions; those whose source is of another family than their destination are left out.
    public init(_ queries: [RouteQuery]) {
        self.queries = queries.filter { $0.source == nil || $0.source?.family == $0.destination.family }
        batch = QuestionBatch(self.queries.map(Question.lookup))
    }
}
