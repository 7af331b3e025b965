// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Judgement
internal import PathModel

/// What one examination found that somebody asked for while the diagnosis is off, for as long as it counts.
///
/// Pure: what was found and moments in.
struct RequestedDiagnosis {
    /// How long it counts: as long as a round of a network in order that is examined again and again.
    static let validity = DiagnosisSchedule.validity(pause: DiagnosisSchedule.interval)

    /// The root causes, worst first.
    private(set) var verdicts: [VerdictTracker.Standing]
    /// What was found by asking; `nil` once the path leads another way.
    private(set) var summary: ExaminationSummary?
    /// When it counts no more, as time since boot.
    let end: Duration

    init(_ verdicts: [Verdict], _ summary: ExaminationSummary) {
        self.verdicts = verdicts.map { VerdictTracker.Standing($0, since: summary.ended, lastSeen: summary.ended) }
        self.summary = summary
        end = summary.ended + summary.validity
    }

    /// Handles a change of the path: of another one nothing is known.
    mutating func take(_ change: PathChange) {
        guard let previous = change.previous, Way(previous) != Way(change.current) else { return }
        verdicts = []
        summary = nil
    }
}

/// What an examination looks at of a path: not how good or how expensive it is.
private struct Way: Equatable {
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
