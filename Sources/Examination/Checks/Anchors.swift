// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

extension Check {
    /// The path beyond the gateway: each anchor by each of its addresses.
    ///
    /// Up to three echo requests, two TCP connections that are closed at once, up to six datagrams where the anchor sends them
    /// back. The connection of a page stands for one to its port.
    static let anchors = Check(.network) { $0.testAnchors() }
}

extension ExaminationState {
    fileprivate mutating func testAnchors() {
        for route in facts.routes where route.isOpen {
            var reach = ReachEvidence(route.family)
            reach.anchors = order.targets.anchors.compactMap { anchor in
                anchor.address(route.family).map { ReachEvidence.Anchor(anchor.name, $0) }
            }
            guard !reach.anchors.isEmpty else { continue }
            evidence.reach.append(reach)
            for number in reach.anchors.indices { test(evidence.reach.count - 1, number) }
        }
        if evidence.reach.isEmpty && order.targets.anchors.contains(where: { $0.ipv4 != nil || $0.ipv6 != nil }) {
            evidence.gaps[.wan] = "no route to test over"
            evidence.gaps[.transport] = evidence.gaps[.wan]
        }
    }

    private mutating func test(_ index: Int, _ number: Int) {
        let anchor = evidence.reach[index].anchors[number]
        if let roundTrip = order.recent.echo(of: anchor.address) {
            evidence.reach[index].anchors[number].echo = .known(true)
            roundTrips[anchor.address] = roundTrip
        } else {
            sendTrain(.echo, to: anchor.address, count: 3) { state, result in
                state.evidence.reach[index].anchors[number].echo = result.answered
                state.roundTrips[anchor.address] = result.median
                state.record(result.faults, at: index, from: anchor.address)
            }
        }
        if let port = order.targets.echoPort {
            sendTrain(.datagram(port: port), to: anchor.address, count: 6) { state, result in
                state.evidence.reach[index].anchors[number].datagrams = result.answered
                state.roundTrips[anchor.address] = state.roundTrips[anchor.address] ?? result.median
                state.record(result.faults, at: index, from: anchor.address)
            }
        }
        for port in Set([order.targets.httpPort, order.targets.httpsPort]) {
            let address = ScopedAddress(anchor.address)
            guard !order.recent.isConnected(to: SocketAddress(address, port: port)) else {
                record(.connected, of: port, index, number)
                continue
            }
            guard !pageConnections.contains(SocketAddress(address, port: port)) else { continue }
            connect(to: anchor.address, port: port) { state, result in state.record(result, of: port, index, number) }
        }
    }

    /// The connections that pages make, each to the address that its anchor has of the first family with a route.
    private var pageConnections: Set<SocketAddress> {
        let found = order.targets.anchors.flatMap { anchor -> [SocketAddress] in
            let address = facts.routes.filter(\.isOpen).lazy.compactMap { anchor.address($0.family) }.first
            guard let address, page(of: anchor, address.family, isSecure: true) != nil else { return [] }
            let ports = [order.targets.httpsPort] + (anchor.hasPage ? [order.targets.httpPort] : [])
            return ports.map { SocketAddress(ScopedAddress(address), port: $0) }
        }
        return Set(found)
    }

    /// Records the connection of a page to an anchor.
    mutating func recordConnection(_ result: ProbeResult, to address: IPAddress, _ port: UInt16) {
        for (index, reach) in evidence.reach.enumerated() {
            for (number, anchor) in reach.anchors.enumerated() where anchor.address == address {
                guard anchor.ports[port] == nil,
                    pageConnections.contains(SocketAddress(ScopedAddress(address), port: port))
                else { continue }
                if result.isConnected {
                    record(.connected, of: port, index, number)
                } else if result.isAssessed {
                    record(result, of: port, index, number)
                } else {
                    connect(to: address, port: port) { state, result in state.record(result, of: port, index, number) }
                }
            }
        }
    }

    private mutating func record(_ result: ProbeResult, of port: UInt16, _ index: Int, _ number: Int) {
        if let shortage = result.shortage { record(shortage: shortage, at: .transport) }
        switch result.reason {
        case nil where result.isSuccess: record(.connected, of: port, index, number)
        case .refused: record(.refused, of: port, index, number)
        case .timeout, .unreachable, .blocked: record(.silent, of: port, index, number)
        // It could not be tested.
        default: break
        }
    }

    private mutating func record(_ connection: ReachEvidence.Connection, of port: UInt16, _ index: Int, _ number: Int) {
        evidence.reach[index].anchors[number].ports[port] = connection
        // A connection is a packet that no local filter refused.
        if connection == .connected { count(evidence.reach[index].family, attempts: 1, refused: 0) }
    }

    private mutating func sendTrain(
        _ kind: TrainKind,
        to address: IPAddress,
        count: Int,
        record: @escaping (inout ExaminationState, TrainResult) -> Void
    ) {
        let (pace, timeout) = (Duration.milliseconds(50), Duration.milliseconds(1500))
        let target = ScopedAddress(address)
        let train = PacketTrain(kind, to: target, count: count, pace: pace, timeout: timeout, isOneEnough: true)
        send(.wan, train) { state, result, _ in
            if result.received == 0, let advice = result.advice { state.evidence.gaps[.wan] = advice }
            record(&state, result)
        }
    }

    /// ICMP errors about packets with the usual hop limit: one that ran out proves a loop.
    private mutating func record(_ faults: Set<PacketFault>, at index: Int, from anchor: IPAddress) {
        for fault in faults {
            guard let speaker = fault.speaker, speaker != anchor else { continue }
            switch fault.kind {
            case .unreachable: evidence.reach[index].unreachableFrom = speaker
            case .hopLimit: evidence.reach[index].loopAt = speaker
            case .portClosed, .tooBig, .other: break
            }
        }
    }

    private mutating func connect(
        to address: IPAddress,
        port: UInt16,
        record: @escaping (inout ExaminationState, ProbeResult) -> Void
    ) {
        let target = ProbeTarget.host(.address(ScopedAddress(address)), port: port)
        // The SYN is sent again after a second.
        let limit = Duration.milliseconds(1800)
        let definition = ProbeDefinition(name: "port", method: .tcp, target: target, timeout: limit)
        attempt(.transport, definition, record: record)
    }
}
