// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import MulticastDNS

/// Decides when a browse has seen what there is.
///
/// Pure. There is no end marker on the wire: what is there has been told when two repeated questions, after one and
/// three seconds, brought nothing new and everything that was found is resolved, or known not to be.
struct BrowseProgress {
    /// The second repetition leaves after three seconds, and its answers take up to half a second.
    static let shortest = Duration.milliseconds(3500)
    /// How long nothing new may come.
    static let quiet = Duration.milliseconds(1200)

    private let started: Duration
    private var lastChange: Duration
    private var open: Set<Service.ID> = []

    init(at now: Duration) {
        started = now
        lastChange = now
    }

    mutating func record(_ event: BrowseEvent, at now: Duration) {
        lastChange = now
        switch event {
        case .found(let announcement): open.insert(announcement.id)
        case .resolved(let service), .changed(let service, _, _): open.remove(service.id)
        case .unresolved(let service): open.remove(service.id)
        case .lost(let announcement, _, _, _): open.remove(announcement.id)
        }
    }

    /// When it is over, if nothing else happens; `nil` while something is being resolved.
    var end: Duration? { open.isEmpty ? max(started + Self.shortest, lastChange + Self.quiet) : nil }
}
