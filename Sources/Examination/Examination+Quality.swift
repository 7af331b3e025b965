// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

/// Loss and round trips: a paced train to the gateway and one to each anchor that sends packets back, when nothing else
/// is on its way.
///
/// 80 packets of 64 bytes 20 ms apart, and 60 of them 27 ms apart; an anchor is asked by one family.
extension Examination {
    func measureQuality() {
        let names = Set(evidence.reach.flatMap(\.anchors).map(\.name)).sorted()
        let asked = names.prefix(4).compactMap { name -> (name: String, address: IPAddress, kind: TrainKind)? in
            for reach in evidence.reach {
                for anchor in reach.anchors where anchor.name == name {
                    if let kind = kind(of: anchor) { return (name, anchor.address, kind) }
                }
            }
            return nil
        }
        // Without a way out there is a fault already that explains more.
        guard !asked.isEmpty else {
            evidence.gaps[.performance] = "no host beyond the gateway replies"
            return
        }
        for (name, address, kind) in asked {
            measure(name, ScopedAddress(address), kind, count: 60, pace: .milliseconds(27)) { [unowned self] train in
                evidence.performance.anchors.append(train)
            }
        }
        if let gateway = evidence.gateways.first(where: { $0.answersEcho.value == true }) {
            let scope = gateway.address.isLinkLocal ? gateway.interface : nil
            let address = ScopedAddress(gateway.address, scope: scope)
            measure("gateway", address, .echo, count: 80, pace: .milliseconds(20)) { [unowned self] train in
                evidence.performance.gateway = train
            }
        }
    }

    private func measure(
        _ name: String,
        _ address: ScopedAddress,
        _ kind: TrainKind,
        count number: Int,
        pace: Duration,
        take: @escaping (PerformanceEvidence.Train) -> Void
    ) {
        send(.performance) { done in
            PacketTrain(
                kind,
                to: address,
                count: number,
                pace: pace,
                patience: .milliseconds(800),
                loop: loop
            ) { [weak self] result in
                self?.take(result, of: kind, from: address.address.family)
                if let train = PerformanceEvidence.Train(name, result) { take(train) }
                done()
            }
        }
    }
}

extension PerformanceEvidence.Train {
    /// What a train of packets came to; `nil` when none could be sent or came back, or this machine was too busy to hear
    /// them.
    init?(_ target: String, _ result: TrainResult) {
        guard result.advice == nil, result.sent > result.refused, let median = result.median,
            let fifth = result.percentile(5), let ninetyFifth = result.percentile(95)
        else { return nil }
        self.init(
            target: target,
            sent: result.sent - result.refused,
            received: result.received,
            median: median,
            fifthPercentile: fifth,
            ninetyFifthPercentile: ninetyFifth
        )
    }
}
