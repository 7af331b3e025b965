// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CMicrohttpdShims
internal import Metrics

/// What need not be worked out again when many clients ask the same.
///
/// Clients that keep their connection send the same head again and again, and within one turn of the event loop they
/// get the same answer: whatever was asked before the turn began sees one moment.
final class RepeatedRequests {
    /// A head that was admitted, what it means, and the answer that it got in this turn.
    final class Known {
        let head: RequestHead
        let request: HTTPRequest
        fileprivate var answer: (peer: HTTPPeer, ready: ReadyAnswer)?

        fileprivate init(_ head: RequestHead, _ request: HTTPRequest) {
            self.head = head
            self.request = request
        }

        /// The request, as another peer of the same kind asks it.
        func request(from peer: HTTPPeer) -> HTTPRequest {
            var request = request
            request.peer = peer
            return request
        }

        /// The answer that the peer would get; `nil` when it was not asked for in this turn.
        func answer(for peer: HTTPPeer) -> ReadyAnswer? {
            guard let answer, answer.peer == peer else { return nil }
            return answer.ready
        }
    }

    /// How many different heads are kept, and answers of a turn.
    private static let most = 8

    private var known: [Known] = []
    /// Those that have an answer, also when their head has made room for others meanwhile.
    private var answered: [Known] = []
    /// Whether nothing is kept for this turn, so that its end need not be waited for.
    var isEmpty: Bool { answered.isEmpty }

    /// The target of a head that was admitted, where one has it.
    func target(where isEqual: ([UInt8]) -> Bool) -> [UInt8]? { known.first { isEqual($0.head.target) }?.head.target }

    /// A head that was admitted for a peer of the same kind: what a unix socket lets in, others need not.
    func known(for peer: HTTPPeer, where isEqual: (RequestHead) -> Bool) -> Known? {
        known.first { $0.request.peer.isUnix == peer.isUnix && isEqual($0.head) }
    }

    func keep(_ request: HTTPRequest, of head: RequestHead) -> Known {
        if known.count == Self.most { known.removeFirst() }
        let new = Known(head, request)
        known.append(new)
        return new
    }

    /// Takes note of what a request got, `nil` when its answer comes later, until the end of the turn.
    ///
    /// A request that changes something ends the moment that all see.
    func keep(_ ready: ReadyAnswer?, to request: HTTPRequest, of known: Known) {
        guard request.method == "GET" || request.method == "HEAD" else { return endTurn() }
        guard let ready, ready.isForAll, request.body.isEmpty else { return }
        if case .none = known.answer {
            guard answered.count < Self.most else { return }
            answered.append(known)
        }
        known.answer = (request.peer, ready)
    }

    /// Forgets the answers: the turn is over.
    func endTurn() {
        for known in answered { known.answer = nil }
        answered = []
    }

    /// Forgets everything: what is admitted has changed.
    func forget() {
        endTurn()
        known = []
    }
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

    func count(in metrics: HTTPMetrics, method: String, after duration: Duration) {
        if counted?.method != method {
            counted = (method, metrics.answers(route: route, method: method, status: response.status))
        }
        counted?.answers.count(after: duration)
    }
}
