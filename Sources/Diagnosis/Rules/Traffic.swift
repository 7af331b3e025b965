// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// What the machine's own connections show; the tests of an examination say where it is broken.
extension RuleEvaluator {
    func trafficFaults(_ evidence: Evidence) -> [Verdict] {
        evidence.traffic.compactMap { traffic in
            switch (traffic.state, traffic.destination) {
            case (.proved, _): nil
            case (.stalled, nil): stalled(traffic, evidence)
            case (.stalled, let destination?): silent(traffic, destination, evidence)
            case (.lossy, _): lossy(traffic)
            }
        }
    }

    private func stalled(_ traffic: TrafficEvidence, _ evidence: Evidence) -> Verdict {
        let isAnsweredElsewhere = evidence.traffic.contains {
            $0.state == .proved && $0.family == traffic.family && $0.isBeyond
        }
        let isContradicted =
            evidence.reach(traffic.family)?.isAlive == true || !traffic.isBeyond || isAnsweredElsewhere
        let gateway = evidence.gateways.first { $0.address == traffic.gateway && $0.interface == traffic.interface }
        let answers = gateway?.isAnswering == true ? "; the gateway itself answers" : ""
        return Verdict(
            .trafficStalled,
            isContradicted ? .degraded : .broken,
            .likely,
            family: traffic.family,
            about: subject(traffic),
            say: traffic.sentence + answers,
            action: answers.isEmpty
                ? "check the router, then the modem and the provider" : "check the modem and the provider",
            evidence: figures(traffic)
        )
    }

    private func silent(_ traffic: TrafficEvidence, _ destination: String, _ evidence: Evidence) -> Verdict {
        // Where nothing else is in use, it may be anything on the path.
        let othersAnswer = traffic.othersAnswer || evidence.reach(traffic.family)?.isAlive == true
        return Verdict(
            .trafficDestinationStalled,
            .warning,
            othersAnswer ? .likely : .possible,
            family: traffic.family,
            about: destination,
            say: traffic.sentence + (othersAnswer ? "; other destinations answer" : "; no other destination is in use"),
            action: othersAnswer
                ? "report to the operator of the hosts in \(destination)"
                : "check the router and the provider, then the hosts in \(destination)",
            evidence: figures(traffic),
            domain: othersAnswer ? .remote : .unknown
        )
    }

    private func lossy(_ traffic: TrafficEvidence) -> Verdict {
        Verdict(
            .trafficLoss,
            traffic.destination == nil ? .degraded : .warning,
            .likely,
            family: traffic.family,
            about: subject(traffic),
            say: traffic.sentence,
            action: traffic.destination.map { "report to the operator of the hosts in \($0)" }
                ?? "check the cable or radio link, then the provider",
            evidence: figures(traffic)
        )
    }

    private func subject(_ traffic: TrafficEvidence) -> String {
        if let destination = traffic.destination { return destination }
        return (traffic.gateway.map { "\($0)" } ?? traffic.interface)
            + (traffic.isPrivate ? " to private addresses" : "")
    }

    private func figures(_ traffic: TrafficEvidence) -> [Verdict.Fact] {
        [.init("connections", traffic.connections), .init("unanswered", traffic.unanswered)]
            + (traffic.loss.map { [.init("retransmit_ratio", ($0 * 1e5).rounded() / 1e5)] } ?? [])
    }
}
