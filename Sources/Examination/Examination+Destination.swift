// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import LinuxIO
internal import Netlink
internal import Probes
internal import WebSocketWire

/// One destination: its name is looked up, each of its addresses is asked, and the first that takes a connection gets
/// the request.
///
/// Up to six addresses; three echo requests and one TCP connection to each, two for a bare host; one request.
extension Examination {
    /// How many addresses of each family are asked.
    private static let mostAddresses = 3
    /// Where a host is connected to whose port was not named: it is there if it so much as refuses.
    private static let usualPorts: [UInt16] = [443, 80]
    /// How long the name may take before the network is looked at meanwhile.
    private static let patience = Duration.milliseconds(1500)

    func askDestination(_ destination: Destination) {
        evidence.destination = DestinationEvidence(destination)
        switch destination.host {
        case .address(let address): ask(destination, at: [address])
        case .name(let name):
            evidence.destination?.lookup = .notAsked
            let isHopeless = isCut && !HostLookup.isAskedOnLink(name)
            send(.resolve) { done in
                let limit = isHopeless ? HostLookup.patienceWithoutWay : .seconds(6)
                let lookup = HostLookup(name, limit: limit, loop: loop) { [weak self] result in
                    self?.lookup = nil
                    self?.take(result, of: destination)
                    done()
                }
                self.lookup = lookup
                return lookup
            }
            loop.schedule(after: Self.patience) { [weak self] in
                if self?.lookup != nil { self?.lookAround() }
            }
        }
    }

    /// Whether the kernel sends nothing beyond this machine's networks.
    private var isCut: Bool {
        facts.ways.allSatisfy { way in
            guard way.route.value != nil else { return false }
            return !way.isOpen || !way.legs.isEmpty && !way.legs.contains { carries(facts.link($0.index)?.name) }
        }
    }

    private func carries(_ interface: String?) -> Bool {
        guard let link = evidence.links.first(where: { $0.interface == interface }) else { return true }
        return link.isUp && link.hasCarrier
    }

    /// Whether the kernel's own facts tell why a destination is not reached, so that nobody needs to be asked.
    var isExplainedByKernel: Bool {
        isCut
            && evidence.destination?.paths.allSatisfy { path in
                guard case .found(let interface, _)? = path.route.value else { return true }
                return !carries(interface)
            } == true
    }

    private func take(_ result: HostLookupResult, of destination: Destination) {
        evidence.destination?.lookupTime = result.duration
        guard let found = DestinationEvidence.Lookup(result.outcome) else {
            if case .impossible(let shortage) = result.outcome {
                evidence.shortage = shortage
                evidence.destination?.lookup = .unknown(because: shortage)
                evidence.destination?.gaps[.resolve] = shortage
            }
            return
        }
        evidence.destination?.lookup = .known(found)
        if case .addresses(let addresses) = result.outcome { ask(destination, at: addresses) }
    }

    private func ask(_ destination: Destination, at addresses: [ScopedAddress]) {
        let chosen = addresses.enumerated().filter { number, address in
            let before = addresses[..<number].count { $0.address.family == address.address.family }
            return before < Self.mostAddresses
        }
        let survey = KernelSurvey(kernel: kernel, policy: order.policy, targets: order.targets)
        evidence.destination?.paths = chosen.map { _, address in
            var path = DestinationEvidence.Path(address)
            path.route = survey.route(to: address, facts)
            return path
        }
        guard !order.isOffline else { return }
        for (place, path) in (evidence.destination?.paths ?? []).enumerated() {
            guard case .found? = path.route.value else { continue }
            echo(to: path.address, place)
            for port in destination.port.map({ [$0] }) ?? Self.usualPorts {
                connect(to: path.address, port: port, place, destination)
            }
        }
    }

    private func change(_ place: Int, _ body: (inout DestinationEvidence.Path) -> Void) {
        guard evidence.destination?.paths.indices.contains(place) == true else { return }
        if var path = evidence.destination?.paths[place] {
            body(&path)
            evidence.destination?.paths[place] = path
        }
    }

    private func echo(to address: ScopedAddress, _ place: Int) {
        send(.reach) { done in
            PacketTrain(
                .echo,
                to: address,
                count: 3,
                pace: .milliseconds(50),
                patience: .milliseconds(1500),
                loop: loop
            ) { [weak self] result in
                self?.count(sent: result.bytesSent, received: result.bytesReceived)
                self?.take(result, place)
                done()
            }
        }
    }

    private func take(_ result: TrainResult, _ place: Int) {
        let own = facts.addresses.values.joined().map(\.address)
        let speakers = result.faults.filter { $0.kind == .unreachable }.compactMap(\.speaker)
        change(place) { path in
            path.echo = result.answered
            path.roundTrip = result.median
            path.unreachableFrom = speakers.first { $0 != path.address.address && !own.contains($0) }
            if result.sent > 0 && result.refused == result.sent { path.isRefused = true }
        }
    }

