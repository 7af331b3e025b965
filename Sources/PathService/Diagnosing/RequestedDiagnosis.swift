// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import PathModel

/// The result of one requested examination while the diagnosis is off, for as long as it counts.
///
/// Pure: results and times in.
struct RequestedDiagnosis {
    /// How long it counts: as long as a round of a network in order that is examined again and again.
    static let validity = DiagnosisSchedule.validity(pause: DiagnosisSchedule.interval)
    /// How long a fault counts that nothing confirms.
    static let faultValidity = Duration.seconds(20)

    private var found: [VerdictTracker.Standing]
    /// What was found out; `nil` once the path is another one.
    private(set) var summary: ExaminationSummary?
    /// When it counts no more, as time since boot.
    let end: Duration

    init(_ verdicts: [Verdict], _ summary: ExaminationSummary) {
        found = verdicts.map { VerdictTracker.Standing($0, since: summary.ended, lastSeen: summary.ended) }
        self.summary = summary
        end = summary.ended + summary.validity
        if !verdicts.isEmpty { self.summary?.validity = Self.faultValidity }
    }

    /// The root causes that count, worst first.
    func verdicts(at now: Duration) -> [VerdictTracker.Standing] {
        found.filter { now - $0.lastSeen <= Self.faultValidity }
    }

    /// Applies a change of the path: of another one nothing is known.
    mutating func apply(_ change: PathChange) {
        guard let previous = change.previous, ExaminedPath(previous) != ExaminedPath(change.current) else { return }
        found = []
        summary = nil
    }
}

/// What an examination depends on of a path: not how good or how expensive it is.
struct ExaminedPath: Equatable {
    let status: PathStatus
    let interfaces: [PathInterface]
    let gateways: [ScopedAddress]
    let sources: [IPAddress]
    let servers: [DNSServer]

    init(_ path: Path) {
        status = path.status
        interfaces = path.interfaces
        gateways = path.gateways.map(\.address)
        sources = [path.ipv4, path.ipv6].compactMap { $0?.source }
        servers = path.dns.servers
    }
}
