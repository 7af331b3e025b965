// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import LinuxIO
public import PathModel

/// What attempts need to know about the machine when they start.
public struct ProbeContext: Hashable, Sendable {
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
protocol ProbeExchange: Cancelable {
    /// The bytes sent so far.
    var bytesSent: Int { get }
    /// What is missing of an answer that has begun to arrive.
    var gap: String? { get }
    /// Whether a connection for a page was made.
    var isConnected: Bool { get }
}

extension ProbeRunner: ProbeExchange {
    var bytesSent: Int { traffic.bytesSent }
    var isConnected: Bool { false }
}

/// One attempt of one probe: resolves the name, tests the address, and calls back once, at the latest at its timeout.
///
/// Confined to the loop's thread.
public final class ProbeAttempt: Cancelable {
    private let loop: EventLoop
    private let definition: ProbeDefinition
    private let context: ProbeContext
    private let pages: PageClient
    private let completion: (ProbeResult) -> Void
    private let started: Duration
    private var tested: Duration
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
    ///   - context: The routers and name servers of now.
    ///   - loop: Where it goes on.
    ///   - pages: What makes HTTP requests on the same loop.
    ///   - completion: Receives the result, never before this call returns.
    public init(
        _ definition: ProbeDefinition,
        context: ProbeContext,
        loop: EventLoop,
        pages: PageClient,
        completion: @escaping (ProbeResult) -> Void
    ) {
        self.loop = loop
        self.definition = definition
        self.context = context
        self.pages = pages
        self.completion = completion
        started = loop.clock.boot
        tested = started
        timer = loop.scheduleTimeout(after: definition.timeout) { [weak self] in self?.expire(isDelayed: $0) }
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
        switch AddressPlan(definition, context) {
        case .test(let address): test(address)
        case .lookUp(let name): lookUp(name)
        case .impossible(let result): finish(result)
        }
    }

    private func lookUp(_ name: String) {
        if let blockade = blockade(of: name) {
            // Only files know the name then, and they do so at once.
            lookupTimer = loop.scheduleTimeout(after: HostLookup.timeoutWithoutRoute) { [weak self] isDelayed in
                self?.finish(ProbeResult(isDelayed ? .notAssessed(advice: SchedulingDelay.text) : blockade))
            }
        }
        do {
            lookup = try NameLookup(name, family: definition.family, loop: loop) { [weak self] found in
                self?.handle(found, of: name)
            }
        } catch {
            finish(ProbeResult(FailureClassifier.outcome(of: error, at: .lookup)))
        }
    }

    /// How a look-up of a name fails that cannot be queried beyond this machine's networks.
    private func blockade(of name: String) -> ProbeResult.Outcome? {
        guard let text = context.blockade, !HostLookup.isResolvedOnLink(name) else { return nil }
        return .failure(.unreachable, detail: text)
    }

    private func handle(_ found: NameLookup.Outcome, of name: String) {
        endLookup()
        resolution = loop.clock.boot - started
        switch found {
        case .addresses(let addresses):
            guard let first = addresses.first else {
                return finish(ProbeResult(.failure(.dns, detail: "the name has no address")))
            }
            test(first)
        case .failed(let text, let certainty):
            if certainty == .none, let shortage = Shortage.current(loop) {
                return finish(ProbeResult(.failure(.resources, detail: shortage)))
            }
            finish(ProbeResult(blockade(of: name) ?? .failure(.dns, detail: text)))
        }
    }

    private func test(_ address: ScopedAddress) {
        self.address = address
        tested = loop.clock.boot
        switch definition.method.test(definition, at: address, context) {
        case .probe(let probe):
            exchange = ProbeRunner(startingNow: probe, loop: loop) { [weak self] result, traffic in
                var result = result
                (result.sent, result.received) = (traffic.bytesSent, traffic.bytesReceived)
                self?.finish(result)
            }
        case .page(let page):
            exchange = PageExchange(
                page,
                at: address,
                expecting: definition.page,
                route: definition.route,
                client: pages
            ) { [weak self] in self?.finish($0) }
        case nil:
            let detail = "\(definition.target) is no target of method \(definition.method.rawValue)"
            finish(ProbeResult(.notAssessed(advice: detail)))
        }
    }

    private func expire(isDelayed: Bool) {
        timer = nil
        let gap = exchange?.gap.map { ": \($0)" } ?? ""
        let sent = exchange?.bytesSent ?? 0
        let isConnected = exchange?.isConnected ?? false
        exchange?.cancel()
        guard !isDelayed else { return finish(ProbeResult(.notAssessed(advice: SchedulingDelay.text), sent: sent)) }
        let isLookingUp = exchange == nil && lookup != nil
        if isLookingUp, let shortage = Shortage.current(loop) {
            return finish(ProbeResult(.failure(.resources, detail: shortage), sent: sent))
        }
        let outcome = ProbeResult.Outcome.failure(
            isLookingUp ? .dns : .timeout,
            detail: isLookingUp ? "looking up the name took too long" : "no answer in time\(gap)"
        )
        var result = ProbeResult(outcome, sent: sent)
        result.isConnected = isConnected
        finish(result)
    }

    private func finish(_ result: ProbeResult) {
        guard !isOver else { return }
        isOver = true
        var result = result
        result.duration = max(.zero, loop.clock.boot - tested - result.lateness)
        result.address = address
        result.resolution = resolution
        release()
        // Not called if cancelled before it runs.
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
        exchange?.cancel()
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

/// The address that an attempt tests, by its definition and the context.
enum AddressPlan: Equatable {
    case test(ScopedAddress)
    /// The first address of this name.
    case lookUp(String)
    /// None; this is the result.
    case impossible(ProbeResult)

    init(_ definition: ProbeDefinition, _ context: ProbeContext) {
        // The proxy looks up the name.
        if let address = definition.page.usesProxy ? ScopedAddress(.v4(0)) : definition.address {
            self = .test(address)
            return
        }
        let host: ProbeHost
        switch definition.target {
        case .gateway:
            let interface = definition.route.interface.map { context.interfaceNames[$0] ?? $0 }
            let wanted = context.gateways.first { gateway in
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
            guard let server = Self.server(definition, context) else {
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
            self = .test(address)
        }
    }

    /// The name server of a DNS probe: its own, or the first one of the system; `nil` when there is none.
    static func server(_ definition: ProbeDefinition, _ context: ProbeContext) -> SocketAddress? {
        if let server = definition.question.server { return server }
        let fitting = context.servers.first { server in
            definition.family.map { $0 == server.address.address.family } ?? true
        }
        return fitting.map { SocketAddress($0.address, port: $0.port ?? 53) }
    }
}
