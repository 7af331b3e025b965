// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import LinuxIO
internal import Netlink
internal import Probes

extension Check {
    /// The own link: gateways, own addresses, hosts that normally answer.
    ///
    /// ARP and neighbour discovery twice each, up to ten echo requests to a gateway, one datagram to its discard port; of the
    /// first four hosts that normally answer two multicast DNS queries to the group and up to three to the host.
    static let neighbors = Check(.network) { state in
        for index in state.evidence.links.indices { state.testOwnAddresses(index) }
        state.testPeers()
        for index in state.evidence.gateways.indices { state.testGateway(index) }
    }
}

extension ExaminationState {
    // MARK: - Own addresses

    /// Whether another host has an address of ours (RFC 5227 section 2.1.1).
    ///
    /// With `arp_ignore` 0 another local interface on the same link answers too; it is not a duplicate.
    fileprivate mutating func testOwnAddresses(_ index: Int) {
        let link = facts.links[index]
        guard evidence.links[index].isUp, evidence.links[index].hasCarrier, let own = link.sender else { return }
        for (number, held) in evidence.links[index].addresses.enumerated() {
            guard held.address.family == .ipv4, !held.address.isLoopback else { continue }
            let probe = NeighborProbe(held.address, on: link.index, from: own, limit: .milliseconds(800))
            query(.address, probe) { state, found in
                state.evidence.links[index].addresses[number].otherHolders = found.mapped {
                    $0.subtracting(state.facts.hardwareAddresses)
                }
            }
        }
    }

    /// Queries again where this machine was too busy to receive answers.
    private mutating func query(
        _ layer: Layer,
        _ probe: NeighborProbe,
        repetitions: Int = 4,
        record: @escaping (inout ExaminationState, Assessment<Set<String>>) -> Void
    ) {
        run(layer, probe) { state, result, _ in
            switch result {
            case .owners(let owners): record(&state, .known(Set(owners.keys.map(\.description))))
            case .failed(_, SchedulingDelay.text) where repetitions > 0:
                state.query(layer, probe, repetitions: repetitions - 1, record: record)
            case .failed(_, let detail): record(&state, .unknown(because: detail))
            case .notAssessed(let advice): record(&state, .unknown(because: advice))
            }
        }
    }

    // MARK: - Hosts on the link

    /// How many hosts are tested that the configuration does not name.
    private static let mostDiscovered = 3
    /// How many hosts are queried by multicast DNS.
    private static let mostQueried = 4

    /// The hosts of the configuration; where it has none, some that the kernel has talked to on the own links.
    ///
    /// Only a diagnosis by request looks for them: the daemon tests only hosts that the configuration names.
    private var peers: [PeerEvidence] {
        guard order.targets.peers.isEmpty, !order.isRepeated else {
            return order.targets.peers.map { PeerEvidence($0) }
        }
        let gateways = Set(evidence.gateways.map(\.address))
        let entries = facts.links.filter { $0.sender != nil }.flatMap { link in
            ((try? kernel.neighbors(index: link.index))?.values ?? []).filter { isNeighbor($0.address, on: link) }
        }
        // A router has other addresses, which are not another host.
        var known = Set(entries.filter { gateways.contains($0.address) || $0.isRouter }.map(\.hardwareAddress))
        let others = entries.filter { [.reachable, .stale, .delay, .probe].contains($0.state) }
            .sorted { ($0.state.rawValue, $0.address) < ($1.state.rawValue, $1.address) }
            .filter { known.insert($0.hardwareAddress).inserted }
        return others.prefix(Self.mostDiscovered).map { PeerEvidence($0.address, isDiscovered: true) }
    }

    private func isNeighbor(_ address: IPAddress, on link: Link) -> Bool {
        (facts.addresses[link.index] ?? []).contains { $0.isOnLink(address) }
    }

    fileprivate mutating func testPeers() {
        evidence.peers = peers
        for (index, peer) in evidence.peers.enumerated() {
            let found = facts.links.first { isNeighbor(peer.address, on: $0) }
            guard let link = found, let own = link.sender else {
                let reason = "\(peer.address) is not on a directly connected network"
                evidence.peers[index].answers = .unknown(because: reason)
                continue
            }
            if !peer.isDiscovered { queryByMulticast(index, on: link) }
            let source = facts.sender(on: link.index)
            query(.link, NeighborProbe(peer.address, on: link.index, from: own, source: source)) { state, found in
                state.record(found, of: peer, index)
            }
        }
    }

