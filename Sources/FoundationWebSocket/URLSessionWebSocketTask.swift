// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
public import FoundationNetworking
internal import Network
internal import Synchronization

/// A WebSocket of a session: messages out, messages in, pings and a close.
///
/// It is in the network namespace of the thread that resumes it. Pings are answered without the program. Completions and
/// delegates are called on the queue of the session.
public final class URLSessionWebSocketTask: NSObject, URLSessionTask, Sendable {
    private typealias Receiver = @Sendable (Result<Message, any Error>) -> Void
    private typealias Close = (code: CloseCode, reason: Data?)

    private struct Content: Sendable {
        var state = State.suspended
        var box = MessageBox<Message, Receiver>()
        var isFetching = false
        var isOpen = false
        var response: HTTPURLResponse?
        var close: Close = (.invalid, nil)
        /// What the program closes with.
        var closing: Close?
        /// Why the server is not trusted.
        var trustFailure: (any Error)?
        var error: (any Error)?
        var maximumMessageSize = 1 << 20
        var description: String?
        var priority: Float = 0.5
    }

    /// A number that no other task of the session has.
    public let taskIdentifier: Int
    private let request: URLRequest
    private let session: URLSession
    private let connection: NWConnection
    private let options = NWProtocolWebSocket.Options()
    private let security = NWProtocolTLS.Options()
    private let queue = DispatchQueue(label: "foundation.websocket")
    private let content = Mutex(Content())

    init(_ session: URLSession, number: Int, request: URLRequest) {
        self.session = session
        self.request = request
        taskIdentifier = number
        let isSecure = request.url?.scheme?.lowercased() == "wss"
        let parameters = NWParameters(tls: isSecure ? security : nil)
        options.autoReplyPing = true
        options.setAdditionalHeaders(HandshakeFields.fields(request, session.configuration))
        parameters.defaultProtocolStack.applicationProtocols.insert(options, at: 0)
        let endpoint = request.url.map { NWEndpoint.url($0) } ?? .hostPort(host: "", port: 0)
        connection = NWConnection(to: endpoint, using: parameters)
        super.init()
    }

    /// What was requested.
    public var originalRequest: URLRequest? { request }
    /// The original request: WebSockets are not redirected.
    public var currentRequest: URLRequest? { request }
    /// What the server answered to the handshake.
    public var response: URLResponse? { content.withLock { $0.response } }
    /// What became of the task.
    public var state: State { content.withLock { $0.state } }
    /// Why the task failed; `nil` when it was closed.
    public var error: (any Error)? { content.withLock { $0.error } }
    /// Why it was closed; `invalid` before.
    public var closeCode: CloseCode { content.withLock { $0.close.code } }
    /// The reason that came with the close, or went with it.
    public var closeReason: Data? { content.withLock { $0.close.reason } }

    /// The longest message in bytes that is received, 1 MiB by default; what is set after the start does not count.
    ///
    /// A longer one makes the task fail with `EMSGSIZE`.
    public var maximumMessageSize: Int {
        get { content.withLock { $0.maximumMessageSize } }
        set { content.withLock { $0.maximumMessageSize = newValue } }
    }

    /// What the program calls the task.
    public var taskDescription: String? {
        get { content.withLock { $0.description } }
        set { content.withLock { $0.description = newValue } }
    }

    /// How much the task matters; it changes nothing.
    public var priority: Float {
        get { content.withLock { $0.priority } }
        set { content.withLock { $0.priority = newValue } }
    }

    // MARK: - Life

    /// Connects; only the first call counts.
    public func resume() {
        let limit = content.withLock { content -> Int? in
            guard content.state == .suspended else { return nil }
            content.state = .running
            return content.maximumMessageSize
        }
        guard let limit else { return }
        guard ["ws", "wss"].contains(request.url?.scheme?.lowercased()) else {
            return finish(URLError(.unsupportedURL))
        }
        guard session.keep(self) else { return finish(URLError(.cancelled)) }
        options.maximumMessageSize = limit
        options.setAnswerHandler { [weak self] status, fields in self?.answered(status, fields) }
        if session.delegate != nil {
            sec_protocol_options_set_verify_block(
                security.securityProtocolOptions,
                { [weak self] _, trust, complete in self?.evaluate(trust, complete) },
                queue
            )
        }
        connection.stateUpdateHandler = { [weak self] state in self?.handle(state) }
        if request.timeoutInterval > 0, request.timeoutInterval < 1e9 {
            queue.asyncAfter(deadline: .now() + request.timeoutInterval) { [weak self] in self?.expire() }
        }
        connection.start(queue: queue)
    }

    /// Does nothing: a WebSocket that was resumed goes on.
    public func suspend() {}

    /// Ends the task with `NSURLErrorCancelled`; the server receives close code 1001.
    public func cancel() { cancel(nil) }

    /// Closes with a code and a reason of 123 bytes at most; the delegate is notified when the server answered, or a
    /// second later.
    public func cancel(with closeCode: CloseCode, reason: Data?) { cancel((closeCode, reason)) }

