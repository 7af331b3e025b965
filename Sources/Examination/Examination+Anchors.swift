// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

/// The way beyond the gateway: each anchor by each of its addresses.
///
/// Three echo requests, two TCP connections that are closed at once, six datagrams where the anchor sends them back.
extension Examination {
    func askAnchors() {
        for way in facts.ways where way.isOpen {
            var reach = ReachEvidence(way.family)
            reach.anchors = order.targets.anchors.compactMap { anchor in
                anchor.address(way.family).map { ReachEvidence.Anchor(anchor.name, $0) }
            }
            guard !reach.anchors.isEmpty else { continue }
            evidence.reach.append(reach)
            let place = evidence.reach.count - 1
            for number in reach.anchors.indices { ask(place, number) }
        }
        if evidence.reach.isEmpty && order.targets.anchors.contains(where: { $0.ipv4 != nil || $0.ipv6 != nil }) {
            evidence.gaps[.wan] = "no route to test over"
            evidence.gaps[.transport] = evidence.gaps[.wan]
        }
    }

    private func ask(_ place: Int, _ number: Int) {
        let anchor = evidence.reach[place].anchors[number]
        let family = evidence.reach[place].family
        sendTrain(.echo, to: anchor.address, count: 3) { [unowned self] result in
            evidence.reach[place].anchors[number].echo = result.answered
            roundTrips[anchor.address] = result.median
            note(result, at: place, asked: anchor.address)
        }
        if let port = order.targets.echoPort {
            sendTrain(.datagram(port: port), to: anchor.address, count: 6) { [unowned self] result in
                evidence.reach[place].anchors[number].datagrams = result.answered
                roundTrips[anchor.address] = roundTrips[anchor.address] ?? result.median
                note(result, at: place, asked: anchor.address)
            }
        }
        for port in Set([order.targets.httpPort, order.targets.httpsPort]) {
            connect(to: anchor.address, port: port) { [unowned self] connection in
                evidence.reach[place].anchors[number].ports[port] = connection
                // A connection is a packet that no local filter refused.
                if connection == .connected { count(family, attempts: 1, refused: 0) }
            }
        }
    }

    private func sendTrain(
        _ kind: TrainKind,
        to address: IPAddress,
        count: Int,
        take: @escaping (TrainResult) -> Void
    ) {
        send(.wan) { done in
            PacketTrain(
                kind,
                to: ScopedAddress(address),
                count: count,
                pace: .milliseconds(50),
                patience: .milliseconds(1500),
                loop: loop
            ) { [weak self] result in
                self?.take(result, of: kind, from: address.family)
                if result.received == 0, let advice = result.advice { self?.evidence.gaps[.wan] = advice }
                take(result)
                done()
            }
        }
    }

    /// What routers say of packets that nobody limited: a hop limit that ran out proves a loop.
    private func note(_ result: TrainResult, at place: Int, asked: IPAddress) {
        for fault in result.faults {
            guard let speaker = fault.speaker, speaker != asked else { continue }
            switch fault.kind {
            case .unreachable: evidence.reach[place].unreachableFrom = speaker
            case .hopLimit: evidence.reach[place].loopAt = speaker
            case .portClosed, .tooBig, .other: break
            }
        }
    }

    private func connect(
        to address: IPAddress,
        port: UInt16,
        take: @escaping (ReachEvidence.Connection) -> Void
    ) {
        let definition = ProbeDefinition(
            name: "port",
            method: .tcp,
            target: .host(.address(ScopedAddress(address)), port: port),
            timeout: .seconds(2)
        )
        send(.transport) { done in
            ProbeAttempt(definition, surroundings: ProbeSurroundings(), loop: loop, pages: pages) {
                [weak self] result in
                if let shortage = result.shortage { self?.note(shortage, at: .transport) }
                switch result.reason {
                case nil where result.isSuccess: take(.connected)
                case .refused: take(.refused)
                case .timeout, .unreachable, .blocked: take(.silent)
                // It could not be asked.
                default: break
                }
                done()
            }
        }
    }
}
