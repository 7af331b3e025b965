// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import LinuxIO
internal import WebSocketWire

/// WebSocket messages upon a stream; confined to the thread of its loop.
///
/// It reads ahead of the program by one message, so that pings are answered, and pongs and a close are received while
/// nobody receives.
final class WebSocketFlow: Flow {
    private enum Progress {
        case skipped, shaking(WebSocketOpening), awaitingDecision, answered([UInt8], isAccepted: Bool), established
    }

    private enum End {
        case closed
        case failed(NWError)
    }

    let isStream = false
    var onReadiness: (EventLoop.Readiness) -> Void = { _ in }

    private let flow: any Flow
    private let options: NWProtocolWebSocket.Options.Values
    private let loop: EventLoop
    private var progress: Progress
    private var connection: WebSocketConnection
    private var agreement = NWProtocolWebSocket.Metadata.Agreement()
    /// What is for the wire, and did not fit into the flow yet.
    private var output = Data()
    /// The message that was read ahead.
    private var arrived: ReceivedMessage?
    private var end: End?
    private var pings: [(payload: [UInt8], handler: NWProtocolWebSocket.Metadata.PongHandler)] = []
    private var isLeaving = false
    private var hasFinished = false
    private var limit: EventLoop.Timer?
    private var isLate = false
    private let isServer: Bool
    private var began: Duration?
    private var shaken: Duration?
    private var nextTick: EventLoop.Timer?

    /// How long the peer has for its part of the handshake.
    private static let longestHandshake = Duration.seconds(30)
    /// How long the peer has to answer a close, once the program is done with the connection.
    private static let longestLeave = Duration.seconds(1)
    /// How often it reads before other flows are served.
    private static let iterations = 16

    /// Prepares a handshake upon an open flow; the address is what a client requests, and `nil` for a server.
    /// - Throws: `EINVAL` when header fields would break the request.
    init(
        _ flow: any Flow,
        options: NWProtocolWebSocket.Options.Values,
        address: WebSocketAddress?,
        loop: EventLoop
    ) throws(NWError) {
        self.flow = flow
        self.options = options
        self.loop = loop
        isServer = address == nil
        if options.skipHandshake {
            progress = .skipped
        } else if let address {
            guard let handshake = options.handshake(at: address) else { throw .posix(.EINVAL) }
            progress = .shaking(.client(handshake))
            output = Data(handshake.request)
        } else {
            progress = .shaking(.server(WebSocketRequest.Reader()))
        }
        var bounds = WebSocketOptions()
        bounds.longestMessage = options.maximumMessageSize == 0 ? .max : options.maximumMessageSize
        bounds.mostOutput = 1 << 16
        bounds.answersPings = options.autoReplyPing
        connection = WebSocketConnection(role: address == nil ? .server : .client, options: bounds)
        flow.onReadiness = { [unowned self] in handle($0) }
    }

    var local: SocketEnd? { flow.local }
    var remote: SocketEnd? { flow.remote }
    var maximumDatagramSize: Int { 0 }
    var transport: TransferCounts.Transport? { flow.transport }
    var mayHoldInput: Bool { true }
    var hasOutput: Bool { !output.isEmpty || connection.outputCount > 0 || flow.hasOutput }

    var metadata: [any NWProtocolMetadata] {
        [NWProtocolWebSocket.Metadata(.binary, agreement)] + flow.metadata
    }

    func pendingError() -> NWError? {
        // After the last word of the peer it is all the same how the stream ends.
        if case .closed? = end { return nil }
        return flow.pendingError()
    }

    private func handle(_ readiness: EventLoop.Readiness) {
        guard case .established = progress else { return onReadiness(readiness) }
        advance()
        followEnd()
        // The end is reported even without a receive.
        onReadiness(end == nil ? readiness : readiness.union(.peerClosed))
    }

    func expect(reading: Bool, writing: Bool) {
        flow.expect(reading: (arrived == nil && end == nil) || awaitsEnd, writing: writing || hasOutput)
    }

    /// Whether the server is to close the stream now that both ends have said their last word, and a client after it
    /// (RFC 6455 section 7.1.1).
    private var awaitsEnd: Bool { connection.role == .client && connection.isOver && !hasFinished }

