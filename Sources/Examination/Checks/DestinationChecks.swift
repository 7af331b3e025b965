// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import Probes
internal import WebSocketWire

/// One destination: its name is looked up, each of its addresses is tested, and the first that accepts a connection gets
/// the request.
///
/// Up to six addresses; three echo requests and one TCP connection to each, two for a bare host; one request.
extension ExaminationState {
    /// How many addresses of each family are tested.
    private static let mostAddresses = 3
    /// How many bytes of a body are read.
    private static let measuredBody = 100_000
    /// Where a host is connected to whose port was not named: it is there even if it refuses.
    static let usualPorts: [UInt16] = [443, 80]

    mutating func testDestination(_ destination: Destination) {
        evidence.destination = DestinationEvidence(destination)
        guard order.usesProxy, !order.isOffline, case .page(let page) = destination.service else {
            return testDirectly(destination)
        }
        requestThroughProxy(destination, page)
    }

    /// As programs do; around the proxy there may be no path, nor names.
    private mutating func requestThroughProxy(_ destination: Destination, _ page: PageAddress) {
        var definition = request(for: page)
        definition.throughProxy(limit: .seconds(4))
        attempt(.http, definition) { state, result in
            guard let proxy = result.proxy else { return state.testDirectly(destination) }
            state.hasRequestedPage = true
            state.evidence.destination?.proxy = proxy.description
            // Where the tunnel was made, the proxy works; a status of 407 is its own.
            let isWanting = result.page?.status == 407
            let isAnswered = result.page != nil && !isWanting || result.isSecured || result.certificate != nil
            state.record(result, of: "\(page.host)", isAnswered: isAnswered)
            guard result.isConnected, !isWanting else { return }
            state.evidence.destination?.exchange = .known(
                DestinationEvidence.Exchange(result, isSecure: false, nil)
            )
        }
    }

    private mutating func testDirectly(_ destination: Destination) {
        switch destination.host {
        case .address(let address): test(destination, at: [address])
        case .name(let name):
            evidence.destination?.lookup = .notAsked
            let isHopeless = isCut && !HostLookup.isResolvedOnLink(name)
            isLookingUp = true
            lookUp(.resolve, name, limit: isHopeless ? HostLookup.timeoutWithoutRoute : .seconds(6)) { state, result in
                state.isLookingUp = false
                state.record(result, of: destination)
            }
        }
    }

    /// Whether the kernel sends nothing beyond this machine's networks.
    private var isCut: Bool {
        facts.routes.allSatisfy { route in
            guard route.route.value != nil else { return false }
            return !route.isOpen
                || !route.nexthops.isEmpty && !route.nexthops.contains { carries(facts.link($0.index)?.name) }
        }
    }

    private func carries(_ interface: String?) -> Bool {
        guard let link = evidence.links.first(where: { $0.interface == interface }) else { return true }
        return link.isUp && link.hasCarrier
    }

    /// Whether the kernel's own facts explain why a destination is not reached, so that nothing needs to be sent.
    var isExplainedByKernel: Bool {
        isCut
            && evidence.destination?.paths.allSatisfy { path in
                guard case .found(let interface, _)? = path.route.value else { return true }
                return !carries(interface)
            } == true
    }

    private mutating func record(_ result: HostLookupResult, of destination: Destination) {
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
        if case .addresses(let addresses) = result.outcome { test(destination, at: addresses) }
    }

    private mutating func test(_ destination: Destination, at addresses: [ScopedAddress]) {
        let chosen = addresses.enumerated().filter { number, address in
            let before = addresses[..<number].count { $0.address.family == address.address.family }
            return before < Self.mostAddresses
        }
        let reader = KernelFactsReader(kernel: kernel, policy: order.policy, targets: order.targets)
        evidence.destination?.paths = chosen.map { _, address in
            var path = DestinationEvidence.Path(address)
            path.route = reader.route(to: address, facts)
            return path
        }
        guard !order.isOffline else { return }
        for (index, path) in (evidence.destination?.paths ?? []).enumerated() {
            guard case .found? = path.route.value else { continue }
            echo(to: path.address, index)
            for port in destination.port.map({ [$0] }) ?? Self.usualPorts {
                connect(to: path.address, port: port, index, destination)
            }
        }
    }