    private func cancel(_ closing: Close?) {
        let before = content.withLock { content -> (state: State, isOpen: Bool)? in
            guard content.state == .suspended || content.state == .running else { return nil }
            let before = (content.state, content.isOpen)
            content.state = .canceling
            // Before the opening it cannot be sent, even while the handshake is in progress.
            content.closing = content.isOpen ? closing : nil
            return before
        }
        guard let before else { return }
        if before.isOpen {
            let code = closing?.code ?? .goingAway
            let metadata = NWProtocolWebSocket.Metadata(opcode: .close)
            metadata.closeCode = code.sendable
            connection.send(
                content: code.sendableReason(closing?.reason),
                contentContext: NWConnection.ContentContext(identifier: "close", metadata: [metadata]),
                completion: .idempotent
            )
        }
        connection.cancel()
        if before.state == .suspended { finish(URLError(.cancelled)) }
    }

    // MARK: - Messages

    /// Sends a message; the completion is called once, when it has gone to the kernel or cannot.
    public func send(_ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        switch message {
        case .data(let bytes): send(bytes, NWProtocolWebSocket.Metadata(opcode: .binary), completionHandler)
        case .string(let text): send(Data(text.utf8), NWProtocolWebSocket.Metadata(opcode: .text), completionHandler)
        }
    }

    /// Sends a message.
    public func send(_ message: Message) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            send(message) { error in continuation.resume(with: error.map { .failure($0) } ?? .success(())) }
        }
    }

    /// Receives the next message; the completion is called once.
    public func receive(completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void) {
        deliver(content.withLock { $0.box.receive(completionHandler) })
        fetch()
    }

    /// Receives the next message.
    public func receive() async throws -> Message {
        try await withCheckedThrowingContinuation { continuation in
            receive { result in continuation.resume(with: result) }
        }
    }

    /// Sends a ping; the handler is called once, when the pong has come or none can.
    public func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
        let metadata = NWProtocolWebSocket.Metadata(opcode: .ping)
        let once = Once(pongReceiveHandler)
        metadata.setPongHandler(queue) { [weak self] error in
            self?.notify(once, error)
        }
        send(Data(), metadata) { error in if let error { once.call(error) } }
    }

    /// Sends a ping, and waits for the pong.
    public func sendPing() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            sendPing { error in continuation.resume(with: error.map { .failure($0) } ?? .success(())) }
        }
    }

    private func send(
        _ bytes: Data,
        _ metadata: NWProtocolWebSocket.Metadata,
        _ completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        let once = Once(completion)
        connection.send(
            content: bytes,
            contentContext: NWConnection.ContentContext(identifier: "message", metadata: [metadata]),
            // A send that ends after the task has the error of the task.
            completion: .contentProcessed { [self] error in notify(once, error) }
        )
    }

    private func notify(_ once: Once, _ error: NWError?) {
        let failure = error.map { error in
            content.withLock { content in
                if content.state == .completed { return content.error ?? TaskFailure.closed }
                return TaskFailure.error(error, isOpen: content.isOpen)
            }
        }
        session.calls.call { once.call(failure) }
    }
}

/// Something that is called once, however often it is tried.
private final class Once: Sendable {
    private let handler: Mutex<(@Sendable ((any Error)?) -> Void)?>

    init(_ handler: @escaping @Sendable ((any Error)?) -> Void) { self.handler = Mutex(handler) }

    func call(_ error: (any Error)?) {
        let handler = handler.withLock { handler in
            defer { handler = nil }
            return handler
        }
        handler?(error)
    }
}

// MARK: - Events

extension URLSessionWebSocketTask {
    private func handle(_ state: NWConnection.State) {
        switch state {
        case .ready: opened()
        // Like every task of a session it does not wait for a network.
        case .waiting(let error), .failed(let error): fail(error)
        case .cancelled: ended()
        case .setup, .preparing: return
        }
    }

    private func answered(_ status: Int, _ fields: [(name: String, value: String)]) {
        guard status > 0 else { return }
        let response = HandshakeFields.answer(status, fields, request, session.configuration)
        content.withLock { $0.response = response }
    }

    private func opened() {
        let isWanted = content.withLock { content in
            content.isOpen = true
            return content.state == .running
        }
        guard isWanted else { return }
        let metadata = connection.metadata(definition: NWProtocolWebSocket.definition) as? NWProtocolWebSocket.Metadata
        let chosen = metadata?.selectedSubprotocol
        notify { delegate, session, task in
            (delegate as? any URLSessionWebSocketDelegate)?
                .urlSession(session, webSocketTask: task, didOpenWithProtocol: chosen)
        }
        fetch()
    }

    private func expire() {
        let isLate = content.withLock { $0.state == .running && !$0.isOpen }
        if isLate { fail(.posix(.ETIMEDOUT)) }
    }

