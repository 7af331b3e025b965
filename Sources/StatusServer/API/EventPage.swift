// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventHub
package import OrderedJSON

/// One page of events, gathered until it is full or there are no more.
package final class EventPage {
    private let feed: EventFeed
    private let limit: Int
    /// Whether the page may begin later than it was asked to.
    private var mayBeCut: Bool
    private let stream: String
    private var lines: [[UInt8]] = []
    private let completion: (Result<HTTPResponse, any Error>) -> Void

    /// Prepares a page of up to `limit` events of `feed`.
    init(
        _ feed: EventFeed,
        limit: Int,
        mayBeCut: Bool,
        stream: String,
        completion: @escaping (Result<HTTPResponse, any Error>) -> Void
    ) {
        self.feed = feed
        self.limit = limit
        self.mayBeCut = mayBeCut
        self.stream = stream
        self.completion = completion
    }

    /// Gathers events, and hands over the page or what went wrong.
    func gather() {
        var isWaiting = true
        while isWaiting {
            isWaiting = false
            var isNow = true
            feed.next(limit: limit - lines.count) { [weak self] result in
                guard let self else { return }
                do {
                    guard try take(result.get()) else { return completion(.success(response)) }
                    // What comes within the call is a turn of the loop above, not of a deeper call.
                    if isNow { isWaiting = true } else { gather() }
                } catch {
                    completion(.failure(error))
                }
            }
            isNow = false
        }
    }

    /// Gives up.
    func cancel() { feed.close() }

    /// - Returns: Whether the page takes more.
    private func take(_ piece: EventFeed.Piece) throws(Problem) -> Bool {
        switch piece {
        case .end: return false
        case .events(let events):
            lines += events.map(\.line)
            return lines.count < limit
        case .cut(let oldest):
            guard mayBeCut, oldest > 0 else {
                throw Problem(.sinceTooOld, status: 410, detail: "The log begins at \(oldest).")
            }
            feed.skip(to: oldest - 1)
            mayBeCut = false
            return true
        }
    }

    private var response: HTTPResponse {
        var bytes = Array("{\"schema\":\"nwpath.events/1\",\"stream\":\(JSONText.quote(stream)),\"events\":[".utf8)
        for (index, line) in lines.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += line.dropLast()
        }
        bytes += Array("],\"next\":\(JSONText.quote("\(stream).\(feed.sequence)"))}\n".utf8)
        return HTTPResponse(
            status: 200,
            fields: [
                HTTPField("Content-Type", "application/json"), HTTPField("Cache-Control", "no-store"),
                HTTPField("Vary", "Accept"),
            ],
            body: .bytes(SharedBytes(bytes))
        )
    }
}

extension EventPage {
    package static var form: Form {
        .document("Events", "A page of events.")
            .member("stream", .stream)
            .member("events", .list(of: Event.form))
            .member("next", .position, "The `since` of the following page.")
    }
}
