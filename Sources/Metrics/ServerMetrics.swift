// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public final class HTTPMetrics {
    /// Requests answered, by route pattern, method and status code.
    public let requests: Counter
    /// Time from request line to answer.
    public let durations: Histogram
    /// Connections that could not be taken.
    public let connectionsRefused = Counter(
        .counter("http_connections_refused", "Connections refused at the connection limit.")
    )
    public let connectionsTimedOut = Counter(
        .counter("http_connections_timed_out", "Connections closed on a timeout.")
    )

    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]

    /// Makes the metrics; `routes` are the patterns that get a zero from the start.
    public init(routes: [String] = []) {
        let labels = ["handler", "method", "code"]
        requests = Counter(
            .counter("http_requests", "HTTP requests answered.", labels),
            children: routes.map { [$0, "GET", "200"] }
        )
        durations = Histogram(.histogram("http_request_duration_seconds", "Time from request line to answer.", labels))
    }

    public struct Answers {
        let requests: Counter.Child
        let durations: Histogram.Child

        /// Counts one more, given this long after its request line.
        public func count(after duration: Duration) {
            requests.increment()
            let (seconds, attoseconds) = duration.components
            durations.observe(Double(seconds) + Double(attoseconds) / 1e18)
        }
    }

    /// Where answers are counted; methods nobody uses are counted as `other`, so that clients cannot make series.
    public func answers(route: String, method: String, status: Int) -> Answers {
        let labels = [route, Self.methods.contains(method) ? method : "other", "\(status)"]
        return Answers(requests: requests.child(labels), durations: durations.child(labels))
    }

    /// Counts one request that could not be read far enough to know its route or method, and was answered all the same.
    public func refused(status: Int) { requests.increment("invalid", "other", "\(status)") }

    public func register(in registry: MetricRegistry) {
        registry.add(requests)
        registry.add(durations)
        registry.add(connectionsRefused)
        registry.add(connectionsTimedOut)
    }
}

public final class EventStreamMetrics {
    public enum Transport: String, CaseIterable, Sendable {
        case sse
        case websocket
        case longpoll
        case ndjson
    }

    private static let clientsFamily = MetricFamily.gauge(
        "event_stream_clients",
        "Subscribed clients.",
        ["transport"]
    )
    private var clients: [Transport: Int] = [:]
    private let dropped = Counter(
        .counter(
            "event_stream_dropped",
            "Clients dropped because they were too slow, or read nothing for too long.",
            ["transport"]
        ),
        children: Transport.allCases.map { [$0.rawValue] }
    )

    public init() {}

    public func opened(_ transport: Transport) { clients[transport, default: 0] += 1 }

    /// A client left, or was dropped.
    public func closed(_ transport: Transport) { clients[transport, default: 0] -= 1 }

    /// A client was too slow and is being dropped.
    public func dropped(_ transport: Transport) { dropped.increment(transport.rawValue) }

    public func clients(_ transport: Transport) -> Int { clients[transport] ?? 0 }

    public func drops(_ transport: Transport) -> Int { Int(dropped.value(transport.rawValue)) }

    public func register(in registry: MetricRegistry) {
        registry.add { [self] writer in
            for transport in Transport.allCases {
                writer.write(Self.clientsFamily, Double(clients(transport)), transport.rawValue)
            }
        }
        registry.add(dropped)
    }
}
