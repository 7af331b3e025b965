// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import LinuxIO
internal import Netlink
internal import Probes

/// The own link: gateways, own addresses, hosts that normally answer.
///
/// ARP and neighbour discovery twice each, ten echo requests to a gateway, one datagram to its discard port.
extension Examination {
    func askNeighbors() {
        for place in evidence.links.indices { askOwnAddresses(place) }
        askPeers()
        for place in evidence.gateways.indices { askGateway(place) }
    }

    // MARK: - Own addresses

    /// Whether somebody else has an address of ours (RFC 5227 section 2.1.1).
    ///
    /// Another interface of this machine on the same link answers for it too, and is nobody else (`arp_ignore` 0).
    private func askOwnAddresses(_ place: Int) {
        let link = facts.links[place]
        guard evidence.links[place].isUp, evidence.links[place].hasCarrier, let own = link.sender else { return }
        for (number, held) in evidence.links[place].addresses.enumerated() {
            guard held.address.family == .ipv4, !held.address.isLoopback else { continue }
            ask(.address, held.address, on: link, from: own, source: nil, limit: .milliseconds(800)) {
                [unowned self] found in
                evidence.links[place].addresses[number].otherHolders = found.mapped {
                    $0.subtracting(facts.hardwareAddresses)
                }
            }
        }
    }

    private func ask(
        _ layer: Layer,
        _ target: IPAddress,
        on link: Link,
        from own: HardwareAddress,
        source: IPAddress?,
        limit: Duration = .seconds(1),
        repetitions: Int = 4,
        take: @escaping (Assessment<Set<String>>) -> Void
    ) {
        send(layer) { done in
            let length = target.family == .ipv4 ? 28 : 32
            return NeighborProbe(target, on: link.index, from: own, source: source, limit: limit, loop: loop) {
                [weak self] result in
                switch result {
                case .owners(let owners):
                    self?.count(sent: 2 * length, received: length * owners.count)
                    take(.known(Set(owners.keys.map(\.description))))
                case .failed(_, Starvation.text) where repetitions > 0:
                    self?.ask(
                        layer,
                        target,
                        on: link,
                        from: own,
                        source: source,
                        limit: limit,
                        repetitions: repetitions - 1,
                        take: take
                    )
                case .failed(_, let detail): take(.unknown(because: detail))
                case .notAssessed(let advice): take(.unknown(because: advice))
                }
                done()
            }
        }
    }

    // MARK: - Hosts on the link

    /// How many hosts are asked that nobody named.
    private static let mostDiscovered = 3

    /// The hosts of the configuration; where it has none, some that the kernel has talked to on the own links.
    ///
    /// Only a diagnosis that somebody asked for looks for them: the daemon asks nobody whom the configuration did not name.
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

    private func askPeers() {
        evidence.peers = peers
        for (place, peer) in evidence.peers.enumerated() {
            let way = facts.links.first { isNeighbor(peer.address, on: $0) }
            guard let link = way, let own = link.sender else {
                let reason = "\(peer.address) is not on a directly connected network"
                evidence.peers[place].answers = .unknown(because: reason)
                continue
            }
            if !peer.isDiscovered { askMulticast(place, on: link) }
            ask(.link, peer.address, on: link, from: own, source: facts.sender(on: link.index)) {
                [unowned self] found in
                // One that was there once may be off.
                let isGone = peer.isDiscovered && found.value?.isEmpty == true
                evidence.peers[place].answers =
                    isGone ? .unknown(because: "\(peer.address) does not answer now") : found.mapped { !$0.isEmpty }
                let answers = evidence.peers.compactMap(\.answers.value)
                for place in evidence.gateways.indices where answers.contains(true) {
                    evidence.gateways[place].othersAnswer = .known(true)
                }
            }
        }
    }

    // MARK: - Gateways

    private func askGateway(_ place: Int) {
        let gateway = evidence.gateways[place]
        guard let link = facts.links.first(where: { $0.name == gateway.interface }) else { return }
        let scope = gateway.address.isLinkLocal ? link.name : nil
        let address = ScopedAddress(gateway.address, scope: scope)
        do throws(Errno) {
            // What the kernel thinks of the neighbour afterwards needs no privilege.
            try DiscardDatagram.send(to: gateway.address, index: link.index)
            count(gateway.address.family, attempts: 1, refused: 0)
        } catch {
            count(gateway.address.family, attempts: 1, refused: error == .notPermitted ? 1 : 0)
        }
        if let own = link.sender {
            let source = gateway.address.family == .ipv4 ? facts.sender(on: link.index) : nil
            ask(.gateway, gateway.address, on: link, from: own, source: source) { [unowned self] found in
                evidence.gateways[place].hardwareAddresses = found
            }
        } else {
            evidence.gateways[place].hardwareAddresses = .unknown(because: "\(link.name) has no neighbour discovery")
        }
        send(.gateway) { done in
            PacketTrain(
                .echo,
                to: address,
                count: 10,
                pace: .milliseconds(50),
                patience: .seconds(1),
                loop: loop
            ) { [weak self] result in
                self?.take(result, of: .echo, from: gateway.address.family)
                self?.evidence.gateways[place].answersEcho = result.answered
                done()
            }
        }
    }

    func take(_ result: TrainResult, of kind: TrainKind, from family: AddressFamily) {
        count(sent: result.bytesSent, received: result.bytesReceived)
        // The kernel keeps to itself that a filter dropped an ICMPv6 echo request (ping_v6_sendmsg).
        let isTold = kind != .echo || family == .ipv4
        count(family, attempts: isTold ? result.sent : result.received, refused: result.refused)
    }
}

extension Link {
    /// The hardware address that questions come from; `nil` where neighbours are not looked for.
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

extension TrainResult {
    /// Whether anything came back; not known when nothing could be sent.
    var answered: Assessment<Bool> {
        if received == 0, let advice { return .unknown(because: advice) }
        return .known(received > 0)
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