    /// Closes a client's direction once the server has closed the other one; what came in between counts for nothing.
    private func followEnd() {
        for _ in 0..<Self.iterations where awaitsEnd {
            do throws(NWError) {
                guard let input = try flow.read(upTo: ReadBuffer.capacity) else { return }
                guard case .end = input else { continue }
            } catch {
                // Broken off is over as well.
            }
            hasFinished = true
            flow.finishWriting()
        }
    }

    func close(isAbrupt: Bool) {
        if !isAbrupt { try? flush() }
        for timer in [limit, nextTick].compactMap(\.self) { loop.cancel(timer) }
        (limit, nextTick) = (nil, nil)
        if case .failed(let error)? = end { endPings(error) } else { endPings(.posix(.ECANCELED)) }
        flow.onReadiness = { _ in }
        flow.close(isAbrupt: isAbrupt)
    }
}

// MARK: - Handshake

extension WebSocketFlow {
    func establish() throws(NWError) -> Bool {
        switch progress {
        case .established: return true
        case .awaitingDecision: return false
        case .skipped:
            guard try flow.establish() else { return false }
            return open()
        case .answered(let answer, let isAccepted):
            output += answer
            try flush()
            guard isAccepted else { throw .posix(.ECONNABORTED) }
            return open()
        case .shaking(let opening):
            guard !isLate else { throw .posix(.ETIMEDOUT) }
            guard try flow.establish() else { return false }
            if began == nil { began = loop.clock.boot }
            return try shakeHands(opening)
        }
    }

    var handshakes: [HandshakeRecord] {
        guard let began, let shaken else { return flow.handshakes }
        // One request and its answer; the server sees no round trip.
        let own = HandshakeRecord(
            definition: NWProtocolWebSocket.definition,
            duration: shaken - began,
            roundTrip: isServer ? .zero : shaken - began
        )
        return flow.handshakes + [own]
    }

    private func shakeHands(_ opening: WebSocketOpening) throws(NWError) -> Bool {
        var opening = opening
        while true {
            try flush()
            switch try flow.read(upTo: ReadBuffer.capacity) {
            case nil:
                progress = .shaking(opening)
                flow.expect(reading: true, writing: hasOutput)
                wait(Self.longestHandshake)
                return false
            case .bytes(let bytes):
                switch opening.parse(Array(bytes)) {
                case .waiting: continue
                case .failed(let error, let answer, let status, let fields):
                    options.answerHandler?(status, fields)
                    output += answer
                    try flush()
                    throw error
                case .opened(let status, let subprotocol, let fields, let rest):
                    options.answerHandler?(status, fields)
                    let own = fields.filter { !WebSocketRequest.isOfHandshake($0.name) }
                    agreement = NWProtocolWebSocket.Metadata.Agreement(
                        subprotocol: subprotocol,
                        headers: own.map { ($0.name, $0.value) }
                    )
                    connection.feed(rest)
                    return open()
                case .requested(let request, let rest):
                    connection.feed(rest)
                    return try requestDecision(request)
                }
            case .message, .end: throw .posix(.ECONNABORTED)
            }
        }
    }

    private func open() -> Bool {
        cancelLimit()
        shaken = loop.clock.boot
        progress = .established
        advance()
        return true
    }

    private func wait(_ time: Duration) {
        guard limit == nil else { return }
        limit = loop.schedule(after: time) { [weak self] in
            self?.limit = nil
            self?.isLate = true
            self?.onReadiness([])
        }
    }

    private func cancelLimit() {
        if let limit { loop.cancel(limit) }
        limit = nil
    }

    /// Lets the handler decide on a client.
    private func requestDecision(_ request: WebSocketRequest) throws(NWError) -> Bool {
        cancelLimit()
        guard let (queue, handler) = options.requestHandler else {
            let chosen = request.handshake.offers.first { options.subprotocols.contains($0) }
            answer(request, NWProtocolWebSocket.Response(status: .accept, subprotocol: chosen))
            return try establish()
        }
        progress = .awaitingDecision
        flow.expect(reading: false, writing: hasOutput)
        let reply = LoopReply<NWProtocolWebSocket.Response>(loop) { [weak self] response in
            guard let self, case .awaitingDecision = progress else { return }
            answer(request, response)
            onReadiness([])
        }
        let (offers, fields) = (request.handshake.offers, request.fields)
        queue.async { reply.give(handler(offers, fields)) }
        return false
    }

