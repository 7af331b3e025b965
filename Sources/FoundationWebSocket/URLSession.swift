// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
public import FoundationNetworking
internal import Synchronization

/// A session of requests and WebSockets, a replacement for that of FoundationNetworking.
///
/// Requests of HTTP are those of FoundationNetworking: a session here has one of those, and hands them on. WebSockets,
/// which FoundationNetworking cannot open with Debian's libcurl, stand on `NWConnection` of `Network`.
///
/// A session with a delegate keeps it, and itself, until it was invalidated and everything is over.
public final class URLSession: NSObject, Sendable {
    /// What to do about a challenge.
    public typealias AuthChallengeDisposition = FoundationNetworking.URLSession.AuthChallengeDisposition
    /// What to do about the head of an answer.
    public typealias ResponseDisposition = FoundationNetworking.URLSession.ResponseDisposition

    private struct Content: Sendable {
        var delegate: (any URLSessionDelegate)?
        var description: String?
        /// WebSockets in progress.
        var tasks: [Int: URLSessionWebSocketTask] = [:]
        /// Numbers from here on are those of WebSockets.
        var lastTask = 1 << 20
        var isInvalid = false
        /// Whether all requests of HTTP are over, and why.
        var requestsEnd: (error: (any Error)?, Void)?
    }

    /// The session that has no delegate, and never ends.
    public static let shared = URLSession(.shared, makeQueue())

    let original: FoundationNetworking.URLSession
    /// Where delegates and completions are called.
    public let delegateQueue: OperationQueue
    /// Calls the delegate and completions of WebSockets.
    let calls: SerialCalls
    private let content: Mutex<Content>

    private init(
        _ original: FoundationNetworking.URLSession,
        _ queue: OperationQueue,
        _ delegate: (any URLSessionDelegate)? = nil
    ) {
        self.original = original
        delegateQueue = queue
        calls = SerialCalls(queue)
        content = Mutex(Content(delegate: delegate))
        super.init()
    }

    /// Makes a session without a delegate.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// Makes a session; without a queue the delegate is called on one of the session's own.
    ///
    /// The events of WebSockets are delivered in order, one call after another, on any queue.
    public convenience init(
        configuration: URLSessionConfiguration,
        delegate: (any URLSessionDelegate)?,
        delegateQueue: OperationQueue?
    ) {
        let queue = delegateQueue ?? Self.makeQueue()
        let requests = delegate == nil ? nil : HTTPDelegate()
        let original = FoundationNetworking.URLSession(
            configuration: configuration,
            delegate: requests,
            delegateQueue: queue
        )
        self.init(original, queue, delegate)
        requests?.attach(self)
    }

    /// A queue for one call at a time; a plain one shares the threads of ordinary tasks, and waits while they compute.
    private static func makeQueue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.qualityOfService = .userInitiated
        return queue
    }

    /// The settings that the session was made with.
    public var configuration: URLSessionConfiguration { original.configuration }
    /// Receives the events of the session and its tasks; `nil` once it is over.
    public var delegate: (any URLSessionDelegate)? { content.withLock { $0.delegate } }

    /// What the program calls the session.
    public var sessionDescription: String? {
        get { content.withLock { $0.description } }
        set { content.withLock { $0.description = newValue } }
    }

    // MARK: - End

    /// Lets the tasks end by themselves; no new one begins.
    public func finishTasksAndInvalidate() {
        guard self !== Self.shared else { return }
        content.withLock { $0.isInvalid = true }
        original.finishTasksAndInvalidate()
    }

    /// Cancels all tasks; no new one begins.
    public func invalidateAndCancel() {
        guard self !== Self.shared else { return }
        let tasks = content.withLock { content in
            content.isInvalid = true
            return content.tasks.values
        }
        for task in tasks { task.cancel() }
        original.invalidateAndCancel()
    }

    /// All requests of HTTP are over.
    func requestsEnded(_ error: (any Error)?) {
        content.withLock { $0.requestsEnd = (error, ()) }
        reportEnd()
    }

    private func reportEnd() {
        let end = content.withLock { content -> (any URLSessionDelegate, (any Error)?)? in
            guard let end = content.requestsEnd, content.tasks.isEmpty, let delegate = content.delegate else {
                return nil
            }
            content.delegate = nil
            return (delegate, end.error)
        }
        guard let (delegate, error) = end else { return }
        calls.call { [self] in delegate.urlSession(self, didBecomeInvalidWithError: error) }
    }

    // MARK: - WebSockets

    /// Prepares a WebSocket at a URL of the scheme `ws` or `wss`; `resume()` begins.
    public func webSocketTask(with url: URL) -> URLSessionWebSocketTask {
        webSocketTask(with: URLRequest(url: url, timeoutInterval: configuration.timeoutIntervalForRequest))
    }

    /// Prepares a WebSocket with subprotocols to be offered, the dearest first.
    public func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        var request = URLRequest(url: url, timeoutInterval: configuration.timeoutIntervalForRequest)
        request.setValue(protocols.joined(separator: ", "), forHTTPHeaderField: "Sec-WebSocket-Protocol")
        return webSocketTask(with: request)
    }

    /// Prepares a WebSocket with header fields of the program, and the time that the request gives for opening it.
    public func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        let number = content.withLock { content in
            content.lastTask += 1
            return content.lastTask
        }
        return URLSessionWebSocketTask(self, number: number, request: request)
    }

    /// Keeps a task in progress.
    /// - Returns: Whether new tasks are still wanted.
    func keep(_ task: URLSessionWebSocketTask) -> Bool {
        content.withLock { content in
            guard !content.isInvalid else { return false }
            content.tasks[task.taskIdentifier] = task
            return true
        }
    }

    /// Lets a task go that is over.
    func forget(_ task: URLSessionWebSocketTask) {
        _ = content.withLock { $0.tasks.removeValue(forKey: task.taskIdentifier) }
        reportEnd()
    }

    /// The WebSockets in progress.
    var webSockets: [URLSessionWebSocketTask] {
        content.withLock { $0.tasks.values.sorted { $0.taskIdentifier < $1.taskIdentifier } }
    }
}