    private mutating func change(_ index: Int, _ body: (inout DestinationEvidence.Path) -> Void) {
        guard evidence.destination?.paths.indices.contains(index) == true else { return }
        if var path = evidence.destination?.paths[index] {
            body(&path)
            evidence.destination?.paths[index] = path
        }
    }

    private mutating func echo(to address: ScopedAddress, _ index: Int) {
        let (pace, timeout) = (Duration.milliseconds(50), Duration.milliseconds(1500))
        let train = PacketTrain(.echo, to: address, count: 3, pace: pace, timeout: timeout)
        run(.reach, train) { state, result, traffic in
            let own = state.facts.addresses.values.joined().map(\.address)
            let speakers = result.faults.filter { $0.kind == .unreachable }.compactMap(\.speaker)
            state.change(index) { path in
                path.echo = result.answered
                path.roundTrip = result.median
                path.unreachableFrom = speakers.first { $0 != path.address.address && !own.contains($0) }
                if traffic.packets > 0 && traffic.refused == traffic.packets { path.isRefused = true }
            }
        }
    }

    private mutating func connect(to address: ScopedAddress, port: UInt16, _ index: Int, _ destination: Destination) {
        let definition = ProbeDefinition(
            name: "destination",
            method: .tcp,
            target: .host(.address(address), port: port),
            timeout: .seconds(3)
        )
        attempt(.tcp, definition) { state, result in
            state.change(index) { $0.record(result) }
            if let shortage = result.shortage { state.evidence.shortage = shortage }
            if let gap = result.gap { state.evidence.destination?.gaps[.tcp] = gap }
            if result.isSuccess { state.request(destination, at: address) }
        }
    }

    // MARK: - The request

    private func request(for page: PageAddress) -> ProbeDefinition {
        var definition = ProbeDefinition(name: "destination", method: .http, target: .page(page), timeout: .seconds(5))
        definition.page.authorities = authorities(of: page.host)
        definition.page.measuredBody = Self.measuredBody
        definition.page.limit = .seconds(4)
        return definition
    }

    /// Sends the request to the first address that accepted a connection, once.
    mutating func request(_ destination: Destination, at address: ScopedAddress) {
        guard let page = destination.page, !hasRequestedPage else { return }
        hasRequestedPage = true
        var definition = request(for: page)
        definition.address = address
        var key: WebSocketKey?
        if case .webSocket = destination.service {
            key = WebSocketKey()
            definition.page.key = key?.text
            definition.page.isHeadEnough = true
        }
        let acceptance = key?.accept
        attempt(page.isSecure ? .tls : .http, definition) { state, result in
            if let shortage = result.shortage { state.evidence.shortage = shortage }
            guard let gap = result.gap else {
                let exchange = DestinationEvidence.Exchange(result, isSecure: page.isSecure, acceptance)
                state.evidence.destination?.exchange = .known(exchange)
                return
            }
            for layer in [Layer.tls, .http, .websocket] { state.evidence.destination?.gaps[layer] = gap }
        }
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
    /// `nil` where it could not be looked up.
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
    mutating func record(_ result: ProbeResult) {
        let found: ReachEvidence.Connection
        switch result.reason {
        case nil where result.isSuccess: found = .connected
        case .refused: found = .refused
        case .timeout, .unreachable: found = .silent
        case .blocked:
            found = .silent
            isRefused = true
        // It could not be tested.
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
            // Without a length it may be a stream of events, which goes on for ever.
            if case .failure(.timeout, _) = result.outcome, let length = page.bodyLength, page.bodyRead < length {
                self = .stalled(status: page.status, read: page.bodyRead, length: length)
                return
            }
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