    private func answer(_ request: WebSocketRequest, _ response: NWProtocolWebSocket.Response) {
        let fields = response.additionalHeaders ?? []
        guard response.status == .accept else {
            progress = .answered(WebSocketRequest.refusal(.forbidden, fields), isAccepted: false)
            return
        }
        var request = request
        request.handshake.subprotocol = response.subprotocol.flatMap { chosen in
            request.handshake.offers.first { $0 == chosen }
        }
        agreement = NWProtocolWebSocket.Metadata.Agreement(
            subprotocol: request.handshake.subprotocol,
            headers: fields.map { ($0.name, $0.value) }
        )
        guard let bytes = request.acceptance(fields) else {
            progress = .answered(WebSocketRequest.refusal(.serverError), isAccepted: false)
            return
        }
        progress = .answered(bytes, isAccepted: true)
    }
}

// MARK: - Reading

extension WebSocketFlow {
    func read(upTo limit: Int) throws(NWError) -> FlowInput? {
        advance()
        if let message = arrived {
            arrived = nil
            advance()
            return .message(message)
        }
        switch end {
        case nil: return nil
        case .closed: return .end
        case .failed(let error): throw error
        }
    }

    /// Reads on, up to the next message for the program.
    private func advance() {
        do throws(NWError) {
            var iterations = 0
            while arrived == nil, end == nil {
                if let event = connection.nextEvent() {
                    handle(event)
                    continue
                }
                guard iterations < Self.iterations else {
                    comeBack()
                    break
                }
                iterations += 1
                guard let input = try flow.read(upTo: ReadBuffer.capacity) else { break }
                guard case .bytes(let bytes) = input else {
                    end = isLeaving || connection.closeSent ? .closed : .failed(.posix(.ECONNABORTED))
                    break
                }
                connection.feed(Array(bytes))
            }
            try flush()
        } catch {
            if end == nil { end = .failed(error) }
        }
        if case .failed(let error)? = end { endPings(error) }
    }

    /// Continues in the next iteration.
    private func comeBack() {
        guard nextTick == nil else { return }
        nextTick = loop.schedule(after: .zero) { [weak self] in
            self?.nextTick = nil
            self?.handle(.readable)
        }
    }

    private func handle(_ event: WebSocketEvent) {
        switch event {
        case .message(.text(let text)): deliver(.text, Data(text.utf8))
        case .message(.binary(let bytes)): deliver(.binary, Data(bytes))
        case .ping(let payload): if !options.autoReplyPing { deliver(.ping, Data(payload)) }
        case .pong(let payload): if !endPings(upTo: payload) { deliver(.pong, Data(payload)) }
        case .closed(let close):
            deliver(.close, Data(close.reason.utf8), code: NWProtocolWebSocket.CloseCode(close.code?.rawValue))
            end = .closed
            endPings(.posix(.ENOTCONN))
        case .failed(let failure): end = .failed(failure.error)
        }
    }

    private func deliver(
        _ opcode: NWProtocolWebSocket.Opcode,
        _ bytes: Data,
        code: NWProtocolWebSocket.CloseCode = .protocolCode(.normalClosure)
    ) {
        guard !isLeaving else { return }
        let metadata = NWProtocolWebSocket.Metadata(opcode, agreement, closeCode: code)
        arrived = ReceivedMessage(bytes: bytes, metadata: [metadata])
    }

    /// A pong answers the ping with its payload, and those before it (RFC 6455 section 5.5.3).
    /// - Returns: Whether somebody waited for it.
    private func endPings(upTo payload: [UInt8]) -> Bool {
        guard let index = pings.firstIndex(where: { $0.payload == payload }) else { return false }
        for ping in pings[...index] { ping.handler.notify(nil) }
        pings.removeSubrange(...index)
        return true
    }

