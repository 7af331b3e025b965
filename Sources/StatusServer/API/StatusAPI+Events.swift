// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub

/// The three forms of `/api/v1/events`.
extension StatusAPI {
    private static let json = "application/json"

    /// A stream of server-sent events, a stream of JSON lines, or one page, by `Accept`.
    /// - Returns: `nil` when the answer comes later.
    func events(_ call: Route.Call) throws -> HTTPResponse? {
        let formats: [StreamFormat] = [.serverSent, .lines]
        let offers = formats.map(\.contentType) + [Self.json]
        guard let chosen = ContentNegotiation.choose(call.request.field("Accept"), among: offers) else {
            throw Problem(status: 406, detail: "Events come as \(offers.joined(separator: ", ")).")
        }
        guard let format = formats.first(where: { $0.contentType == chosen }) else {
            try page(call)
            return nil
        }
        return try stream(format, call)
    }

    private func stream(_ format: StreamFormat, _ call: Route.Call) throws -> HTTPResponse {
        let (request, query) = (call.request, try call.query(without: ["limit"]))
        var cursor = try cursor(query)
        // A browser that reconnects repeats its first query; the newer place is in the header field.
        if let text = request.field("Last-Event-ID"), !text.isEmpty {
            cursor = EventCursor(text) ?? .after(0, stream: "unknown")
        }
        let fields = [
            HTTPField("Content-Type", format.contentType), HTTPField("Cache-Control", "no-store"),
            HTTPField("X-Accel-Buffering", "no"),
        ]
        guard request.method == "GET" else { return .empty(status: 200, fields: fields) }
        try checkRoom(for: request.peer)
        let filter = try EventFilter(query["event"])
        let stream = streams.open(format, from: cursor, filter: filter, isUnix: request.peer.isUnix)
        return HTTPResponse(status: 200, fields: fields, body: .stream(stream), closes: true)
    }

    /// Makes sure that one more stream is allowed.
    ///
    /// Clients of the unix sockets have places that a crowd at the TCP sockets cannot take, nor the other way round.
    func checkRoom(for peer: HTTPPeer) throws(Problem) {
        guard streams.count(isUnix: peer.isUnix) < limits.streams else {
            throw Problem(.tooManyStreams, status: 429, detail: "There are \(limits.streams) streams already.")
        }
    }

    private func page(_ call: Route.Call) throws {
        let (responder, query) = (call.responder, try call.query())
        let limit = try query.integer("limit", in: 1...1000) ?? 100
        let last = provider.position.sequence
        var place = EventPlace.after(last > UInt64(limit) ? last - UInt64(limit) : 0)
        var mayBeCut = true
        if let cursor = try cursor(query) {
            place = try self.place(of: cursor, query)
            if case .after = place { mayBeCut = false }
        }
        let feed = EventFeed(provider, from: place, filter: try EventFilter(query["event"]))
        lastPage += 1
        let id = lastPage
        let page = EventPage(feed, limit: limit, mayBeCut: mayBeCut, stream: "\(provider.position.stream)") {
            [weak self] result in
            guard let self else { return }
            pages[id] = nil
            responder.onCancelled = nil
            let response =
                switch result {
                case .success(let response): ContentCoding.apply(to: response, for: call.request)
                case .failure(let error): failure(error)
                }
            responder.respond(response, route: call.route.path)
        }
        pages[id] = page
        responder.onCancelled = { [weak self] in self?.pages.removeValue(forKey: id)?.cancel() }
        page.gather()
    }

    /// Where to go on from.
    /// - Throws: ``Problem`` with status 410 when this log never had that place.
    func place(of cursor: EventCursor, _ query: QueryParameters) throws(Problem) -> EventPlace {
        let start = streams.resolve(cursor)
        if start.reset != nil { throw Self.gone(query) }
        return start.place
    }

    static func gone(_ query: QueryParameters) -> Problem {
        let detail = "The events after '\(query["since"] ?? "")' are no longer available, or were never in this log."
        return Problem(.sinceTooOld, status: 410, detail: detail)
    }

    /// The place that `since` names.
    func cursor(_ query: QueryParameters) throws(Problem) -> EventCursor? {
        guard let text = query["since"] else { return nil }
        guard let cursor = EventCursor(text) else {
            throw query.bad("since", text, "an event id such as 7f3a.45, a number, or a duration such as 24h")
        }
        return cursor
    }
}
