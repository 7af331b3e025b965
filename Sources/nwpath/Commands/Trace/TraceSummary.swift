// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO
internal import Probes

/// How far packets get, in one sentence.
struct TraceSummary {
    private let host: String
    private let plan: TraceroutePlan
    private let result: TracerouteResult
    private let hops: [TraceDocument.Hop]
    private let own: IPAddress?

    init(
        target: String,
        _ address: ScopedAddress,
        _ plan: TraceroutePlan,
        _ result: TracerouteResult,
        _ hops: [TraceDocument.Hop],
        own: IPAddress?
    ) {
        host = target == "\(address)" ? target : "\(target) (\(address))"
        self.plan = plan
        self.result = result
        self.hops = hops
        self.own = own
    }

    var sentence: (state: TraceDocument.State, text: String) {
        if let destinationDistance = result.destinationDistance {
            return (.arrived, arrived(after: destinationDistance))
        }
        if result.lastAnswered == 0, let text = unsent { return (.unsent, text) }
        let (state, text) = ended
        let delay = result.isDelayed ? "; this machine was too busy to receive all answers" : ""
        return (state, (result.isCut ? "timed out: " : "") + text + delay)
    }

    private func arrived(after distance: Int) -> String {
        var text = "\(host) answers after \(distance) hop\(distance == 1 ? "" : "s")"
        guard let last = hops.last, let median = last.median else { return text }
        text += ", \(ProbeText.time(median.seconds))"
        return last.loss == 0 ? text : text + ", \(ProbeText.percent(last.loss)) of the packets are lost"
    }

    /// What this machine itself keeps back.
    private var unsent: String? {
        switch result.failure {
        case .failure(.blocked, _)?: "a local firewall rule drops packets to \(host)"
        case .failure(.unreachable, let detail)?: "this machine cannot send to \(host): \(detail)"
        case .failure(_, let detail)?: "nothing can be sent to \(host): \(detail)"
        case .notAssessed(let advice)?: advice
        case .success?, nil: nil
        }
    }

    private var ended: (TraceDocument.State, String) {
        let loop = result.loop(answering: 2)
        if let refusal = result.refusal, refusal.distance <= loop?.end ?? .max {
            let speaker =
                refusal.speaker == own ? "this machine itself" : "hop \(refusal.distance) (\(refusal.speaker))"
            return (.unreachable, "\(speaker) reports that \(Self.words(refusal.obstacle))")
        }
        if let loop {
            let names = loop.routers.map { "\($0)" }
            return (.loop, "packets loop between \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "")")
        }
        let last = result.lastAnswered
        guard last > 0, let router = hops[last - 1].speakers.first else {
            return (.silent, "nothing answers, not even the first hop")
        }
        guard last < plan.hops else {
            return (.silent, "\(host) is more than \(last) hops away; hop \(last) is \(router.address)")
        }
        return (.silent, "packets get as far as hop \(last) (\(router.address)); nothing beyond it answers")
    }

    static func words(_ obstacle: PacketObstacle) -> String {
        switch obstacle {
        case .network: "the network is unreachable"
        case .host: "the host is unreachable"
        case .transport: "the protocol is unreachable"
        case .port: "the port is unreachable"
        case .prohibited: "a packet filter refuses the packets"
        case .other: "the destination is unreachable"
        }
    }
}
