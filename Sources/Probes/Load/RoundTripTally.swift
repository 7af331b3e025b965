// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How long a step of a request took, as far as that is known.
enum StepTime: Equatable {
    /// It was not taken, or not begun.
    case none
    case took(Duration)
    /// It had not ended after this long.
    case longer(Duration)
}

/// The steps of one small request: each is about a round trip (with TLS 1.3).
struct RequestSteps: Equatable {
    var tcp = StepTime.none
    var tls = StepTime.none
    var http = StepTime.none
}

/// When a request came how far, in microseconds since it began; 0 for what has not happened.
struct RequestMoments: Equatable {
    var resolved = 0
    var connected = 0
    var secured = 0
    var ready = 0
    var answered = 0

    /// The steps of a request that is `age` old.
    /// - Parameters:
    ///   - isSecure: Whether its connection is encrypted.
    ///   - isKept: Whether it may have taken over an open connection, so that its answer alone counts.
    ///   - age: How long ago it began.
    /// - Returns: What each step took until now.
    func steps(isSecure: Bool, isKept: Bool, age: Duration) -> RequestSteps {
        var steps = RequestSteps()
        steps.http = step(from: ready, to: answered, age)
        guard !isKept else { return steps }
        steps.tcp = step(from: resolved, to: connected, age, isBegun: true)
        if isSecure { steps.tls = step(from: connected, to: secured, age) }
        return steps
    }

    private func step(from start: Int, to end: Int, _ age: Duration, isBegun: Bool = false) -> StepTime {
        if end > 0 { return .took(.microseconds(max(0, end - start))) }
        guard start > 0 || isBegun else { return .none }
        return .longer(max(.zero, age - .microseconds(start)))
    }
}

/// Adds small requests up to responsiveness: how many round trips a minute has room for.
///
/// Source: draft-ietf-ippm-responsiveness-08 section 4.3.1. Requests on connections of their own (foreign) and on one
/// that is kept open (self) count half each; means are trimmed by the largest 5 %.
struct RoundTripTally {
    private var tcp: [StepTime] = []
    private var tls: [StepTime] = []
    private var http: [StepTime] = []
    private var own: [StepTime] = []

    /// Adds a request on a connection of its own.
    mutating func addForeign(_ steps: RequestSteps) {
        tcp.append(steps.tcp)
        tls.append(steps.tls)
        http.append(steps.http)
    }

    /// Adds a request on the connection that is kept.
    mutating func addOwn(_ steps: RequestSteps) { own.append(steps.http) }

    /// How many connections were made.
    var count: Int { tcp.count { if case .took = $0 { true } else { false } } }

    /// The median time to make a connection: a round trip through every queue on the way.
    var median: Duration? {
        guard count > 0 else { return nil }
        let times = Self.times(tcp).sorted()
        return times[times.count / 2]
    }

    /// Round trips per minute; `nil` when no connection was made.
    var roundTripsPerMinute: Int? {
        guard count > 0 else { return nil }
        let means = [tcp, tls, http].compactMap(Self.mean)
        let foreign = means.reduce(.zero, +) / max(1, means.count)
        let halves = [foreign, Self.mean(own) ?? foreign].map { Duration.seconds(60) / max($0, .microseconds(1)) }
        return Int(((halves[0] + halves[1]) / 2).rounded())
    }

    /// The trimmed mean; `nil` of nothing.
    static func mean(_ steps: [StepTime]) -> Duration? {
        let times = times(steps)
        let kept = times.sorted().dropLast(times.count / 20)
        return kept.isEmpty ? nil : kept.reduce(.zero, +) / kept.count
    }

    /// How long steps took; one without an end counts with what it had taken if that is longer than others took, for
    /// else the longest were left out.
    private static func times(_ steps: [StepTime]) -> [Duration] {
        let known = steps.compactMap { step -> Duration? in if case .took(let time) = step { time } else { nil } }
        let open = steps.compactMap { step -> Duration? in if case .longer(let time) = step { time } else { nil } }
        guard !known.isEmpty else { return open }
        let usual = known.reduce(.zero, +) / known.count
        return known + open.filter { $0 > usual }
    }
}
