// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// One protocol's agreement with the peer, as it was seen.
struct HandshakeRecord: Sendable {
    let definition: NWProtocolDefinition
    let duration: Duration
    let roundTrip: Duration
}

/// What happened while a connection came about, with times; the report is made of it.
///
/// Pure: every time is an argument, in time since boot.
struct EstablishmentRecord: Sendable {
    typealias Report = NWConnection.EstablishmentReport

    private struct LookUp: Sendable {
        let dns: Report.Resolution.DNSProtocol
        let began: Duration
        var ended: Duration?
        var source = Report.Resolution.Source.query
        var ends: [SocketEnd] = []
    }

    private var start: Duration?
    private var attempt: Duration?
    private var attempts = 0
    private var lookUp: LookUp?
    private var reached: SocketEnd?
    private var handshakes: [HandshakeRecord] = []
    private var ready: Duration?

    /// The connection is prepared, for the first time or again.
    mutating func begin(at now: Duration) {
        start = start ?? now
        attempt = now
        attempts += 1
        (lookUp, reached, ready) = (nil, nil, nil)
        handshakes = []
    }

    /// A lookup began.
    mutating func lookUp(by dns: Report.Resolution.DNSProtocol, at now: Duration) {
        lookUp = LookUp(dns: dns, began: now)
    }

    /// Addresses were found, perhaps because they were known already.
    mutating func found(_ ends: [SocketEnd], isKnown: Bool, at now: Duration) {
        guard var found = lookUp, !ends.isEmpty else { return }
        if isKnown, found.ends.isEmpty { found.source = .cache }
        // What comes later is not what was waited for.
        found.ended = found.ended ?? now
        found.ends += ends
        lookUp = found
    }

    /// An address was connected to; by UDP nobody has agreed to anything.
    mutating func reach(_ end: SocketEnd, _ handshake: HandshakeRecord?) {
        reached = end
        if let handshake { handshakes.append(handshake) }
    }

    /// The connection is ready, after protocols upon the transport agreed as well.
    mutating func finish(_ upper: [HandshakeRecord], at now: Duration) {
        handshakes += upper
        ready = now
    }

    /// The report; `nil` before the connection is ready.
    var report: Report? {
        guard let start, let attempt, let ready else { return nil }
        return Report(
            duration: (ready - attempt).seconds,
            attemptStartedAfterInterval: (attempt - start).seconds,
            previousAttemptCount: attempts - 1,
            handshakes: handshakes.map { handshake in
                Report.Handshake(
                    definition: handshake.definition,
                    handshakeDuration: handshake.duration.seconds,
                    handshakeRTT: handshake.roundTrip.seconds
                )
            },
            resolutions: resolution.map { [$0] } ?? [],
            usedProxy: false,
            proxyConfigured: false,
            proxyEndpoint: nil
        )
    }

    private var resolution: Report.Resolution? {
        guard let lookUp, let ended = lookUp.ended, let reached, let preferred = lookUp.ends.min(by: Self.isPreferred)
        else { return nil }
        return Report.Resolution(
            source: lookUp.source,
            duration: (ended - lookUp.began).seconds,
            endpointCount: lookUp.ends.count,
            successfulEndpoint: reached.endpoint,
            preferredEndpoint: preferred.endpoint,
            dnsProtocol: lookUp.dns
        )
    }

    /// IPv6 comes first (RFC 8305 section 4); within a family the order is that of the answer.
    private static func isPreferred(_ left: SocketEnd, _ right: SocketEnd) -> Bool {
        left.family == .ipv6 && right.family == .ipv4
    }
}

extension Duration {
    /// The length in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
