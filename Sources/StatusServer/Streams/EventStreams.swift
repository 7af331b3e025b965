// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import Metrics
internal import OrderedJSON
internal import WebSocketWire

enum StreamFormat: Equatable {
    case serverSent
    case lines
    case webSocket

    var contentType: String { self == .serverSent ? "text/event-stream" : "application/x-ndjson" }

    var transport: EventStreamMetrics.Transport {
        switch self {
        case .serverSent: .sse
        case .lines: .ndjson
        case .webSocket: .websocket
        }
    }

    var preamble: [UInt8] { self == .serverSent ? Array("retry: 2000\n\n".utf8) : [] }

    /// What keeps an idle stream alive: a comment, an empty line, or a ping.
    var ping: [UInt8] {
        switch self {
        case .serverSent: Array(": ping\n\n".utf8)
        case .lines: [UInt8(ascii: "\n")]
        case .webSocket: WebSocketServerFrame.ping
        }
    }

    /// Whether clients answer pings.
    var isAnswered: Bool { self == .webSocket }

    /// The last of a stream: an event that says why, and where the format has one, a code.
    func farewell(_ event: EventRecord, code: WebSocketCloseCode, reason: String) -> [UInt8] {
        guard self == .webSocket else { return frame(event) }
        return frame(event) + WebSocketServerFrame.close(WebSocketClose(code, reason: reason))
    }

    func frame(_ event: EventRecord) -> [UInt8] {
        switch self {
        case .lines: return event.line
        case .webSocket: return WebSocketServerFrame.text(Array(event.line.dropLast()))
        case .serverSent: break
        }
        var frame = Array("id: \(event.position)\nevent: \(event.name)\ndata: ".utf8)
        frame += event.line
        frame.append(UInt8(ascii: "\n"))
        return frame
    }
}

/// Sends events to every client that listens, each with a queue and a place of its own.
///
/// A client first catches up from the ring or the log, a page at a time as it reads, and then gets what is broadcast.
/// One that falls behind its bound, or takes nothing for too long, is told by `stream.reset` and dropped; nobody waits for
/// it.
final class EventStreams {
    private final class Subscriber {
        let stream: OutgoingStream
        let format: StreamFormat
        let filter: EventFilter
        /// Whether it came through a unix socket.
        let isUnix: Bool
        /// What it has yet to catch up with; `nil` when it has.
        var feed: EventFeed?
        /// Whether a piece of that is on its way.
        var isReading = false

        init(
            _ stream: OutgoingStream,
            _ format: StreamFormat,
            _ filter: EventFilter,
            _ feed: EventFeed,
            isUnix: Bool
        ) {
            self.stream = stream
            self.format = format
            self.filter = filter
            self.isUnix = isUnix
            self.feed = feed
        }
    }

    /// How many events a client that catches up gets at a time.
    static let page = 64
    private let limit: OutgoingStream.Limit
    private let metrics: EventStreamMetrics
    private unowned let provider: any StatusProviding
    private var subscribers: [ObjectIdentifier: Subscriber] = [:]
    private var unixCount = 0
    /// Called with `true` when the first client comes, and with `false` when the last one left.
    private let onListening: (Bool) -> Void
    /// Calls a closure after a grace period, to cut those who do not even read their farewell.
    private let afterGrace: (@escaping () -> Void) -> Void

    init(
        provider: any StatusProviding,
        limit: OutgoingStream.Limit,
        metrics: EventStreamMetrics,
        onListening: @escaping (Bool) -> Void = { _ in },
        afterGrace: @escaping (@escaping () -> Void) -> Void
    ) {
        self.provider = provider
        self.limit = limit
        self.metrics = metrics
        self.onListening = onListening
        self.afterGrace = afterGrace
    }

    var count: Int { subscribers.count }

    /// How many came through unix sockets, or through the others.
    func count(isUnix: Bool) -> Int { isUnix ? unixCount : subscribers.count - unixCount }

    /// Starts a stream at a place; no cursor is now.
    func open(
        _ format: StreamFormat,
        from cursor: EventCursor?,
        filter: EventFilter,
        isUnix: Bool = false
    ) -> OutgoingStream {
        let start = resolve(cursor)
        let feed = EventFeed(provider, from: start.place, filter: filter)
        return open(format, feed, reset: start.reset, filter: filter, isUnix: isUnix)
    }

    /// Starts a stream with what `feed` gives, of which `first` was taken already.
    func open(
        _ format: StreamFormat,
        _ feed: EventFeed,
        first: EventFeed.Piece? = nil,
        reset: StreamReset.Reason? = nil,
        filter: EventFilter,
        isUnix: Bool = false
    ) -> OutgoingStream {
        let stream = OutgoingStream(limit: limit)
        _ = stream.send(format.preamble)
        let subscriber = Subscriber(stream, format, filter, feed, isUnix: isUnix)
        if let reset { _ = stream.send(format.frame(notice(of: reset))) }
        let id = ObjectIdentifier(subscriber)
        subscribers[id] = subscriber
        if isUnix { unixCount += 1 }
        if subscribers.count == 1 { onListening(true) }
        metrics.opened(format.transport)
        stream.onDrained = { [weak self, weak subscriber] in
            if let subscriber { self?.catchUp(subscriber) }
        }
        stream.onClosed = { [weak self] in self?.remove(id) }
        if let first { take(first, for: subscriber) }
        return stream
    }

