// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import Probes

extension Check {
    /// Routes that share the packets of a family among several interfaces: two anchors by each of these.
    ///
    /// Three echo requests and one TCP connection to each, bound to an interface (`SO_BINDTODEVICE`).
    static let uplinks = Check(.depth) { state in
        for route in state.facts.routes where route.isOpen { state.testUplinks(route) }
    }
}

extension ExaminationState {
    fileprivate mutating func testUplinks(_ route: KernelFacts.InternetRoute) {
        var seen: Set<Int> = []
        let shared = route.nexthops.filter { !facts.tunnels.contains($0.index) && seen.insert($0.index).inserted }
        let anchors = evidence.reach.first { $0.family == route.family }?.anchors.prefix(2) ?? []
        guard shared.count > 1, !anchors.isEmpty else { return }
        for nexthop in shared {
            guard let link = facts.link(nexthop.index) else { continue }
            let number = evidence.uplinks.count
            evidence.uplinks.append(UplinkEvidence(link.name, nexthop.gateway, route.family))
            for anchor in anchors {
                test(anchor.address, by: link.name) { $0.evidence.uplinks[number].answers = true }
            }
        }
    }

    /// Three echo requests and one TCP connection; with an interface they leave by that.
    mutating func test(
        _ address: IPAddress,
        by interface: String?,
        record: @escaping (inout ExaminationState) -> Void
    ) {
        let route = ProbeRoute(interface: interface)
        let train = PacketTrain(
            .echo,
            to: ScopedAddress(address),
            route: route,
            count: 3,
            pace: .milliseconds(50),
            timeout: .milliseconds(1200)
        )
        send(.local, train, isCounted: false) { state, result, _ in
            if result.received > 0 { record(&state) }
        }
        let definition = ProbeDefinition(
            name: "uplink",
            method: .tcp,
            target: .host(.address(ScopedAddress(address)), port: order.targets.httpsPort),
            route: route,
            timeout: .milliseconds(1500)
        )
        attempt(.local, definition) { state, result in
            if result.isSuccess || result.reason == .refused { record(&state) }
        }
    }
}
