// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import LinuxIO
internal import Probes

/// What is tested at once; each stage waits for all answers of the one before.
enum ExaminationStage {
    case destination
    /// A carrier that is gone may come back at once.
    case carrier
    case network
    /// Queries that got no answer, on further flows.
    case recheck
    /// What depends on which hosts answer: where packets end, and how large they may be.
    case depth
    /// Whether packets that are too large stall transfers.
    case confirmation
    /// Trains of packets, alone, so that nothing disturbs them.
    case quality
    /// What separates loss from limits of ICMP, alone as well.
    case comparison
    /// The line under load, alone as well.
    case load
}

/// One check of an examination: decides by what is known whether to test, queues probes, and records their results.
///
/// A new check is a file in `Checks` and an entry of the table.
struct Check: Sendable {
    let stage: ExaminationStage
    let start: @Sendable (inout ExaminationState) -> Void

    init(_ stage: ExaminationStage, start: @escaping @Sendable (inout ExaminationState) -> Void) {
        self.stage = stage
        self.start = start
    }

    /// All of them, in the order of their packets.
    static let table: [Check] = [
        neighbors, anchors, pages, proxies, nameServers, hostsFile, lookup, time, routers, dhcp,
        recheck,
        witness, quic, traceroute, tunnels, uplinks, packetSizes, sources,
        stalls, quality, loss, connections, load,
    ]
}

/// Something that a check wants to know, and what becomes of the answer.
struct CheckTask {
    /// What the examiner offers a task.
    struct Context {
        let loop: EventLoop
        let pages: PageClient
        /// Changes what is known, before the task is over.
        let record: (@escaping (inout ExaminationState) -> Void) -> Void
        /// Changes what is known, and ends the task.
        let finish: (@escaping (inout ExaminationState) -> Void) -> Void
    }

    let layer: Layer
    let start: (Context) -> any Cancelable
}