    private mutating func record(_ found: Assessment<Set<String>>, of peer: PeerEvidence, _ index: Int) {
        // One that was there once may be off.
        let isGone = peer.isDiscovered && found.value?.isEmpty == true
        evidence.peers[index].answers =
            isGone ? .unknown(because: "\(peer.address) does not answer now") : found.mapped { !$0.isEmpty }
        guard evidence.peers.contains(where: { $0.answers.value == true }) else { return }
        for gateway in evidence.gateways.indices { evidence.gateways[gateway].othersAnswer = .known(true) }
    }

    private mutating func queryByMulticast(_ index: Int, on link: Link) {
        guard index < Self.mostQueried, link.flags.contains(.multicast), link.flags.contains(.up) else { return }
        run(.link, MulticastDNSProbe(evidence.peers[index].address, on: link.index)) { state, result, _ in
            if let answers = result.answersUnicast { state.evidence.peers[index].answersUnicast = .known(answers) }
            guard let answers = result.answersMulticast else { return }
            state.evidence.peers[index].answersMulticast =
                answers || !state.filtersInput
                ? .known(answers) : .unknown(because: "this machine filters what arrives")
        }
    }

    /// Whether packet filters of this machine may drop what arrives.
    private var filtersInput: Bool {
        AddressFamily.allCases.contains { (try? PacketFilter.inputChains($0))?.isEmpty == false }
    }

    // MARK: - Gateways

    fileprivate mutating func testGateway(_ index: Int) {
        let gateway = evidence.gateways[index]
        guard let link = facts.links.first(where: { $0.name == gateway.interface }) else { return }
        let scope = gateway.address.isLinkLocal ? link.name : nil
        let address = ScopedAddress(gateway.address, scope: scope)
        tasks.append(.discard(to: gateway.address, on: link.index))
        if let entry = try? kernel.neighbor(gateway.address, index: link.index), entry.state == .permanent {
            evidence.gateways[index].staticEntry = HardwareAddress(entry.hardwareAddress)?.description
        }
        if let own = link.sender {
            let source = gateway.address.family == .ipv4 ? facts.sender(on: link.index) : nil
            query(.gateway, NeighborProbe(gateway.address, on: link.index, from: own, source: source)) { state, found in
                state.evidence.gateways[index].hardwareAddresses = found
            }
        } else {
            evidence.gateways[index].hardwareAddresses = .unknown(because: "\(link.name) has no neighbour discovery")
        }
        guard order.recent.echo(of: gateway.address) == nil else {
            evidence.gateways[index].answersEcho = .known(true)
            return
        }
        let pace = Duration.milliseconds(50)
        let train = PacketTrain(.echo, to: address, count: 10, pace: pace, timeout: .seconds(1), isOneEnough: true)
        send(.gateway, train) { state, result, _ in
            state.evidence.gateways[index].answersEcho = result.answered
        }
    }
}

extension CheckTask {
    /// One datagram; the kernel's neighbour entry afterwards needs no privilege.
    fileprivate static func discard(to address: IPAddress, on interface: Int) -> CheckTask {
        CheckTask(layer: .gateway) { context in
            Pause(for: .zero, loop: context.loop) {
                var isRefused = false
                do throws(Errno) {
                    try DiscardDatagram.send(to: address, index: interface)
                } catch {
                    isRefused = error == .notPermitted
                }
                context.finish { $0.count(address.family, attempts: 1, refused: isRefused ? 1 : 0) }
            }
        }
    }
}

extension Link {
    /// The hardware address that queries come from; `nil` where the link has no neighbour discovery.
    var sender: HardwareAddress? {
        guard hardwareType == 1, !flags.contains(.noARP) else { return nil }
        return HardwareAddress(hardwareAddress)
    }
}

extension InterfaceAddress {
    /// Whether another address is a neighbour of it.
    fileprivate func isOnLink(_ other: IPAddress) -> Bool {
        address.family == other.family && IPPrefix(address, length: prefixLength).contains(other)
    }
}

extension Assessment {
    /// The same with another value.
    func mapped<Other>(_ change: (Value) -> Other) -> Assessment<Other> {
        switch self {
        case .known(let value): .known(change(value))
        case .unknown(let reason): .unknown(because: reason)
        }
    }
}
