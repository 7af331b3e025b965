// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CMicrohttpdShims
internal import Metrics

/// What need not be worked out again when many clients ask the same.
///
/// Clients that keep their connection send the same head again and again, and within one turn of the event loop they
/// get the same answer: whatever was asked before the turn began sees one moment.
struct RepeatedRequests {
    /// How many different answers of a turn are kept.
    private static let most = 8

    private var admitted: (head: RequestHead, request: HTTPRequest)?
    private var answers: [(request: HTTPRequest, answer: ReadyAnswer)] = []

    /// Whether nothing is kept for this turn, so that its end need not be waited for.
    var isEmpty: Bool { answers.isEmpty }

    /// The target of the last head admitted, which the next one mostly has as well.
    var target: [UInt8]? { admitted?.head.target }

    /// The request of a head that equals the last one admitted, for another peer of the same kind.
    func request(from peer: HTTPPeer, ifHead isEqual: (RequestHead) -> Bool) -> HTTPRequest? {
        guard let admitted, admitted.request.peer.isUnix == peer.isUnix, isEqual(admitted.head) else { return nil }
        var request = admitted.request
        request.peer = peer
        return request
    }

    /// Remembers a head and what it means.
    mutating func keep(_ request: HTTPRequest, of head: RequestHead) { admitted = (head, request) }

    /// The answer that a request of this turn got.
    func answer(to request: HTTPRequest) -> ReadyAnswer? { answers.first { $0.request == request }?.answer }

    /// Remembers an answer until the end of the turn, where it can be given to others.
    ///
    /// A request that changes something ends the moment that all see.
    mutating func keep(_ answer: ReadyAnswer, to request: HTTPRequest) {
        pass(request)
        guard request.method == "GET" || request.method == "HEAD" else { return }
        guard answer.isForAll, answers.count < Self.most else { return }
        answers.append((request, answer))
    }

    /// Takes note of a request whose answer comes later.
    mutating func pass(_ request: HTTPRequest) {
        if request.method != "GET", request.method != "HEAD" { answers = [] }
    }

    /// Forgets the answers: the turn is over.
    mutating func endTurn() { answers = [] }

    /// Forgets everything: what is admitted has changed.
    mutating func forget() { self = RepeatedRequests() }
}

/// An answer, what the library makes of it, and where it is counted.
@safe final class ReadyAnswer {
    let response: HTTPResponse
    private let route: String
    /// What the library has of an answer for all.
    private var native: OpaquePointer?
    private var counted: (method: String, answers: HTTPMetrics.Answers)?

    init(_ response: HTTPResponse, route: String) {
        self.response = response
        self.route = route
    }

    deinit {
        if let native = unsafe native { unsafe nwp_http_release(native) }
    }

    /// Whether everybody who asks the same may get it.
    var isForAll: Bool {
        guard case .bytes = response.body else { return false }
        return !response.closes
    }

    /// Hands it to the library, for a request.
    /// - Returns: 1, or 0 when the connection is to be closed.
    func queue(on raw: OpaquePointer, for exchange: MicrohttpdExchange) -> Int32 {
        guard let native = unsafe native ?? MicrohttpdResponse.make(response, for: exchange) else { return 0 }
        let queued = unsafe nwp_http_queue(raw, UInt32(response.status), native)
        // What is for one request refers to it, and must not be kept by it.
        if isForAll { unsafe self.native = native } else { unsafe nwp_http_release(native) }
        return queued
    }

    /// Counts that it was given.
    func count(in metrics: HTTPMetrics, method: String, after duration: Duration) {
        if counted?.method != method {
            counted = (method, metrics.answers(route: route, method: method, status: response.status))
        }
        counted?.answers.count(after: duration)
    }
}
