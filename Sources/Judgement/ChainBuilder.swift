// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import PathModel

/// Shows where on the way out something is wrong, and what nobody asked.
struct ChainBuilder {
    let facts: HeadlineFacts
    let signs: HeadlineJudge
    let finding: HeadlineJudge.Finding

    var chain: [ChainElement] {
        var isBroken = false
        return [host, interface, gateway, internet, dns].map { element in
            let element = blamed(element)
            defer { isBroken = isBroken || element.condition == .broken }
            return isBroken ? ChainElement(element.kind, element.name, .notReached) : element
        }
    }

    /// What the headline blames is broken, or degraded where something still works.
    private func blamed(_ element: ChainElement) -> ChainElement {
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
        let gateways = facts.path.gateways
        let name = gateways.first.map { "\($0.address)" }
        let roundTrip = facts.probes.first { $0.place == .gateway && signs.isAnswered($0) }?.roundTrip
        let condition: ChainElement.Condition =
            if gateways.contains(where: { $0.isReachable == false }) || hasWarning(of: [.gateway]) {
                .degraded
            } else if signs.hasInternet || roundTrip != nil || gateways.contains(where: { $0.isReachable == true }) {
                .good
            } else {
                .notAsked
            }
        return ChainElement(.gateway, name, condition, roundTrip: roundTrip)
    }

    private var internet: ChainElement {
        let answers = facts.probes.filter { $0.place == .beyond && signs.isAnswered($0) }.compactMap(\.roundTrip)
        let isFailing = facts.probes.contains { $0.place == .beyond && $0.isFailing }
        let isWorse = isFailing || hasWarning(of: [.wan, .transport])
        let condition: ChainElement.Condition = isWorse ? .degraded : signs.hasInternet ? .good : .notAsked
        return ChainElement(.internet, nil, condition, roundTrip: answers.min())
    }

    private var dns: ChainElement {
        let name = facts.path.dns.servers.first?.description
        let answers = facts.probes.filter { $0.place == .nameServer && signs.isAnswered($0) }.compactMap(\.roundTrip)
        let isWorse = facts.probes.contains { $0.place == .nameServer && $0.isFailing } || hasWarning(of: [.dns])
        let condition: ChainElement.Condition = isWorse ? .degraded : signs.hasNames ? .good : .notAsked
        return ChainElement(.dns, name, condition, roundTrip: answers.min())
    }

    private func hasWarning(of layers: [Layer]) -> Bool {
        facts.verdicts.contains { layers.contains($0.code.layer) && $0.severity >= .warning }
    }
}
