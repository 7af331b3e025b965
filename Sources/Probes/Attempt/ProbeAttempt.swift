// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import LinuxIO
public import PathModel

/// What attempts need to know of the machine when they start.
public struct ProbeSurroundings: Hashable, Sendable {
    public var gateways: [Gateway]
    /// The name servers in use, in order.
    public var servers: [DNSServer]
    /// The names of interfaces by their alternative names.
    public var interfaceNames: [String: String]
    /// Why the kernel sends nothing beyond this machine's networks; `nil` where it would.
    public var blockade: String?

    public init(
        gateways: [Gateway] = [],
        servers: [DNSServer] = [],
        interfaceNames: [String: String] = [:],
        blockade: String? = nil
    ) {
        self.gateways = gateways
        self.servers = servers
        self.interfaceNames = interfaceNames
        self.blockade = blockade
    }
}

/// The part of an attempt that speaks one protocol.
protocol ProbeExchange: AnyObject {
    /// Sends what is to be sent; calls `finish` once, maybe before it returns.
    func start(finish: @escaping (ProbeResult) -> Void)
    /// Ends it without a result and closes everything; what was sent so far is returned.
    func cancel() -> Int
    /// What is missing of an answer that has begun to come.
    var gap: String? { get }
}

extension ProbeExchange {
    var gap: String? { nil }
}

/// One attempt of one probe: finds the address, asks, and calls back once, at the latest when the time is over.
///
/// Confined to the loop's thread.
public final class ProbeAttempt {
    private let loop: EventLoop
    private let definition: ProbeDefinition
    private let surroundings: ProbeSurroundings
    private let pages: PageClient
    private let completion: (ProbeResult) -> Void
    private let started: Duration
    private var asked: Duration
    private var lookup: NameLookup?
    /// Ends a look-up that leads nowhere, before the attempt's own time is over.
    private var lookupTimer: EventLoop.Timer?
    private var exchange: (any ProbeExchange)?
    private var timer: EventLoop.Timer?
    private var address: ScopedAddress?
    private var resolution: Duration?
    private var isOver = false
    private var isCanceled = false

    /// Starts an attempt.
    /// - Parameters:
    ///   - definition: What to do.
    ///   - surroundings: The routers and name servers at this moment.
    ///   - loop: Where it goes on.
    ///   - pages: What makes HTTP requests on the same loop.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        _ definition: ProbeDefinition,
        surroundings: ProbeSurroundings,
        loop: EventLoop,
        pages: PageClient,
        completion: @escaping (ProbeResult) -> Void
    ) {
        self.loop = loop
        self.definition = definition
        self.surroundings = surroundings
        self.pages = pages
        self.completion = completion
        started = loop.clock.boot
        asked = started
        timer = loop.scheduleSilence(after: definition.timeout) { [weak self] in self?.expire(isStarved: $0) }
        loop.deferring { [weak self] in self?.begin() }
    }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        isCanceled = true
        release()
    }

    private func begin() {
        guard !isOver else { return }
        switch AddressPlan(definition, surroundings) {
        case .ask(let address): ask(address)
        case .lookUp(let name): lookUp(name)
        case .impossible(let result): finish(result)
        }
    }

    private func lookUp(_ name: String) {
        if let blockade = blockade(of: name) {
            // Only files know the name then, and they do so at once.
            lookupTimer = loop.scheduleSilence(after: HostLookup.patienceWithoutWay) { [weak self] isStarved in
                self?.finish(ProbeResult(isStarved ? .notAssessed(advice: Starvation.text) : blockade))
            }
        }
        do {
            lookup = try NameLookup(name, family: definition.family, loop: loop) { [weak self] found in
                self?.take(found, of: name)
            }
        } catch {
            finish(ProbeResult(FailureClassifier.outcome(of: error, at: .lookup)))
        }
    }

    /// How a look-up of a name fails that nothing beyond this machine's networks can be asked about.
    private func blockade(of name: String) -> ProbeResult.Outcome? {
        guard let text = surroundings.blockade, !HostLookup.isAskedOnLink(name) else { return nil }
        return .failure(.unreachable, detail: text)
    }

    private func take(_ found: NameLookup.Outcome, of name: String) {
        endLookup()
        resolution = loop.clock.boot - started
        switch found {
        case .addresses(let addresses):
            guard let first = addresses.first else {
                return finish(ProbeResult(.failure(.dns, detail: "the name has no address")))
            }
            ask(first)
        case .failed(let text, let certainty):
            if certainty == .none, let shortage = Shortage.current(loop) {
                return finish(ProbeResult(.failure(.resources, detail: shortage)))
            }
            finish(ProbeResult(blockade(of: name) ?? .failure(.dns, detail: text)))
        }
    }

    private func ask(_ address: ScopedAddress) {
        self.address = address
        asked = loop.clock.boot
        let exchange = makeExchange(address)
        self.exchange = exchange
        exchange.start { [weak self] result in self?.finish(result) }
    }

    private func makeExchange(_ address: ScopedAddress) -> any ProbeExchange {
        let route = definition.route
        switch (definition.method, definition.target) {
        case (.tcp, .host(_, let port)):
            return ConnectExchange(to: SocketAddress(address, port: port ?? 0), route: route, loop: loop)
        case (.http, .page(let page)):
            return PageExchange(page, at: address, expecting: definition.page, route: route, client: pages)
        case (.dns, .domain(let name)):
            let port = AddressPlan.server(definition, surroundings)?.port ?? 53
            let server = SocketAddress(address, port: port)
            return NameExchange(name, asking: server, definition.question, route: route, loop: loop)
        default: return EchoExchange(to: address, route: route, loop: loop)
        }
    }

    private func expire(isStarved: Bool) {
        timer = nil
        let gap = exchange?.gap.map { ": \($0)" } ?? ""
        let sent = exchange?.cancel() ?? 0
        guard !isStarved else { return finish(ProbeResult(.notAssessed(advice: Starvation.text), sent: sent)) }
        let isLookingUp = exchange == nil && lookup != nil
        if isLookingUp, let shortage = Shortage.current(loop) {
            return finish(ProbeResult(.failure(.resources, detail: shortage), sent: sent))
        }
        let outcome = ProbeResult.Outcome.failure(
            isLookingUp ? .dns : .timeout,
            detail: isLookingUp ? "looking up the name took too long" : "no answer in time\(gap)"
        )
        finish(ProbeResult(outcome, sent: sent))
    }

    private func finish(_ result: ProbeResult) {
        guard !isOver else { return }
        isOver = true
        var result = result
        result.duration = max(.zero, loop.clock.boot - asked - result.lateness)
        result.address = address
        result.resolution = resolution
        release()
        // Whoever cancels between the end and the call is not called.
        loop.deferring { [self] in if !isCanceled { completion(result) } }
    }

    private func endLookup() {
        if let lookupTimer { loop.cancel(lookupTimer) }
        lookupTimer = nil
        lookup?.cancel()
        lookup = nil
    }

    private func release() {
        if let timer { loop.cancel(timer) }
        timer = nil
        endLookup()
        _ = exchange?.cancel()
        exchange = nil
    }
}

