// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func gatewayFaults(_ evidence: Evidence) -> [Verdict] {
        let found = evidence.gateways.flatMap { gateway in
            [
                unresolved(gateway, evidence), wrongEntry(gateway, evidence), conflict(gateway, evidence),
                hung(gateway, evidence),
            ]
            .compactMap(\.self)
        }
        return found.filter { !isReportedAlready($0, among: found) }
    }

    /// Two addresses of one router that is gone are one fault: the IPv4 one is reported, for both families.
    private func isReportedAlready(_ fault: Verdict, among found: [Verdict]) -> Bool {
        fault.family == .ipv6 && found.contains { $0.code == fault.code && $0.family == nil }
    }

    /// The family that a silent router stands for: both when it is silent in both on one interface.
    private func family(
        of gateway: GatewayEvidence,
        _ evidence: Evidence,
        _ isSilent: (GatewayEvidence) -> Bool
    )
        -> AddressFamily?
    {
        let twins = evidence.gateways.filter { $0.interface == gateway.interface }
        // Below a tunnel one of them carries both.
        if gateway.carriesTunnel { return gateway == twins.first { isSilent($0) } ? nil : .ipv6 }
        let isWhole = Set(twins.map(\.address.family)).count == 2 && twins.allSatisfy(isSilent)
        return isWhole && gateway.address.family == .ipv4 ? nil : gateway.address.family
    }

    private func question(_ gateway: GatewayEvidence) -> String {
        gateway.address.family == .ipv4 ? "ARP" : "neighbour solicitations"
    }

    private func unresolved(_ gateway: GatewayEvidence, _ evidence: Evidence) -> Verdict? {
        guard gateway.hardwareAddresses.value?.isEmpty == true else { return nil }
        // Below a tunnel that works, or beside another gateway, it need not be the one in use.
        if gateway.carriesTunnel {
            let isCarried = evidence.gateways.contains { $0.hardwareAddresses.value?.isEmpty == false }
            guard !isCarried, !evidence.reach.contains(where: { $0.isAlive == true }) else { return nil }
        }
        let others = gateway.othersAnswer.value == true
        // Of several routers of one family, the others still carry traffic.
        let twins = evidence.gateways.filter { $0.address.family == gateway.address.family && $0 != gateway }
        let isAlone = !twins.contains { $0.hardwareAddresses.value?.isEmpty == false }
        return Verdict(
            .gatewayUnresolved,
            isAlone ? .broken : .degraded,
            others ? .certain : .likely,
            family: family(of: gateway, evidence) { $0.hardwareAddresses.value?.isEmpty == true },
            about: gateway.address,
            say: "the gateway \(gateway.address) on \(gateway.interface) does not answer \(question(gateway))"
                + (others ? " while other hosts do" : ""),
            action: "check that the router is on and that \(gateway.address) is its address"
        )
    }

    /// The kernel sends to a hardware address that somebody wrote, and the gateway answers from another one.
    private func wrongEntry(_ gateway: GatewayEvidence, _ evidence: Evidence) -> Verdict? {
        func isWrong(_ gateway: GatewayEvidence) -> Bool {
            guard let entry = gateway.staticEntry, let answers = gateway.hardwareAddresses.value else { return false }
            return !answers.isEmpty && !answers.contains(entry)
                && evidence.reach(gateway.address.family)?.isAlive != true
        }
        guard isWrong(gateway), let entry = gateway.staticEntry, let answers = gateway.hardwareAddresses.value else {
            return nil
        }
        return Verdict(
            .gatewayStaticEntry,
            .broken,
            family: family(of: gateway, evidence, isWrong),
            about: gateway.address,
            say:
                "the static neighbour entry of the gateway \(gateway.address) on \(gateway.interface) is \(entry), but the "
                + "gateway answers from \(Figures.list(answers.sorted()))",
            action: "`ip neigh del \(gateway.address) dev \(gateway.interface)`",
            evidence: [.init("entry", entry), .init("hardware_addresses", answers.sorted().joined(separator: " "))]
        )
    }

    /// Two owners of the address; where nothing is lost they may be two ports of one router, or one that replaced another.
    private func conflict(_ gateway: GatewayEvidence, _ evidence: Evidence) -> Verdict? {
        guard let answers = gateway.hardwareAddresses.value, answers.count > 1 else { return nil }
        let trains = evidence.performance.anchors + [evidence.performance.gateway].compactMap(\.self)
        let isHarmless =
            evidence.reach(gateway.address.family)?.anchors.allSatisfy { $0.isReachable != false } == true
            && !trains.isEmpty && trains.allSatisfy { $0.received == $0.sent }
            && evidence.queries.allSatisfy { $0.answered == $0.flows }
        return Verdict(
            .gatewayARPConflict,
            isHarmless ? .info : .degraded,
            family: gateway.address.family,
            about: gateway.address,
            say: "\(answers.count) hosts answer \(question(gateway)) for the gateway \(gateway.address): "
                + Figures.list(answers.sorted()),
            action: "find the other host that uses the router's address (misconfiguration or spoofing)",
            evidence: [.init("hardware_addresses", answers.sorted().joined(separator: " "))]
        )
    }

    /// It answers ARP and nothing else: the machine is there and does not route.
    private func hung(_ gateway: GatewayEvidence, _ evidence: Evidence) -> Verdict? {
        func isHung(_ gateway: GatewayEvidence) -> Bool {
            gateway.hardwareAddresses.value?.count == 1 && gateway.answersEcho.value == false
                && gateway.answersHopLimit.value == false
                && evidence.reach(gateway.address.family)?.isAlive == false
        }
        guard isHung(gateway) else { return nil }
        return Verdict(
            .gatewayNotForwarding,
            .broken,
            .likely,
            family: family(of: gateway, evidence, isHung),
            about: gateway.address,
            say: "the gateway \(gateway.address) answers \(question(gateway)) but does not forward packets",
            action: "restart the router"
        )
    }
}
