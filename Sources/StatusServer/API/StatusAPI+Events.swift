// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// The three forms of `/api/v1/events`.
extension StatusAPI {
    private static let json = "application/json"

    /// A stream of server-sent events, a stream of JSON lines, or one page, by `Accept`.
    func events(_ request: HTTPRequest) throws -> HTTPResponse {
        let formats: [StreamFormat] = [.serverSent, .lines]
        let offers = formats.map(\.contentType) + [Self.json]
        guard let chosen = ContentNegotiation.choose(request.field("Accept"), among: offers) else {
            throw Problem(status: 406, detail: "Events come as \(offers.joined(separator: ", ")).")
        }
        guard let format = formats.first(where: { $0.contentType == chosen }) else { return try page(request) }
        return try stream(format, request)
    }

    private func stream(_ format: StreamFormat, _ request: HTTPRequest) throws -> HTTPResponse {
        let query = try QueryParameters(request.query, allowed: ["since", "event"])
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
        try checkRoom()
        let stream = try streams.open(format, from: cursor, filter: EventFilter(query["event"]))
        return HTTPResponse(status: 200, fields: fields, body: .stream(stream), closes: true)
    }

    /// Makes sure that one more stream is allowed.
    func checkRoom() throws(Problem) {
        guard streams.count < limits.streams else {
            throw Problem(.tooManyStreams, status: 429, detail: "There are \(limits.streams) streams already.")
        }
    }

    private func page(_ request: HTTPRequest) throws -> HTTPResponse {
        let query = try QueryParameters(request.query, allowed: ["since", "limit", "event"])
        let limit = try query.integer("limit", in: 1...1000) ?? 100
        let filter = EventFilter(query["event"])
        let last = provider.lastSequence
        var sequence = last > UInt64(limit) ? last - UInt64(limit) : 0
        var mayBeCut = true
        if let cursor = try cursor(query) {
            if case .age = cursor {} else { mayBeCut = false }
            sequence = try place(of: cursor, query)
        }
        var lines: [[UInt8]] = []
        // A filter may pass over many; the page ends after a bounded look.
        for _ in 0..<64 where lines.count < limit {
            switch try provider.events(after: sequence, limit: max(64, limit - lines.count)) {
            case .tooOld(let oldest):
                guard mayBeCut, oldest > 0 else {
                    throw Problem(.sinceTooOld, status: 410, detail: "The log begins at \(oldest).")
                }
                sequence = oldest - 1
                mayBeCut = false
            case .events(let events):
                guard !events.isEmpty else { return page(lines, next: sequence) }
                for event in events where lines.count < limit {
                    sequence = event.sequence
                    if filter.matches(event.name) { lines.append(event.line) }
                }
            }
        }
        return page(lines, next: sequence)
    }

    /// The number to go on from.
    /// - Throws: ``Problem`` with status 410 when the log does not hold what follows.
    func place(of cursor: EventCursor, _ query: QueryParameters) throws -> UInt64 {
        let start = try streams.resolve(cursor)
        guard start.reset == nil else {
            let detail = "The events after '\(query["since"] ?? "")' are no longer held, or were never in this log."
            throw Problem(.sinceTooOld, status: 410, detail: detail)
        }
        return start.sequence
    }

    private func page(_ lines: [[UInt8]], next: UInt64) -> HTTPResponse {
        let stream = provider.eventStream
        var bytes = Array("{\"schema\":\"nwpath.events/1\",\"stream\":\(JSONText.quote(stream)),\"events\":[".utf8)
        for (index, line) in lines.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...]
        }
        bytes += Array("],\"next\":\(JSONText.quote("\(stream).\(next)"))}\n".utf8)
        return HTTPResponse(
            status: 200,
            fields: [
                HTTPField("Content-Type", Self.json), HTTPField("Cache-Control", "no-store"),
                HTTPField("Vary", "Accept"),
            ],
            body: .bytes(SharedBytes(bytes))
        )
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
