// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import Probes

extension Check {
    /// Where packets end: twelve datagrams towards one anchor of a family in which no anchor answers.
    static let traceroute = Check(.depth) { state in
        for index in state.evidence.reach.indices where state.evidence.reach[index].isAlive == false {
            state.trace(index)
        }
    }
}

extension ExaminationState {
    fileprivate mutating func trace(_ index: Int) {
        let family = evidence.reach[index].family
        let routers = evidence.gateways.indices.filter { evidence.gateways[$0].address.family == family }
        // Behind a router that is not there nothing answers.
        let isGone = routers.allSatisfy { evidence.gateways[$0].hardwareAddresses.value?.isEmpty == true }
        guard routers.isEmpty || !isGone, let anchor = evidence.reach[index].anchors.first else { return }
        run(.wan, Traceroute(to: ScopedAddress(anchor.address)), family: family) { state, result, _ in
            state.record(result, index, routers)
        }
    }

    private mutating func record(_ result: TracerouteResult, _ index: Int, _ routers: [Int]) {
        let own = Set(facts.addresses.values.joined().map(\.address))
        evidence.reach[index].hops = result.routers.map { ReachEvidence.Hop($0.distance, $0.address) }
        if let speaker = result.unreachableFrom, !own.contains(speaker) {
            evidence.reach[index].unreachableFrom = evidence.reach[index].unreachableFrom ?? speaker
        }
        // A router at which the first packet ended, or that reported anything, forwards; with several it is not known which.
        let answers = !result.routers.isEmpty || evidence.reach[index].unreachableFrom != nil
        for router in routers where answers || routers.count == 1 && !result.isDelayed {
            evidence.gateways[router].answersHopLimit = .known(answers)
        }
    }
}