    private func connect(to address: ScopedAddress, port: UInt16, _ place: Int, _ destination: Destination) {
        let definition = ProbeDefinition(
            name: "destination",
            method: .tcp,
            target: .host(.address(address), port: port),
            timeout: .seconds(3)
        )
        send(.tcp) { done in
            ProbeAttempt(definition, surroundings: ProbeSurroundings(), loop: loop, pages: pages) {
                [weak self] result in
                self?.change(place) { $0.take(result) }
                if let shortage = result.shortage { self?.evidence.shortage = shortage }
                if let gap = result.gap { self?.evidence.destination?.gaps[.tcp] = gap }
                if result.isSuccess { self?.request(destination, at: address) }
                done()
            }
        }
    }

    // MARK: - The request

    /// Asks the first address that took a connection, once.
    private func request(_ destination: Destination, at address: ScopedAddress) {
        guard let page = destination.page, !hasRequestedPage else { return }
        hasRequestedPage = true
        var definition = ProbeDefinition(name: "destination", method: .http, target: .page(page), timeout: .seconds(5))
        definition.address = address
        definition.page.authorities = authorities(of: page.host)
        definition.page.isHeadEnough = true
        definition.page.limit = .seconds(4)
        var key: WebSocketKey?
        if case .webSocket = destination.service {
            key = WebSocketKey()
            definition.page.key = key?.text
        }
        send(page.isSecure ? .tls : .http) { done in
            ProbeAttempt(definition, surroundings: ProbeSurroundings(), loop: loop, pages: pages) {
                [weak self] result in
                self?.count(sent: result.sent, received: result.received)
                self?.take(result, isSecure: page.isSecure, key)
                done()
            }
        }
    }

    /// Who vouches for a host: of an anchor, whom the operator named.
    func authorities(of host: ProbeHost) -> String? {
        let isAnchor = order.targets.anchors.contains { anchor in
            switch host {
            case .name(let name): anchor.host?.lowercased() == name.lowercased()
            case .address(let address): [anchor.ipv4, anchor.ipv6].contains(address.address)
            }
        }
        return isAnchor ? order.targets.authorities : nil
    }

    private func take(_ result: ProbeResult, isSecure: Bool, _ key: WebSocketKey?) {
        if let shortage = result.shortage { evidence.shortage = shortage }
        if let gap = result.gap {
            for layer in [Layer.tls, .http, .websocket] { evidence.destination?.gaps[layer] = gap }
            return
        }
        evidence.destination?.exchange = .known(.init(result, isSecure: isSecure, key?.accept))
    }
}

extension DestinationEvidence {
    init(_ destination: Destination) {
        let service: Service
        switch destination.service {
        case .host: service = .host
        case .port: service = .port
        case .page(let page): service = .page(isSecure: page.isSecure)
        case .webSocket(let page): service = .webSocket(isSecure: page.isSecure)
        }
        self.init(destination.description, host: "\(destination.host)", port: destination.port, service)
    }
}

extension DestinationEvidence.Lookup {
    /// `nil` where it could not be tried.
    init?(_ outcome: HostLookupResult.Outcome) {
        switch outcome {
        case .addresses: self = .found
        case .noSuchName: self = .noSuchName
        case .noAddress: self = .noAddress
        case .failed(let text): self = .failed(text)
        case .impossible: return nil
        }
    }
}

extension DestinationEvidence.Path {
    /// Keeps the best of several connections: one that was made, else one that was refused.
    mutating func take(_ result: ProbeResult) {
        let found: ReachEvidence.Connection
        switch result.reason {
        case nil where result.isSuccess: found = .connected
        case .refused: found = .refused
        case .timeout, .unreachable: found = .silent
        case .blocked:
            found = .silent
            isRefused = true
        // It could not be asked.
        default: return
        }
        switch (connection.value, found) {
        case (.connected?, _), (.refused?, .silent): return
        default: connection = .known(found)
        }
        if found == .connected { connectTime = result.duration }
    }
}

extension DestinationEvidence.Exchange {
    init(_ result: ProbeResult, isSecure: Bool, _ acceptance: String?) {
        if let page = result.page {
            let isUpgraded = page.status == 101 && acceptance != nil && page.acceptance == acceptance
            self = .answered(status: page.status, location: page.location, isUpgraded: isUpgraded)
            return
        }
        var text = "no answer in time"
        if case .failure(let reason, let detail) = result.outcome, reason != .timeout || detail.hasPrefix(text) {
            text = detail
        }
        if let failure = result.certificate {
            self = .untrusted(detail: text, isAboutTime: failure == .outOfDate)
        } else if isSecure && !result.isSecured {
            self = .unencrypted(detail: text)
        } else {
            self = .unanswered(detail: text)
        }
    }
}
