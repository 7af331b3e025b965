// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import Probes

extension Check {
    /// How large packets may be: packets of full size to two anchors of a family that works, and smaller ones to one of
    /// them only if those are lost.
    static let packetSizes = Check(.depth) { state in
        for index in state.evidence.reach.indices where state.evidence.reach[index].isAlive == true {
            state.measureSizes(index)
        }
    }

    /// Whether transfers stall: one request to an anchor that answered a small one, with a head that fills several
    /// packets.
    static let stalls = Check(.confirmation) { $0.confirmSizes() }
}

extension ExaminationState {
    fileprivate mutating func measureSizes(_ index: Int) {
        let reach = evidence.reach[index]
        guard let limit = packetLimit(reach.family) else { return }
        let anchors = reach.anchors.compactMap { anchor in kind(of: anchor).map { (anchor.address, $0) } }
        for (number, (address, kind)) in anchors.prefix(2).enumerated() {
            // One path that carries full packets is enough; only the first is searched.
            let probe = PathMTUProbe(
                ScopedAddress(address),
                by: kind,
                limit: limit,
                roundTrip: roundTrips[address] ?? .milliseconds(150),
                isSearching: number == 0
            )
            run(.transport, probe) { state, result, _ in state.record(result, reach.family, limit) }
        }
    }

    /// The MTU of the own link, at most that of Ethernet: larger packets nobody expects to arrive.
    private func packetLimit(_ family: AddressFamily) -> Int? {
        let link = facts.route(family)?.nexthops.lazy.compactMap { [facts] nexthop in facts.link(nexthop.index) }.first
        return link.flatMap { $0.mtu >= 576 ? min($0.mtu, 1500) : nil }
    }

    private mutating func record(_ result: PathMTUResult, _ family: AddressFamily, _ limit: Int) {
        guard let largest = result.largest else { return }
        let found = TransportEvidence.PacketSize(
            family,
            largest: largest,
            linkMTU: limit,
            isAnnounced: result.isAnnounced
        )
        guard let index = evidence.transport.packetSizes.firstIndex(where: { $0.family == family }) else {
            evidence.transport.packetSizes.append(found)
            return
        }
        if largest > evidence.transport.packetSizes[index].largest { evidence.transport.packetSizes[index] = found }
    }

    fileprivate mutating func confirmSizes() {
        for (index, size) in evidence.transport.packetSizes.enumerated()
        where size.largest < size.linkMTU && !size.isAnnounced {
            let answered = Set(evidence.portal.checks.map(\.anchor))
            let anchor = order.targets.anchors.first { anchor in
                anchor.hasPage && answered.contains(anchor.name) && anchor.address(size.family) != nil
            }
            guard let anchor, var definition = page(of: anchor, size.family, isSecure: false) else { continue }
            definition.page.padding = 4 * size.linkMTU
            definition.page.isHeadEnough = true
            definition.timeout = .milliseconds(2500)
            attempt(.transport, definition) { state, result in
                if let gap = result.gap {
                    state.evidence.transport.packetSizes[index].transferStalls = .unknown(because: gap)
                } else if result.page != nil || result.reason == .timeout {
                    state.evidence.transport.packetSizes[index].transferStalls = .known(result.page == nil)
                }
            }
        }
    }
}
