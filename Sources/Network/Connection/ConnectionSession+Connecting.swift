// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import LinuxIO
internal import PathEngine
internal import PathModel

extension ConnectionSession {
    /// Resolves the endpoint and tries its addresses.
    func connect() {
        if let flow = accepted {
            accepted = nil
            return open(flow)
        }
        do throws(NWError) {
            switch try EndpointSearch.Target(endpoint) {
            case .path(let path): try open(ConnectAttempt.connect(toPath: path, engines: engines))
            case .end(let end): try begin(with: end)
            case let target: begin(target)
            }
        } catch {
            couldNotConnect(error)
        }
    }

    /// Cancels the attempts that run now.
    func skipEndpoint() {
        guard life.isPreparing else { return }
        // An address that was given is the only one.
        if eyeballs == nil, !attempts.isEmpty { return couldNotConnect(.posix(.ECANCELED)) }
        perform(eyeballs?.skip(.posix(.ECANCELED), at: now) ?? [])
    }

    private var now: Duration { engines.loop.clock.boot }

    private var families: Set<AddressFamily> { Set(AddressFamily.allCases.filter(settings.allows)) }

    private func begin(with end: SocketEnd) throws(NWError) {
        guard settings.allows(end.family) else { throw .posix(.EAFNOSUPPORT) }
        attempt(0, end)
    }

    private func begin(_ target: EndpointSearch.Target) {
        let isService = if case .service = target { true } else { false }
        let error = NWError.dns(isService ? kDNSServiceErr_NoSuchRecord : kDNSServiceErr_Timeout)
        eyeballs = HappyEyeballs(awaiting: families, error: error)
        searchLimit = engines.loop.schedule(after: settings.attemptLimit ?? Self.longestSearch) { [weak self] in
            guard let self, life.isPreparing, attempts.isEmpty else { return }
            searchLimit = nil
            couldNotConnect(error)
        }
        search?.cancel()
        search = nil
        establishment.lookUp(by: target.isOnLink ? .udp : .unknown, at: now)
        search = EndpointSearch(target, families: families, engines: engines) { [weak self] event in self?.handle(event)
        }
    }

    private func handle(_ event: EndpointSearch.Event) {
        if case .waiting = life.state, case .found = event {
            // What was not there has come, or is elsewhere now.
            return engines.loop.deferring { [weak self] in self?.retry() }
        }
        switch event {
        case .found(let ends):
            // What comes while the search begins was known.
            establishment.found(ends, isKnown: search == nil, at: now)
            perform(eyeballs?.found(ends, at: now) ?? [])
        case .finished(let family, let error): perform(eyeballs?.finished(family, error: error, at: now) ?? [])
        }
    }

    private func retry() { perform(life.retry()) }

    private func couldNotConnect(_ error: NWError) { perform(life.couldNotConnect(error)) }

    // MARK: - Attempts

    private func perform(_ actions: [HappyEyeballs.Action]) {
        for action in actions {
            switch action {
            case .attempt(let number, let end): attempt(number, end)
            case .abandon(let number): attempts.removeValue(forKey: number)?.cancel()
            case .exhausted(let error): couldNotConnect(error)
            }
        }
        schedule()
    }

    /// Comes back when the next attempt is due.
    private func schedule() {
        if let timer { engines.loop.cancel(timer) }
        timer = nil
        guard let deadline = eyeballs?.deadline else { return }
        timer = engines.loop.schedule(at: deadline) { [weak self] in
            guard let self else { return }
            timer = nil
            perform(eyeballs?.next(at: now) ?? [])
        }
    }

    private func attempt(_ number: Int, _ end: SocketEnd) {
        do throws(NWError) {
            let device = try device(to: end)
            let attempt = ConnectAttempt(to: end, settings: settings, device: device, engines: engines, opened: opened)
            opened = nil
            attempts[number] = attempt
            attempt.start { [weak self] outcome in self?.handle(outcome, of: number) }
        } catch {
            handle(.failure(error), of: number)
        }
    }

    private func handle(_ outcome: Result<any Flow, NWError>, of number: Int) {
        let attempt = attempts.removeValue(forKey: number)
        switch outcome {
        case .failure(let error):
            guard eyeballs != nil else { return couldNotConnect(error) }
            perform(eyeballs?.failed(number, error, at: now) ?? [])
        case .success(let flow):
            if eyeballs != nil { perform(eyeballs?.connected(number) ?? []) }
            if let attempt { establishment.reach(attempt.end, attempt.handshake(of: flow)) }
            open(flow)
        }
    }

    /// The interface to bind to, where parameters limit the choice.
    private func device(to end: SocketEnd) throws(NWError) -> String? {
        guard settings.limitsPath else { return nil }
        let views = engines.followPath().core?.interfaces ?? []
        var costs = FlowRouteEvaluator.Costs()
        if settings.values.prohibitExpensivePaths { costs.expensive = Set(views.filter(\.isExpensive).map(\.index)) }
        if settings.values.prohibitConstrainedPaths {
            costs.constrained = Set(views.filter(\.isConstrained).map(\.index))
        }
        guard let choice = routeEvaluator?.device(to: end, InterfaceFilter(settings.values), sparing: costs) else {
            throw .posix(.ENETDOWN)
        }
        return choice
    }

    // MARK: - Opening

    /// A flow is there: the protocols upon it come next.
    private func open(_ flow: any Flow) {
        guard life.isPreparing else { return flow.close(isAbrupt: false) }
        let stacked: any Flow
        do throws(NWError) {
            stacked = try settings.stack(upon: flow, to: endpoint, isServer: isServer, loop: engines.loop)
        } catch {
            flow.close(isAbrupt: false)
            return perform(life.broke(error))
        }
        self.flow = stacked
        stacked.onReadiness = { [weak self] readiness in self?.handle(readiness) }
        if let searchLimit { engines.loop.cancel(searchLimit) }
        searchLimit = nil
        search?.cancel()
        search = nil
        establish()
    }

    /// Lets protocols agree with those of the peer, until the connection is ready.
    func establish() {
        guard let flow, life.isPreparing else { return }
        do throws(NWError) {
            guard try flow.establish() else { return }
        } catch {
            // Without a handshake of the transport a peer that is not there is found out here.
            if case .posix = error, !settings.isStream, !isServer { return couldNotConnect(error) }
            return perform(life.broke(error))
        }
        establishment.finish(flow.handshakes, at: now)
        sink(.opened(metadata: flow.metadata, maximumDatagramSize: flow.maximumDatagramSize, establishment))
        perform(life.connected())
        reconsider()
        pump()
    }
}