    private func fail(_ error: NWError) {
        let failure = content.withLock { content -> (any Error)? in
            guard content.state == .running else { return nil }
            if content.isOpen, let code = TaskFailure.closeCode(error) { content.close = (code, nil) }
            // A server that refuses, or what it answers instead, counts as an answer.
            let isAnswered = !content.isOpen && content.response != nil
            return content.trustFailure
                ?? (isAnswered ? URLError(.badServerResponse) : TaskFailure.error(error, isOpen: content.isOpen))
        }
        guard let failure else { return }
        finish(failure)
        connection.cancel()
    }

    /// The connection was cancelled by the program.
    private func ended() {
        let closing = content.withLock { $0.closing }
        if let closing { finish(nil, closing) } else { finish(URLError(.cancelled)) }
    }

    private func finish(_ error: (any Error)?, _ close: Close? = nil) {
        let deliveries = content.withLock { content -> [MessageBox<Message, Receiver>.Delivery]? in
            guard content.state != .completed else { return nil }
            content.state = .completed
            content.error = error
            if let close { content.close = close }
            return content.box.finish(error ?? TaskFailure.closed)
        }
        guard let deliveries else { return }
        deliver(deliveries)
        if let close {
            notify { delegate, session, task in
                (delegate as? any URLSessionWebSocketDelegate)?
                    .urlSession(session, webSocketTask: task, didCloseWith: close.code, reason: close.reason)
            }
        }
        notify { delegate, session, task in
            (delegate as? any URLSessionTaskDelegate)?.urlSession(session, task: task, didCompleteWithError: error)
        }
        session.forget(self)
    }

    private func notify(
        _ call: @escaping @Sendable (any URLSessionDelegate, URLSession, URLSessionWebSocketTask) -> Void
    ) {
        guard let delegate = session.delegate else { return }
        session.calls.call { [self] in call(delegate, session, self) }
    }

    // MARK: - Receiving

    private func deliver(_ deliveries: [MessageBox<Message, Receiver>.Delivery]) {
        for (receiver, result) in deliveries { session.calls.call { receiver(result) } }
    }

    /// Requests the next message, unless one waits for the program.
    private func fetch() {
        let isWanted = content.withLock { content in
            guard content.state == .running, content.isOpen, !content.isFetching, content.box.wantsMore else {
                return false
            }
            content.isFetching = true
            return true
        }
        guard isWanted else { return }
        connection.receiveMessage { [weak self] bytes, context, _, error in
            self?.handle(bytes ?? Data(), context, error)
        }
    }

    private func handle(_ bytes: Data, _ context: NWConnection.ContentContext?, _ error: NWError?) {
        content.withLock { $0.isFetching = false }
        if let error { return fail(error) }
        let metadata = context?.protocolMetadata(definition: NWProtocolWebSocket.definition)
        guard let metadata = metadata as? NWProtocolWebSocket.Metadata else { return }
        switch metadata.opcode {
        case .text: handle(.string(String(decoding: bytes, as: UTF8.self)))
        case .binary: handle(.data(bytes))
        case .close:
            guard state == .running else { return }
            finish(nil, (CloseCode(metadata.closeCode), bytes.isEmpty ? nil : bytes))
            connection.cancel()
        case .ping, .pong, .cont: fetch()
        }
    }

    private func handle(_ message: Message) {
        deliver(content.withLock { $0.box.add(message) })
        fetch()
    }

    // MARK: - Trust

    /// Lets the delegate decide whether the server is trusted: that of the session first, and where it leaves it to the
    /// checks that of the task.
    private func evaluate(_ trust: sec_trust_t, _ complete: @escaping sec_protocol_verify_complete_t) {
        guard let delegate = session.delegate, let url = request.url else {
            return decide(.performDefaultHandling, nil, trust, complete)
        }
        let challenge = URLAuthenticationChallenge(host: url.host ?? "", port: url.port ?? 443, trust: trust)
        session.calls.call { [self] in
            delegate.urlSession(session, didReceive: challenge) { [self] disposition, credential in
                guard disposition == .performDefaultHandling, let delegate = delegate as? any URLSessionTaskDelegate
                else { return decide(disposition, credential, trust, complete) }
                delegate.urlSession(session, task: self, didReceive: challenge) { [self] disposition, credential in
                    decide(disposition, credential, trust, complete)
                }
            }
        }
    }

    private func decide(
        _ disposition: URLSession.AuthChallengeDisposition,
        _ credential: URLCredential?,
        _ trust: sec_trust_t,
        _ complete: sec_protocol_verify_complete_t
    ) {
        if disposition == .useCredential, credential != nil { return complete(true) }
        if disposition == .cancelAuthenticationChallenge {
            content.withLock { $0.trustFailure = URLError(.cancelled) }
            return complete(false)
        }
        if let error = trust.linuxError {
            content.withLock { $0.trustFailure = TaskFailure.error(error, isOpen: false) }
        }
        complete(trust.linuxError == nil)
    }
}
