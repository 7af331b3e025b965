// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

extension Check {
    /// Loss and round trips: a paced train to the gateway and one to each anchor that sends packets back, when nothing
    /// else is under way.
    ///
    /// 80 packets of 64 bytes 20 ms apart, and 60 of them 27 ms apart; an anchor is tested by one family.
    static let quality = Check(.quality) { $0.measureQuality() }
}

extension ExaminationState {
    fileprivate mutating func measureQuality() {
        let names = Set(evidence.reach.flatMap(\.anchors).map(\.name)).sorted()
        let anchors = names.prefix(4).compactMap { name -> (name: String, address: IPAddress, kind: TrainKind)? in
            for reach in evidence.reach {
                for anchor in reach.anchors where anchor.name == name {
                    if let kind = kind(of: anchor) { return (name, anchor.address, kind) }
                }
            }
            return nil
        }
        // Without an answer from beyond there is a fault already that explains more.
        guard !anchors.isEmpty else {
            evidence.gaps[.performance] = "no host beyond the gateway replies"
            return
        }
        for (name, address, kind) in anchors {
            measure(name, ScopedAddress(address), kind, count: 60, pace: .milliseconds(27)) {
                $0.performance.anchors.append($1)
            }
        }
        if let gateway = evidence.gateways.first(where: { $0.answersEcho.value == true }) {
            let scope = gateway.address.isLinkLocal ? gateway.interface : nil
            let address = ScopedAddress(gateway.address, scope: scope)
            measure("gateway", address, .echo, count: 80, pace: .milliseconds(20)) { $0.performance.gateway = $1 }
        }
    }

    private mutating func measure(
        _ name: String,
        _ address: ScopedAddress,
        _ kind: TrainKind,
        count number: Int,
        pace: Duration,
        record: @escaping (inout Evidence, PerformanceEvidence.Train) -> Void
    ) {
        let train = PacketTrain(kind, to: address, count: number, pace: pace, timeout: .milliseconds(800))
        send(.performance, train) { state, result, traffic in
            guard let train = PerformanceEvidence.Train(name, result, refused: traffic.refused) else { return }
            record(&state.evidence, train)
        }
    }
}

extension PerformanceEvidence.Train {
    /// The result of a train of packets; `nil` when none could be sent or came back, or this machine was too busy to
    /// receive them.
    init?(_ target: String, _ result: TrainResult, refused: Int) {
        guard result.advice == nil, result.sent > refused, let median = result.median,
            let fifth = result.percentile(5), let ninetyFifth = result.percentile(95)
        else { return nil }
        self.init(
            target: target,
            sent: result.sent - refused,
            received: result.received,
            median: median,
            fifthPercentile: fifth,
            ninetyFifthPercentile: ninetyFifth
        )
    }
}