extension ProbeDefinition {
    /// Whether a name is looked up at every attempt.
    public var isNamed: Bool {
        switch target {
        case .host(.name, _): true
        case .page(let page): if case .name = page.host { true } else { false }
        default: false
        }
    }
}

/// Whom an attempt asks: decided from the definition and the surroundings.
enum AddressPlan: Equatable {
    case ask(ScopedAddress)
    /// The first address of this name.
    case lookUp(String)
    /// Nobody; this is the result.
    case impossible(ProbeResult)

    init(_ definition: ProbeDefinition, _ surroundings: ProbeSurroundings) {
        if let address = definition.address {
            self = .ask(address)
            return
        }
        let host: ProbeHost
        switch definition.target {
        case .gateway:
            let interface = definition.route.interface.map { surroundings.interfaceNames[$0] ?? $0 }
            let wanted = surroundings.gateways.first { gateway in
                (interface.map { $0 == gateway.interface } ?? true)
                    && (definition.family.map { $0 == gateway.family } ?? true)
            }
            guard let wanted else {
                self = .impossible(ProbeResult(.failure(.unreachable, detail: "there is no gateway")))
                return
            }
            host = .address(wanted.address)
        case .host(let other, _): host = other
        case .page(let page): host = page.host
        case .domain:
            guard let server = Self.server(definition, surroundings) else {
                self = .impossible(ProbeResult(.failure(.dns, detail: "no name server is configured")))
                return
            }
            host = .address(server.address)
        }
        switch host {
        case .name(let name): self = .lookUp(name)
        case .address(let address):
            guard
                definition.family == nil || definition.target == .gateway || definition.family == address.address.family
            else {
                let detail = "\(address) is not an address of the requested family"
                self = .impossible(ProbeResult(.failure(.unreachable, detail: detail)))
                return
            }
            self = .ask(address)
        }
    }

    /// The name server of a DNS probe: its own, or the first one of the system; `nil` when there is none.
    static func server(_ definition: ProbeDefinition, _ surroundings: ProbeSurroundings) -> SocketAddress? {
        if let server = definition.question.server { return server }
        let fitting = surroundings.servers.first { server in
            definition.family.map { $0 == server.address.address.family } ?? true
        }
        return fitting.map { SocketAddress($0.address, port: $0.port ?? 53) }
    }
}
