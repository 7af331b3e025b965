// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import LinuxIO
internal import PathEngine
internal import PathModel
internal import Traffic

/// What connections say to the headline and to a diagnosis.
extension TrafficMonitor {
    /// What paths and destinations show now; nothing of those of which nothing is known.
    var evidence: [TrafficEvidence] {
        standing.map { standing in
            let finding = standing.finding
            let state: TrafficEvidence.State =
                switch standing.state {
                case .stalled: .stalled
                case .lossy: .lossy
                default: .proved
                }
            return TrafficEvidence(
                state,
                family: finding.path.family,
                interface: finding.path.interface,
                gateway: finding.path.gateway,
                destination: finding.destination?.description,
                isPrivate: finding.path.range == .private,
                isBeyond: engine.core.path.uses(finding.path),
                connections: finding.connections,
                unanswered: finding.unanswered,
                loss: finding.loss,
                othersAnswer: finding.othersAnswer,
                sentence: state == .lossy ? finding.lossSentence : finding.unansweredSentence
            )
        }
    }

    /// What connections to public addresses show of the gateways of a path, as time since boot.
    func observations(of path: Path) -> [TrafficObservation] {
        let asleep = loop.clock.boot - loop.clock.awake
        return tracker.proofs.filter { path.uses($0.path) }.map { proof in
            TrafficObservation(
                family: proof.path.family,
                interface: proof.path.interface,
                gateway: proof.path.gateway,
                answered: proof.answered.map { $0 + asleep },
                stalledSince: proof.stalledSince.map { $0 + asleep }
            )
        }
    }

    /// Whether several connections through each gateway of a path were answered just now.
    func isProving(_ path: Path) -> Bool {
        let used = report.paths.filter { path.uses($0.path) }
        let families = Set(used.map(\.path.family))
        let isWhole = AddressFamily.allCases.allSatisfy { family in
            !(family == .ipv4 ? path.supportsIPv4 : path.supportsIPv6) || families.contains(family)
        }
        return isWhole
            && used.allSatisfy { [.proved, .slow].contains($0.figures.state) && $0.figures.connections >= 3 }
    }
}

extension Path {
    /// Whether the packets of connections to public addresses leave as those of this path do.
    fileprivate func uses(_ traffic: TrafficPath) -> Bool {
        guard traffic.range == .public, let family = traffic.family == .ipv4 ? ipv4 : ipv6,
            family.interfaces.contains(where: { $0.index == traffic.index })
        else { return false }
        let gateways = family.gateways.filter { $0.interface == traffic.interface }.map(\.address.address)
        return traffic.gateway.map(gateways.contains) ?? gateways.isEmpty
    }
}
