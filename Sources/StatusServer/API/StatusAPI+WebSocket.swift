// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import WebSocketWire

/// `/api/v1/events/ws`: the events as a WebSocket.
extension StatusAPI {
    /// The subprotocol: each text message is one event, as in the log.
    static let subprotocol = "nwpath.v1"

    /// - Returns: `nil` when the answer comes later.
    func eventSocket(_ call: Route.Call) throws -> HTTPResponse? {
        let (request, responder, path) = (call.request, call.responder, call.route.path)
        let handshake: WebSocketServerHandshake
        do throws(WebSocketServerHandshake.Refusal) {
            handshake = try WebSocketServerHandshake(
                method: request.method,
                isHTTP11: request.isHTTP11,
                supported: [Self.subprotocol],
                field: request.field
            )
        } catch {
            return Self.refusal(error)
        }
        guard OriginPolicy(hosts: hosts).allows(request.field("Origin"), at: request.field("Host")) else {
            let detail = "Pages of '\(request.field("Origin") ?? "")' may not subscribe."
            throw Problem(.originNotAllowed, status: 403, detail: detail)
        }
        let query = try call.query()
        let cursor = try cursor(query)
        let peer = request.peer
        try checkRoom(for: peer)
        let fields = handshake.fields.map { HTTPField($0.name, $0.value) }
        let filter = try EventFilter(query["event"])
        guard let cursor else {
            return upgrade(fields, streams.open(.webSocket, from: nil, filter: filter, isUnix: peer.isUnix))
        }
        let feed = EventFeed(provider, from: try place(of: cursor, query), filter: filter)
        responder.onCancelled = { feed.close() }
        // Whether the log still has the place is known with the first piece: what is refused is not upgraded.
        feed.next(limit: EventStreams.page) { [weak self, weak responder] result in
            guard let self, let responder else { return }
            responder.onCancelled = nil
            responder.respond(answer(result, feed, fields, query, peer), route: path)
        }
        return nil
    }

    private func answer(
        _ result: Result<EventFeed.Piece, any Error>,
        _ feed: EventFeed,
        _ fields: [HTTPField],
        _ query: QueryParameters,
        _ peer: HTTPPeer
    ) -> HTTPResponse {
        do {
            let piece = try result.get()
            if case .cut = piece { throw Self.gone(query) }
            try checkRoom(for: peer)
            let filter = try EventFilter(query["event"])
            let stream = streams.open(.webSocket, feed, first: piece, filter: filter, isUnix: peer.isUnix)
            return upgrade(fields, stream)
        } catch {
            feed.close()
            return failure(error)
        }
    }

    private func upgrade(_ fields: [HTTPField], _ stream: OutgoingStream) -> HTTPResponse {
        let socket = EventSocket(stream)
        return HTTPResponse(
            status: 101,
            fields: fields,
            body: .upgrade(HTTPUpgrade(stream: stream, receive: socket.receive))
        )
    }

    private static func refusal(_ refusal: WebSocketServerHandshake.Refusal) -> HTTPResponse {
        switch refusal {
        case .badKey:
            return HTTPResponse(Problem(status: 400, detail: "Sec-WebSocket-Key must be 16 bytes in base 64, once."))
        case .notRequested, .otherVersion:
            let detail = "This route is a WebSocket of version 13; /api/v1/events has the same over plain HTTP."
            return HTTPResponse(
                Problem(status: 426, detail: detail),
                fields: WebSocketServerHandshake.upgradeFields.map { HTTPField($0.name, $0.value) }
            )
        }
    }
}
