// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What need not be worked out again when many clients ask the same.
///
/// Clients that keep their connection send the same head again and again, and within one turn of the event loop they
/// get the same answer: whatever was asked before the turn began sees one moment.
struct RepeatedRequests {
    /// How many different answers of a turn are kept.
    private static let most = 8

    private var admitted: (head: RequestHead, isUnix: Bool, request: HTTPRequest)?
    private var answers: [(request: HTTPRequest, response: HTTPResponse, route: String)] = []

    /// Whether nothing is kept for this turn, so that its end need not be waited for.
    var isEmpty: Bool { answers.isEmpty }

    /// The request of a head that equals the last one admitted, for another peer of the same kind.
    func request(of head: RequestHead, from peer: HTTPPeer) -> HTTPRequest? {
        guard let admitted, admitted.isUnix == peer.isUnix, admitted.head == head else { return nil }
        var request = admitted.request
        request.peer = peer
        return request
    }

    /// Remembers a head and what it means.
    mutating func keep(_ request: HTTPRequest, of head: RequestHead) {
        admitted = (head, request.peer.isUnix, request)
    }

    /// The answer that a request of this turn got.
    func answer(to request: HTTPRequest) -> (response: HTTPResponse, route: String)? {
        guard let known = answers.first(where: { $0.request == request }) else { return nil }
        return (known.response, known.route)
    }

    /// Remembers an answer until the end of the turn, where it can be given to others.
    ///
    /// A request that changes something ends the moment that all see.
    mutating func keep(_ response: HTTPResponse, route: String, to request: HTTPRequest) {
        pass(request)
        guard request.method == "GET" || request.method == "HEAD" else { return }
        guard case .bytes = response.body, !response.closes, answers.count < Self.most else { return }
        answers.append((request, response, route))
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
