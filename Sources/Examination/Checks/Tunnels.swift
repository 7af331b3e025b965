// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import PathModel
internal import Probes

extension Check {
    /// A default route by a tunnel through which no anchor answers: the same anchors by the device below.
    ///
    /// Three echo requests and one TCP connection to each of two anchors, bound to a device (`SO_BINDTODEVICE`).
    static let tunnels = Check(.depth) { state in
        for index in state.evidence.reach.indices where state.evidence.reach[index].isAlive == false {
            state.testAround(index)
        }
    }
}

extension ExaminationState {
    fileprivate mutating func testAround(_ index: Int) {
        let reach = evidence.reach[index]
        guard let nexthop = facts.route(reach.family)?.nexthops.first, facts.tunnels.contains(nexthop.index),
            let tunnel = facts.link(nexthop.index), let anchor = reach.anchors.first,
            let device = facts.links.first(where: { leads($0, to: anchor.address) }),
            let number = evidence.sending.firstIndex(where: { $0.family == reach.family })
        else { return }
        evidence.sending[number].tunnel = SendEvidence.Tunnel(
            interface: tunnel.name,
            device: device.name,
            answers: false,
            answersAround: false
        )
        for anchor in reach.anchors.prefix(2) { test(anchor.address, by: device.name, number) }
    }

    private mutating func test(_ address: IPAddress, by device: String, _ number: Int) {
        let train = PacketTrain(
            .echo,
            to: ScopedAddress(address),
            route: ProbeRoute(interface: device),
            count: 3,
            pace: .milliseconds(50),
            timeout: .milliseconds(1200)
        )
        send(.local, train, isCounted: false) { state, result, _ in
            if result.received > 0 { state.evidence.sending[number].tunnel?.answersAround = true }
        }
        let definition = ProbeDefinition(
            name: "around",
            method: .tcp,
            target: .host(.address(ScopedAddress(address)), port: order.targets.httpsPort),
            route: ProbeRoute(interface: device),
            timeout: .milliseconds(1500)
        )
        attempt(.local, definition) { state, result in
            guard result.isSuccess || result.reason == .refused else { return }
            state.evidence.sending[number].tunnel?.answersAround = true
        }
    }
}