    func broadcast(_ event: EventRecord) {
        // Each form is made once and shared by all queues.
        lazy var serverSent = StreamFormat.serverSent.frame(event)
        lazy var webSocket = StreamFormat.webSocket.frame(event)
        for subscriber in Array(subscribers.values) where subscriber.feed == nil {
            guard subscriber.filter.matches(event.name) else { continue }
            switch subscriber.format {
            case .serverSent: send(serverSent, to: subscriber)
            case .lines: send(event.line, to: subscriber)
            case .webSocket: send(webSocket, to: subscriber)
            }
        }
    }

    /// Writes to every client, so that those that are gone are found, drops those that took nothing of what waits since
    /// the last time, and gives up those that did not answer.
    func ping() {
        for subscriber in Array(subscribers.values) {
            if subscriber.stream.isStuck {
                drop(subscriber)
            } else if subscriber.stream.isAwaitingAnswer {
                subscriber.stream.abort()
            } else {
                subscriber.stream.isAwaitingAnswer = subscriber.format.isAnswered
                send(subscriber.format.ping, to: subscriber)
                subscriber.stream.look()
            }
        }
    }

    func close(reason: String) {
        for (id, subscriber) in subscribers {
            let last = provider.notice(StreamClosed(reason: reason))
            subscriber.stream.finish(with: subscriber.format.farewell(last, code: .goingAway, reason: reason))
            remove(id)
        }
    }

    private func send(_ bytes: [UInt8], to subscriber: Subscriber) {
        if !subscriber.stream.send(bytes) { drop(subscriber) }
    }

    private func drop(_ subscriber: Subscriber) {
        // One that is being closed gets no more, and is not slow.
        guard !subscriber.stream.isFinished else { return remove(ObjectIdentifier(subscriber)) }
        metrics.dropped(subscriber.format.transport)
        let reason = StreamReset.Reason.slowClient
        let last = notice(of: reason)
        let farewell = subscriber.format.farewell(last, code: .tryAgainLater, reason: reason.rawValue)
        subscriber.stream.overflow(with: farewell)
        remove(ObjectIdentifier(subscriber))
        afterGrace { [weak stream = subscriber.stream] in stream?.abort() }
    }

    private func catchUp(_ subscriber: Subscriber) {
        while let feed = subscriber.feed, !subscriber.isReading, subscriber.stream.queuedChunks == 0 {
            subscriber.isReading = true
            var isNow = true
            feed.next(limit: Self.page) { [weak self, weak subscriber] result in
                guard let self, let subscriber, !subscriber.stream.isClosed else { return }
                // One that is broken off asks for no more.
                guard let piece = try? result.get() else { return subscriber.stream.abort() }
                subscriber.isReading = false
                take(piece, for: subscriber)
                if !isNow { catchUp(subscriber) }
            }
            isNow = false
        }
    }

    private func take(_ piece: EventFeed.Piece, for subscriber: Subscriber) {
        switch piece {
        case .end: subscriber.feed = nil
        case .events(let events): for event in events { send(subscriber.format.frame(event), to: subscriber) }
        case .cut:
            // The log was cut while this client was away, or reading it.
            subscriber.feed?.skip(to: provider.position.sequence)
            send(subscriber.format.frame(notice(of: .tooOld)), to: subscriber)
        }
    }

    private func remove(_ id: ObjectIdentifier) {
        guard let subscriber = subscribers.removeValue(forKey: id) else { return }
        if subscriber.isUnix { unixCount -= 1 }
        metrics.closed(subscriber.format.transport)
        subscriber.stream.onDrained = nil
        subscriber.feed?.close()
        if subscribers.isEmpty { onListening(false) }
    }
}

// MARK: - Places and notices

extension EventStreams {
    /// Tells one client that it misses something, and what the state is now.
    private func notice(of reason: StreamReset.Reason) -> EventRecord {
        let status = (try? provider.snapshot(of: .status))?.content.bytes
        let state = status.flatMap { try? JSONValue(parsing: Array($0)) }
        return provider.notice(StreamReset(reason, snapshot: state))
    }

    /// Turns what a client asked for into a place, and says when that was never one of this log.
    func resolve(_ cursor: EventCursor?) -> (place: EventPlace, reset: StreamReset.Reason?) {
        let last = provider.position.sequence
        switch cursor {
        case nil: return (.after(last), nil)
        case .age(let age): return (.age(age), nil)
        case .after(let sequence, let stream):
            if let stream, stream != "\(provider.position.stream)" { return (.after(last), .otherStream) }
            return sequence <= last ? (.after(sequence), nil) : (.after(last), .otherStream)
        }
    }
}
