// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Metrics

/// Requests that wait for a document to change.
final class LongPolls {
    private struct Waiter {
        let document: StatusDocument
        let condition: String
        let call: Route.Call
        let timer: EventLoop.Timer
    }

    private let loop: EventLoop
    private let metrics: EventStreamMetrics
    private unowned let provider: any StatusProviding
    private var waiters: [UInt64: Waiter] = [:]
    private var unixCount = 0
    private var lastID: UInt64 = 0

    init(loop: EventLoop, provider: any StatusProviding, metrics: EventStreamMetrics) {
        self.loop = loop
        self.provider = provider
        self.metrics = metrics
    }

    var count: Int { waiters.count }

    /// How many came through unix sockets, or through the others.
    func count(isUnix: Bool) -> Int { isUnix ? unixCount : waiters.count - unixCount }

    /// Lets a request wait until `document` no longer matches `condition`, at most `limit`.
    func park(
        _ document: StatusDocument,
        condition: String,
        limit: Duration,
        _ call: Route.Call
    ) {
        lastID += 1
        let id = lastID
        let timer = loop.schedule(after: limit) { [weak self] in self?.answer(id, isOver: true) }
        waiters[id] = Waiter(document: document, condition: condition, call: call, timer: timer)
        if call.request.peer.isUnix { unixCount += 1 }
        metrics.opened(.longpoll)
        call.responder.onCancelled = { [weak self] in self?.forget(id) }
    }

    /// Answers whoever waits for something that has changed.
    func changed() {
        for id in waiters.keys.sorted() { answer(id, isOver: false) }
    }

    /// Answers everybody with what there is.
    func close() {
        for id in waiters.keys.sorted() { answer(id, isOver: true) }
    }

    private func answer(_ id: UInt64, isOver: Bool) {
        guard let waiter = waiters[id] else { return }
        let snapshot = try? provider.snapshot(of: waiter.document)
        let isSame = snapshot?.matches(waiter.condition) ?? false
        guard isOver || !isSame else { return }
        forget(id)
        let (responder, route) = (waiter.call.responder, waiter.call.route.path)
        responder.onCancelled = nil
        guard let snapshot else {
            let problem = Problem(status: 404, detail: "The resource no longer exists.")
            return responder.respond(HTTPResponse(problem), route: route)
        }
        let response = HTTPResponse.document(snapshot, isKnown: isSame)
        responder.respond(ContentCoding.apply(to: response, for: waiter.call.request), route: route)
    }

    private func forget(_ id: UInt64) {
        guard let waiter = waiters.removeValue(forKey: id) else { return }
        if waiter.call.request.peer.isUnix { unixCount -= 1 }
        loop.cancel(waiter.timer)
        metrics.closed(.longpoll)
    }
}

extension HTTPResponse {
    /// A document with its entity tag, or 304 when the client has it.
    static func document(_ snapshot: Snapshot, isKnown: Bool) -> HTTPResponse {
        let fields = [HTTPField("ETag", snapshot.entityTag), HTTPField("Cache-Control", "no-cache")]
        guard !isKnown else { return .empty(status: 304, fields: fields) }
        return HTTPResponse(
            status: 200,
            fields: [HTTPField("Content-Type", "application/json")] + fields,
            body: .bytes(snapshot.content)
        )
    }
}
