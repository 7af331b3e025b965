// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import WebSocketWire

/// `/api/v1/events/ws`: the events as a WebSocket.
extension StatusAPI {
    /// The subprotocol: each text message is one event, as in the log.
    static let subprotocol = "nwpath.v1"

    func eventSocket(_ request: HTTPRequest) throws -> HTTPResponse {
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
            let detail = "Pages of '\(request.field("Origin") ?? "")' may not listen here."
            throw Problem(.originNotAllowed, status: 403, detail: detail)
        }
        let query = try QueryParameters(request.query, allowed: ["since", "event"])
        let cursor = try cursor(query)
        try checkRoom()
        if let cursor { _ = try place(of: cursor, query) }
        let stream = try streams.open(.webSocket, from: cursor, filter: EventFilter(query["event"]))
        let socket = EventSocket(stream)
        return HTTPResponse(
            status: 101,
            fields: handshake.fields.map { HTTPField($0.name, $0.value) },
            body: .upgrade(HTTPUpgrade(stream: stream, receive: socket.receive))
        )
    }

    private static func refusal(_ refusal: WebSocketServerHandshake.Refusal) -> HTTPResponse {
        switch refusal {
        case .badKey:
            return HTTPResponse(Problem(status: 400, detail: "Sec-WebSocket-Key must be 16 bytes in base 64, once."))
        case .notAsked, .otherVersion:
            let detail = "This route is a WebSocket of version 13; /api/v1/events has the same over plain HTTP."
            return HTTPResponse(
                Problem(status: 426, detail: detail),
                fields: WebSocketServerHandshake.upgradeFields.map { HTTPField($0.name, $0.value) }
            )
        }
    }
}
