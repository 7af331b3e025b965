// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Evaluates evidence, layer by layer: verdicts, with consequences masked by their cause.
///
/// Pure: the same evidence gives the same diagnosis. A check without evidence is never guessed.
public struct RuleEvaluator: Sendable {
    public var budgets: Budgets

    public init(budgets: Budgets = Budgets()) { self.budgets = budgets }

    public func evaluate(_ evidence: Evidence) -> Diagnosis {
        guard evidence.isNetworkExamined else {
            let found = evidence.health + shortage(evidence) + proxyFaults(evidence) + destinationFaults(evidence)
            return Diagnosis(found, evidence: evidence)
        }
        let found =
            linkFaults(evidence) + evidence.health + addressFaults(evidence) + shortage(evidence)
            + localFaults(evidence)
            + gatewayFaults(evidence) + portalFaults(evidence) + reachFaults(evidence) + trafficFaults(evidence)
            + nameServerFaults(evidence)
            + transportFaults(evidence) + applicationFaults(evidence) + proxyFaults(evidence)
            + performanceFaults(evidence)
            + destinationFaults(evidence)
        return Diagnosis(withoutDirectPath(found, evidence), evidence: evidence)
    }
}

extension Evidence {
    /// The families that this machine uses: those with a route, a gateway, or anchors that were tested.
    var families: Set<AddressFamily> {
        var families = Set(gateways.map(\.address.family))
        families.formUnion(sending.filter { $0.route.value == .found }.map(\.family))
        families.formUnion(reach.filter { $0.isAlive != nil }.map(\.family))
        return families
    }

    var hasOpenRoute: Bool { sending.contains { $0.route.value == .found } }

    /// Whether an address is a gateway's, or this machine's own.
    func isNear(_ address: IPAddress) -> Bool { address.isLoopback || gateways.contains { $0.address == address } }

    func isRouter(_ address: IPAddress) -> Bool { gateways.contains { $0.address == address } }

    /// Whether an address is that of a host on a link of this machine.
    func isOnLink(_ address: IPAddress) -> Bool { onLink.contains(address) }

    var answeringServers: [NameServerEvidence] { (dns.value ?? []).filter { $0.isAlive == true } }

    func reach(_ family: AddressFamily) -> ReachEvidence? { reach.first { $0.family == family } }

    /// The link that carries the traffic, or should.
    var mainLink: LinkEvidence? { links.first(where: \.isUsable) ?? links.first }
}
