// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

extension Check {
    /// Loss and round trips: a paced train to the gateway and one to each of two anchors that send packets back, when
    /// nothing else is under way.
    ///
    /// 20 packets of 64 bytes 20 ms apart, five to the gateway; an anchor is tested by one family.
    static let quality = Check(.quality) { $0.measureQuality() }

    /// Where any of them were lost, 60 more 10 ms apart, which say how many are.
    static let loss = Check(.comparison) { $0.measureLoss() }

    /// Whether connections lose packets too where echo requests do, of which many routers answer so many a second only.
    ///
    /// Twenty TCP connections 25 ms apart to each of two anchors; the kernel says which needed a second SYN.
    static let connections = Check(.comparison) { $0.compareConnections() }
}

extension ExaminationState {
    private func measuredAnchors(
        prefersEcho: Bool = true
    ) -> [(name: String, address: IPAddress, kind: TrainKind)] {
        let names = Set(evidence.reach.flatMap(\.anchors).map(\.name)).sorted()
        let found = names.compactMap { name -> (name: String, address: IPAddress, kind: TrainKind)? in
            for reach in evidence.reach {
                for anchor in reach.anchors where anchor.name == name {
                    if let kind = kind(of: anchor, prefersEcho: prefersEcho) { return (name, anchor.address, kind) }
                }
            }
            return nil
        }
        return Array(found.prefix(2))
    }

    fileprivate mutating func measureQuality() {
        let anchors = measuredAnchors()
        // Without an answer from beyond there is a fault already that explains more.
        guard !anchors.isEmpty else {
            evidence.gaps[.performance] = "no host beyond the gateway replies"
            return
        }
        for (name, address, kind) in anchors {
            measure(name, ScopedAddress(address), kind, count: 20) { $0.performance.anchors.append($1) }
        }
        guard let (name, address) = measuredGateway else { return }
        measure(name, address, .echo, count: 5) { $0.performance.gateway = $1 }
    }

    private var measuredGateway: (name: String, address: ScopedAddress)? {
        evidence.gateways.first { $0.answersEcho.value == true }.map { gateway in
            ("gateway", ScopedAddress(gateway.address, scope: gateway.address.isLinkLocal ? gateway.interface : nil))
        }
    }

    fileprivate mutating func measureLoss() {
        guard evidence.performance.anchors.contains(where: { $0.received < $0.sent }) else { return }
        for (index, train) in evidence.performance.anchors.enumerated() {
            let anchors = measuredAnchors(prefersEcho: false)
            guard let (_, address, kind) = anchors.first(where: { $0.name == train.target }) else { continue }
            // Datagrams say what becomes of traffic, whatever becomes of echo requests.
            measure(train.target, ScopedAddress(address), kind, count: 60, pace: 10) {
                $0.performance.anchors[index] = $1.isEcho == train.isEcho ? $1.adding(train) : $1
            }
        }
        guard let train = evidence.performance.gateway, let (name, address) = measuredGateway else { return }
        measure(name, address, .echo, count: 60, pace: 10) { $0.performance.gateway = $1.adding(train) }
    }

    private mutating func measure(
        _ name: String,
        _ address: ScopedAddress,
        _ kind: TrainKind,
        count number: Int,
        pace: Int = 20,
        record: @escaping (inout Evidence, PerformanceEvidence.Train) -> Void
    ) {
        let timeout = max(.milliseconds(400), (roundTrips[address.address] ?? .milliseconds(200)) * 4)
        let train = PacketTrain(kind, to: address, count: number, pace: .milliseconds(pace), timeout: timeout)
        send(.performance, train) { state, result, traffic in
            guard let train = PerformanceEvidence.Train(name, result, kind, refused: traffic.refused) else { return }
            record(&state.evidence, train)
        }
    }
}

extension ExaminationState {
    private static let (connectionCount, connectionPace) = (20, Duration.milliseconds(25))

    fileprivate mutating func compareConnections() {
        // A router that answers few echo requests itself and forwards all packets loses none.
        let trains = evidence.performance.anchors
        let lossy = trains.filter { $0.received < $0.sent }
        let canMeasureDatagrams = measuredAnchors(prefersEcho: false).contains { $0.kind != .echo }
        guard !lossy.isEmpty, lossy.allSatisfy(\.isEcho), !canMeasureDatagrams else { return }
        let anchors = evidence.reach.flatMap(\.anchors).compactMap { anchor -> (String, IPAddress, UInt16)? in
            anchor.ports.first { $0.value == .connected }.map { (anchor.name, anchor.address, $0.key) }
        }
        for (name, address, port) in anchors.prefix(2) {
            let index = evidence.performance.connections.count
            evidence.performance.connections.append(.init(target: name, made: 0, repeated: 0))
            for number in 0..<Self.connectionCount {
                connect(to: address, port, after: Self.connectionPace * number, index)
            }
        }
    }

    private mutating func connect(to address: IPAddress, _ port: UInt16, after delay: Duration, _ index: Int) {
        tasks.append(
            CheckTask(layer: .performance) { context in
                Pause(for: delay, loop: context.loop) {
                    context.finish { state in state.connect(to: address, port, index) }
                }
            }
        )
    }

    private mutating func connect(to address: IPAddress, _ port: UInt16, _ index: Int) {
        let definition = ProbeDefinition(
            name: "connections",
            method: .tcp,
            target: .host(.address(ScopedAddress(address)), port: port),
            timeout: .milliseconds(1200)
        )
        attempt(.performance, definition) { state, result in
            guard result.isAssessed else { return }
            state.evidence.performance.connections[index].made += 1
            let isRepeated = !result.isSuccess || result.retransmissions > 0
            if isRepeated { state.evidence.performance.connections[index].repeated += 1 }
        }
    }
}

extension PerformanceEvidence.Train {
    /// The result of a train of packets; `nil` when none could be sent or came back, or this machine was too busy to
    /// receive them.
    init?(_ target: String, _ result: TrainResult, _ kind: TrainKind = .echo, refused: Int) {
        guard result.advice == nil, result.sent > refused, let median = result.median,
            let fifth = result.percentile(5), let ninetyFifth = result.percentile(95)
        else { return nil }
        self.init(
            target: target,
            sent: result.sent - refused,
            received: result.received,
            median: median,
            fifthPercentile: fifth,
            ninetyFifthPercentile: ninetyFifth,
            isEcho: kind == .echo
        )
    }
}
