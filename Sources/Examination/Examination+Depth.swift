// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import Probes

/// What depends on who answers: where packets end when nobody does, and how large they may be when somebody does.
///
/// Twelve datagrams towards one anchor of a family that is dead; packets of full size to two anchors of one that works,
/// and smaller ones to one of them only if those vanish.
extension Examination {
    func askDepth() {
        for place in evidence.reach.indices {
            switch evidence.reach[place].isAlive {
            case false?:
                walk(place)
                askAround(place)
            case true?:
                measureSizes(place)
                askFromSources(place)
            case nil: break
            }
        }
    }

    // MARK: - Where packets end

    private func walk(_ place: Int) {
        let family = evidence.reach[place].family
        let routers = evidence.gateways.indices.filter { evidence.gateways[$0].address.family == family }
        // Behind a router that is not there nothing answers.
        let isGone = routers.allSatisfy { evidence.gateways[$0].hardwareAddresses.value?.isEmpty == true }
        guard routers.isEmpty || !isGone, let anchor = evidence.reach[place].anchors.first else { return }
        send(.wan) { done in
            HopWalk(to: ScopedAddress(anchor.address), loop: loop) { [weak self] result in
                self?.take(result, place, routers)
                done()
            }
        }
    }

    private func take(_ result: HopWalkResult, _ place: Int, _ routers: [Int]) {
        count(sent: result.bytesSent, received: 0)
        count(evidence.reach[place].family, attempts: result.sent, refused: result.refused)
        let own = Set(facts.addresses.values.joined().map(\.address))
        evidence.reach[place].hops = result.hops.map { ReachEvidence.Hop($0.distance, $0.address) }
        if let speaker = result.unreachableFrom, !own.contains(speaker) {
            evidence.reach[place].unreachableFrom = evidence.reach[place].unreachableFrom ?? speaker
        }
        // Whoever let the first packet end, or spoke at all, forwards; with several routers it is not known which.
        let speaks = !result.hops.isEmpty || evidence.reach[place].unreachableFrom != nil
        for router in routers where speaks || routers.count == 1 && !result.isStarved {
            evidence.gateways[router].answersHopLimit = .known(speaks)
        }
    }

    // MARK: - How large they may be

    private func measureSizes(_ place: Int) {
        let reach = evidence.reach[place]
        guard let limit = packetLimit(reach.family) else { return }
        let asked = reach.anchors.compactMap { anchor in kind(of: anchor).map { (anchor.address, $0) } }
        for (number, (address, kind)) in asked.prefix(2).enumerated() {
            // One way that takes full packets is enough; only the first is searched.
            send(.transport) { done in
                PathSizeProbe(
                    ScopedAddress(address),
                    by: kind,
                    limit: limit,
                    roundTrip: roundTrips[address] ?? .milliseconds(150),
                    isSearching: number == 0,
                    loop: loop
                ) { [weak self] result in
                    self?.take(result, reach.family, limit)
                    done()
                }
            }
        }
    }

    /// How an anchor sends packets back; `nil` when it does not.
    func kind(of anchor: ReachEvidence.Anchor) -> TrainKind? {
        if anchor.echo.value == true { return .echo }
        guard let port = order.targets.echoPort, anchor.datagrams.value == true else { return nil }
        return .datagram(port: port)
    }

    /// The largest packet that the own link takes; larger ones than those of Ethernet nobody expects to arrive.
    private func packetLimit(_ family: AddressFamily) -> Int? {
        let link = facts.way(family)?.legs.lazy.compactMap { [facts] leg in facts.link(leg.index) }.first
        return link.flatMap { $0.mtu >= 576 ? min($0.mtu, 1500) : nil }
    }

    private func take(_ result: PathSizeResult, _ family: AddressFamily, _ limit: Int) {
        count(sent: result.bytesSent, received: result.bytesReceived)
        guard let largest = result.largest else { return }
        let found = TransportEvidence.PacketSize(
            family,
            largest: largest,
            linkMTU: limit,
            isAnnounced: result.isAnnounced
        )
        guard let place = evidence.transport.packetSizes.firstIndex(where: { $0.family == family }) else {
            evidence.transport.packetSizes.append(found)
            return
        }
        if largest > evidence.transport.packetSizes[place].largest { evidence.transport.packetSizes[place] = found }
    }

    // MARK: - Whether transfers stall

    /// Asks an anchor that answered a small request once more, with a head that fills several packets.
    func confirmSizes() {
        for (place, size) in evidence.transport.packetSizes.enumerated()
        where size.largest < size.linkMTU && !size.isAnnounced {
            let answered = Set(evidence.portal.checks.map(\.anchor))
            let anchor = order.targets.anchors.first { anchor in
                anchor.hasPage && answered.contains(anchor.name) && anchor.address(size.family) != nil
            }
            guard let anchor, var definition = definition(anchor, size.family, isSecure: false) else { continue }
            definition.page.padding = 4 * size.linkMTU
            definition.page.isHeadEnough = true
            definition.timeout = .milliseconds(2500)
            send(.transport) { done in
                ProbeAttempt(definition, surroundings: ProbeSurroundings(), loop: loop, pages: pages) {
                    [weak self] result in
                    self?.count(sent: result.sent, received: result.received)
                    self?.take(result, sizeAt: place)
                    done()
                }
            }
        }
    }

    private func take(_ result: ProbeResult, sizeAt place: Int) {
        if let gap = result.gap {
            evidence.transport.packetSizes[place].transferStalls = .unknown(because: gap)
        } else if result.page != nil || result.reason == .timeout {
            evidence.transport.packetSizes[place].transferStalls = .known(result.page == nil)
        }
    }
}