    private func endPings(_ error: NWError) {
        for ping in pings { ping.handler.notify(error) }
        pings = []
    }
}

// MARK: - Writing

extension WebSocketFlow {
    func write(_ bytes: Data) throws(NWError) -> Int? { try write(bytes, with: []) }

    func refusal(of message: Data, with metadata: [any NWProtocolMetadata]) -> NWError? {
        guard !connection.closeSent else { return .posix(.ENOTCONN) }
        let metadata = Self.webSocket(metadata)
        switch metadata?.opcode ?? .binary {
        case .binary: return nil
        case .cont: return .posix(.EINVAL)
        case .text: return String(validating: message, as: UTF8.self) == nil ? .posix(.EINVAL) : nil
        case .ping, .pong: return message.count > 125 ? .posix(.EMSGSIZE) : nil
        case .close:
            guard message.count <= WebSocketClose.longestReason else { return .posix(.EMSGSIZE) }
            let code = metadata?.closeCode ?? .protocolCode(.normalClosure)
            let isNone = code == .protocolCode(.noStatusReceived) && message.isEmpty
            let isSendable = isNone || WebSocketCloseCode(rawValue: code.number).isSendable
            return isSendable && String(validating: message, as: UTF8.self) != nil ? nil : .posix(.EINVAL)
        }
    }

    func write(_ message: Data, with metadata: [any NWProtocolMetadata]) throws(NWError) -> Int? {
        try flush()
        guard output.isEmpty, connection.outputCount == 0 else { return nil }
        let metadata = Self.webSocket(metadata)
        do throws(WebSocketSendError) {
            switch metadata?.opcode ?? .binary {
            case .text: try connection.send(.text(String(decoding: message, as: UTF8.self)))
            case .binary, .cont: try connection.send(.binary(Array(message)))
            case .pong: try connection.pong(Array(message))
            case .ping:
                try connection.ping(Array(message))
                if let handler = metadata?.pongHandler { pings.append((Array(message), handler)) }
            case .close:
                let code = metadata?.closeCode ?? .protocolCode(.normalClosure)
                let reason = String(decoding: message, as: UTF8.self)
                connection.close(WebSocketClose(WebSocketCloseCode(rawValue: code.number), reason: reason))
            }
        } catch {
            throw .posix(.EINVAL)
        }
        try flush()
        return message.count
    }

    private static func webSocket(_ metadata: [any NWProtocolMetadata]) -> NWProtocolWebSocket.Metadata? {
        for case let webSocket as NWProtocolWebSocket.Metadata in metadata { return webSocket }
        return nil
    }

    func flush() throws(NWError) {
        do throws(NWError) {
            try flushAll()
        } catch {
            guard case .closed? = end else { throw error }
            // Who has closed, and is gone, need not be answered.
            output = Data()
            _ = connection.drainOutput()
        }
    }

    private func flushAll() throws(NWError) {
        while true {
            if output.isEmpty, case .established = progress { output = Data(connection.drainOutput()) }
            guard !output.isEmpty else { break }
            guard let count = try flow.write(output) else { return }
            output = count == output.count ? Data() : output.dropFirst(count)
        }
        try flow.flush()
        // A server closes the stream once both ends have said their last word (RFC 6455 section 7.1.1).
        guard connection.isOver, connection.role == .server, !hasFinished else { return }
        hasFinished = true
        flow.finishWriting()
    }

    func finishWriting() {
        connection.close(WebSocketClose(.normal))
        try? flush()
    }

    func finishClose() -> Bool {
        guard case .established = progress, end == nil, !isLate else { return true }
        isLeaving = true
        arrived = nil
        connection.close(WebSocketClose(.normal))
        advance()
        guard end == nil || hasOutput else { return true }
        flow.expect(reading: end == nil, writing: hasOutput)
        wait(Self.longestLeave)
        return false
    }
}

extension WebSocketFailure {
    /// The same in the words of the kernel.
    fileprivate var error: NWError {
        switch self {
        case .messageTooLong: .posix(.EMSGSIZE)
        case .invalidText: .posix(.EILSEQ)
        default: .posix(.EPROTO)
        }
    }
}
