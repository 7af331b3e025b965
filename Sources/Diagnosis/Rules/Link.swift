// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func linkFaults(_ evidence: Evidence) -> [Verdict] {
        // A tunnel is up whatever becomes of the device below.
        let devices = evidence.links.filter { !$0.isTunnel }
        guard let link = devices.first(where: \.isUsable) ?? devices.first ?? evidence.mainLink else {
            return [
                Verdict(
                    .linkNone,
                    .broken,
                    say: "there is no network interface",
                    action: "check the driver and `ip link`"
                )
            ]
        }
        // An unused port may be down as long as another one works; one that comes and goes is reported as flapping.
        guard link.isUsable else { return [link.isUp ? flapping(link) ?? deadLink(link) : deadLink(link)] }
        var found = evidence.links.filter(\.isUsable).compactMap(flapping)
        found += [isolated(link, evidence), clientIsolation(evidence), multicastFilter(evidence)].compactMap(\.self)
        found += evidence.links.filter { $0.isUsable && $0.mtu < 1280 }.map(smallMTU)
        return found
    }

    private func deadLink(_ link: LinkEvidence) -> Verdict {
        guard link.isUp else {
            return Verdict(
                .linkAdminDown,
                .broken,
                about: link.interface,
                say: "\(link.interface) is down",
                action: "`ip link set \(link.interface) up`"
            )
        }
        return Verdict(
            .linkNoCarrier,
            .broken,
            about: link.interface,
            say: "\(link.interface) has no carrier",
            action: "check the cable, the switch port or the access point"
        )
    }

    /// Twice within a run, or four times within a minute, is no accident.
    private func flapping(_ link: LinkEvidence) -> Verdict? {
        guard link.carrierChanges >= (link.window < .seconds(30) ? 2 : 4) else { return nil }
        // Each loss counts twice: as the carrier goes and as it comes back.
        let losses = (link.carrierChanges + 1) / 2
        let often = losses == 1 ? "once" : "\(losses) times"
        return Verdict(
            .linkFlapping,
            link.hasCarrier ? .degraded : .broken,
            about: link.interface,
            say: "\(link.interface) lost its carrier \(often) in \(Figures.text(link.window))",
            action: "replace the cable, then try another switch port",
            evidence: [.init("carrier_changes", link.carrierChanges)]
        )
    }

    /// Nobody answers and nothing arrives: the port is in another network, or dead (two packets may be accidents).
    private func isolated(_ link: LinkEvidence, _ evidence: Evidence) -> Verdict? {
        guard let received = link.received.value, received <= 2 else { return nil }
        // Without IPv6, which such a link cannot carry, and without an IPv4 address nothing is sent.
        guard link.mtu >= 1280 || link.addresses.contains(where: { $0.address.family == .ipv4 }) else { return nil }
        // A destination may have answered before packets were counted.
        guard evidence.destination?.isAnswering(on: link.interface) != true else { return nil }
        let gateways = evidence.gateways.filter { $0.interface == link.interface }.compactMap(\.hardwareAddresses.value)
        let peers = evidence.peers.compactMap(\.answers.value)
        let offers = link.dhcp.value
        guard !gateways.isEmpty || !peers.isEmpty || offers != nil else { return nil }
        guard gateways.allSatisfy(\.isEmpty), !peers.contains(true), offers?.isEmpty != false else { return nil }
        return Verdict(
            .linkIsolated,
            .broken,
            .likely,
            about: link.interface,
            say: "\(link.interface) has a carrier, but nothing is received: wrong VLAN or dead port",
            action: "check the VLAN of the switch port",
            evidence: [.init("received_packets", received)]
        )
    }

    private func smallMTU(_ link: LinkEvidence) -> Verdict {
        Verdict(
            .linkMTUTooSmall,
            link.addresses.contains { $0.address.family == .ipv4 } ? .degraded : .broken,
            family: .ipv6,
            about: link.interface,
            say: "the MTU of \(link.interface) is \(link.mtu): below 1280 the kernel removes IPv6",
            action: "`ip link set \(link.interface) mtu 1500`, then add static IPv6 addresses again",
            evidence: [.init("mtu", link.mtu)]
        )
    }

    private func clientIsolation(_ evidence: Evidence) -> Verdict? {
        let tested = evidence.peers.filter { $0.answers.value != nil }
        guard !tested.isEmpty, tested.allSatisfy({ $0.answers.value == false }),
            evidence.gateways.contains(where: { $0.hardwareAddresses.value?.isEmpty == false })
        else { return nil }
        let names = tested.map { "\($0.address)" }
        return Verdict(
            .linkClientIsolation,
            .warning,
            tested.count > 1 ? .likely : .possible,
            say: "\(Figures.list(names)) on the same link \(tested.count > 1 ? "do" : "does") not answer; "
                + "the gateway does",
            action: "switch off client isolation at the access point, or check that the peers are on",
            evidence: [.init("silent_peers", tested.count)]
        )
    }

    private func multicastFilter(_ evidence: Evidence) -> Verdict? {
        let cases = evidence.peers.filter { $0.answersUnicast.value == true && $0.answersMulticast.value != nil }
        guard let peer = cases.first, cases.allSatisfy({ $0.answersMulticast.value == false }) else { return nil }
        return Verdict(
            .mdnsBlocked,
            .warning,
            cases.count > 1 ? .certain : .likely,
            about: peer.address,
            say: "\(peer.address) answers unicast mDNS; multicast to "
                + (peer.address.family == .ipv4 ? "224.0.0.251" : "ff02::fb") + " is filtered",
            action: "allow multicast at the access point or switch (IGMP snooping needs a querier)",
            evidence: [.init("peers", cases.count)]
        )
    }
}
