// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// The service types to query on one interface, bounded in total and per sender.
///
/// Any host can name five thousand types in one packet; each would cost a question per census.
struct TypeMemory: Sendable {
    private static let maximumSources = 256

    private let limit: Int
    private let limitPerSource: Int
    private var wellKnown: Set<DomainName>
    private var lastNamed: [DomainName: Duration] = [:]
    private var newBySource: [IPAddress: Int] = [:]

    init(_ settings: CensusSettings) {
        limit = settings.maximumTypes
        limitPerSource = settings.maximumTypesPerSource
        wellKnown = Set(settings.wellKnownTypes.prefix(limit))
        for type in wellKnown { lastNamed[type] = .zero }
    }

    /// The types, sorted.
    var types: [DomainName] { lastNamed.keys.sorted() }

    /// Sets the types that are remembered although nobody named them.
    mutating func setWellKnown(_ types: [DomainName]) { wellKnown = Set(types.prefix(limit)) }

    func contains(_ type: DomainName) -> Bool { lastNamed[type] != nil }

    /// Forgets who introduced what, so that each sender may introduce types again, and the types without
    /// instances or listings, so that made-up ones are not queried longer than their records live.
    mutating func beginCensus(keeping isBacked: (DomainName) -> Bool) {
        newBySource = [:]
        lastNamed = lastNamed.filter { wellKnown.contains($0.key) || isBacked($0.key) }
    }

    /// Remembers a type that `source` named, and returns whether it is new here.
    ///
    /// `isInUse` says which types must not make room, because they have services.
    mutating func admit(
        _ type: DomainName,
        from source: IPAddress,
        at now: Duration,
        isInUse: (DomainName) -> Bool
    ) -> Bool {
        guard lastNamed[type] == nil else {
            lastNamed[type] = now
            return false
        }
        guard newBySource[source, default: 0] < limitPerSource,
            newBySource[source] != nil || newBySource.count < Self.maximumSources
        else { return false }
        guard remember(type, at: now, isInUse: isInUse) else { return false }
        newBySource[source, default: 0] += 1
        return true
    }

    /// Remembers a type whoever named it, and returns whether it is new here and fits.
    mutating func remember(_ type: DomainName, at now: Duration, isInUse: (DomainName) -> Bool) -> Bool {
        guard lastNamed[type] == nil else { return false }
        if lastNamed.count >= limit {
            let unused = lastNamed.filter { !isInUse($0.key) }
            guard let oldest = unused.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) else { return false }
            lastNamed[oldest.key] = nil
        }
        lastNamed[type] = now
        return true
    }
}
