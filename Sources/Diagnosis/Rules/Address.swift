// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func addressFaults(_ evidence: Evidence) -> [Verdict] {
        let links = evidence.links.filter(\.isUsable)
        guard let main = links.first else { return [] }
        var found: [Verdict] = []
        let hasSource = links.contains { $0.addresses.contains(where: \.isRoutable) }
        if !hasSource { found.append(nothingToSendFrom(main)) }
        for link in links {
            found += link.addresses.compactMap { duplicate($0, on: link) }
            found += [failedDetection(link), rogueServers(link), rogueRouters(link)].compactMap(\.self)
        }
        return found
    }

    private func nothingToSendFrom(_ link: LinkEvidence) -> Verdict {
        if let failed = link.addresses.first(where: \.hasFailedDetection) {
            return isUnusable(failed, on: link, .broken, family: nil)
        }
        let hasAutomatic = link.addresses.contains { $0.address.family == .ipv4 && $0.address.isLinkLocal }
        let server: String
        switch link.dhcp.value {
        case .none: server = ""
        case .some(let offers) where offers.isEmpty: server = "; no DHCP server answers"
        case .some: server = "; a DHCP server does answer"
        }
        let what = hasAutomatic ? "only a link-local address" : "no address"
        return Verdict(
            hasAutomatic ? .addressLinkLocalOnly : .addressNone,
            .broken,
            say: "\(link.interface) has \(what)\(server)",
            action: link.dhcp.value?.isEmpty == false
                ? "start the DHCP client on \(link.interface)" : "check the DHCP server, or configure a static address"
        )
    }

    private func failedDetection(_ link: LinkEvidence) -> Verdict? {
        guard link.addresses.contains(where: \.isRoutable) else { return nil }
        return link.addresses.first(where: \.hasFailedDetection).map {
            isUnusable($0, on: link, .degraded, family: $0.address.family)
        }
    }

    private func isUnusable(
        _ held: AddressEvidence,
        on link: LinkEvidence,
        _ severity: Severity,
        family: AddressFamily?
    ) -> Verdict {
        Verdict(
            .addressDADFailed,
            severity,
            family: family,
            about: held.address,
            say: "\(held.address) on \(link.interface) is also used by another host, so the kernel does not use it",
            action: "change the address on one of the two hosts"
        )
    }

    private func duplicate(_ held: AddressEvidence, on link: LinkEvidence) -> Verdict? {
        guard let holders = held.otherHolders.value, !holders.isEmpty else { return nil }
        return Verdict(
            .addressDuplicate,
            .broken,
            family: held.address.family,
            about: held.address,
            say: "\(held.address) on \(link.interface) is also used by \(Figures.list(holders.sorted()))",
            action: "change the address on one of the two hosts, and look for a static address inside the DHCP range",
            evidence: [.init("other_holders", holders.count)]
        )
    }

    private func rogueServers(_ link: LinkEvidence) -> Verdict? {
        let offers = link.dhcp.value ?? []
        let servers = Set(offers.map(\.server))
        guard let first = offers.first, servers.count > 1, !offers.allSatisfy(first.gives) else { return nil }
        let names = servers.sorted().map { "\($0)" }
        return Verdict(
            .dhcpRogue,
            .degraded,
            .likely,
            family: .ipv4,
            about: link.interface,
            say: "\(servers.count) DHCP servers on \(link.interface) offer different networks: \(Figures.list(names))",
            action: "find the rogue server and switch it off",
            evidence: [.init("servers", names.joined(separator: " "))]
        )
    }

    /// Two routers with the same prefixes are redundancy; with different ones, one of them is wrong.
    private func rogueRouters(_ link: LinkEvidence) -> Verdict? {
        let announced = link.routers.value ?? []
        guard Set(announced.map(\.source)).count > 1, Set(announced.map(\.prefixes)).count > 1 else { return nil }
        let names = Set(announced.map(\.source)).sorted().map { "\($0)%\(link.interface)" }
        return Verdict(
            .routerRogue,
            .degraded,
            .likely,
            family: .ipv6,
            about: link.interface,
            say: "\(names.count) routers announce different IPv6 prefixes on \(link.interface): \(Figures.list(names))",
            action: "find the rogue router and switch off its router advertisements",
            evidence: [.init("routers", names.joined(separator: " "))]
        )
    }
}
