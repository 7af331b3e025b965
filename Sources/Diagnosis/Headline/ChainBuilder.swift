// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import PathModel

/// Shows which element between this machine and the name server is at fault, and which are not tested.
struct ChainBuilder {
    let facts: HeadlineFacts
    let verdicts: [VerdictTracker.Standing]
    let evaluation: HeadlineEvaluator
    let finding: HeadlineEvaluator.Finding

    var chain: [ChainElement] {
        var isBroken = false
        return [host, interface, gateway, internet, dns].map { element in
            let element = marked(element)
            defer { isBroken = isBroken || element.condition == .broken }
            return isBroken ? ChainElement(element.kind, element.name, .notReached) : element
        }
    }

    /// The element at fault is broken, or degraded where something still works.
    private func marked(_ element: ChainElement) -> ChainElement {
        guard element.kind == finding.element else { return element }
        let condition: ChainElement.Condition = finding.state.level == .bad ? .broken : .degraded
        return ChainElement(element.kind, element.name, condition, roundTrip: element.roundTrip)
    }

    private var host: ChainElement { ChainElement(.host, facts.host, .good) }

    private var interface: ChainElement {
        let name = facts.path.interfaces.first?.name ?? facts.path.subject?.interface
        let isWorse = facts.path.warnings.contains(.degraded) || hasWarning(of: [.link, .address])
        return ChainElement(.interface, name, isWorse ? .degraded : .good)
    }

    private var gateway: ChainElement {
        let (gateways, first) = (facts.path.gateways, facts.path.firstGateway)
        let name = first.map { "\($0.address)" }
        // The test of a gateway may have no address yet.
        func isTarget(_ address: String?) -> Bool {
            address == nil || address == first.map { "\($0.address.address)" }
        }
        let answering = facts.probes.filter { $0.position == .gateway && evaluation.isAnswered($0) }
        let roundTrip = answering.first { isTarget($0.address) }?.roundTrip
        let condition: ChainElement.Condition =
            if gateways.contains(where: { $0.isReachable == false }) || hasWarning(of: [.gateway]) {
                .degraded
            } else if evaluation.hasInternet || roundTrip != nil || gateways.contains(where: { $0.isReachable == true })
            {
                .good
            } else {
                .notAsked
            }
        return ChainElement(.gateway, name, condition, roundTrip: roundTrip)
    }

    private var internet: ChainElement {
        let answers = facts.probes.filter { $0.position == .beyond && evaluation.isAnswered($0) }.compactMap(
            \.roundTrip
        )
        let isFailing = facts.probes.contains { $0.position == .beyond && $0.isFailing && !$0.failsAtName }
        let isWorse = isFailing || hasWarning(of: [.wan, .transport])
        let condition: ChainElement.Condition = isWorse ? .degraded : evaluation.hasInternet ? .good : .notAsked
        return ChainElement(.internet, nil, condition, roundTrip: answers.min())
    }

    private var dns: ChainElement {
        let name = facts.path.dns.servers.first?.description
        let answers = facts.probes.filter { $0.position == .nameServer && evaluation.isAnswered($0) }.compactMap(
            \.roundTrip
        )
        let isWorse = facts.probes.contains { $0.position == .nameServer && $0.isFailing } || hasWarning(of: [.dns])
        let condition: ChainElement.Condition = isWorse ? .degraded : evaluation.hasNames ? .good : .notAsked
        return ChainElement(.dns, name, condition, roundTrip: answers.min())
    }

    private func hasWarning(of layers: [Layer]) -> Bool {
        verdicts.map(\.verdict).contains { verdict in
            // What counters show as a warning may be about a link that nothing passes.
            let least: Severity = verdict.code.isOfCounters ? .degraded : .warning
            return layers.contains(verdict.code.layer) && verdict.severity >= least
        }
    }
}
