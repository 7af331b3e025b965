// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

/// Loads the way to a server in each direction by up to four connections, and measures throughput and latency meanwhile.
///
/// Moves at most the bytes of its order, and ends when its time is over. Uploads are cut off at once then: what waits in
/// the kernel is thrown away. Confined to the loop's thread.
public final class LoadTest: Cancelable {
    /// How often bytes are counted.
    private static let tick = Duration.milliseconds(10)
    /// A page that is asked for again and again must not be smaller than this.
    private static let leastPage = 65_536

    private let order: LoadOrder
    private let plan: LoadPlan
    private let loop: EventLoop
    private let client: PageClient
    private let report: (_ sent: Int, _ received: Int) -> Void
    private let completion: (LoadResult) -> Void
    private let started: Duration
    private var result = LoadResult()
    private var direction: LoadDirection?
    private var remaining: [LoadDirection]
    private var phaseStarted: Duration
    private var meter = LoadMeter()
    private var small: [LoadRequest] = []
    private var observed: [(started: Duration, isOwn: Bool, steps: RequestSteps)] = []
    private var pairsLeft = 0
    private var ticks = 0
    private var flows: [LoadRequest] = []
    /// What connections of this phase moved that are over.
    private var finished = 0
    private var mistake: String?
    private var ticker: EventLoop.Timer?
    private var deadline: EventLoop.Timer?
    private var isOver = false
    private var isCanceled = false

    /// Starts to load.
    /// - Parameters:
    ///   - order: What it asks for, and what it may take.
    ///   - loop: Where it goes on.
    ///   - report: Is told of traffic as it is over, also when the test is ended early.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        _ order: LoadOrder,
        loop: EventLoop,
        report: @escaping (_ sent: Int, _ received: Int) -> Void,
        completion: @escaping (LoadResult) -> Void
    ) {
        self.order = order
        self.loop = loop
        self.report = report
        self.completion = completion
        plan = LoadPlan(order)
        client = PageClient(loop: loop)
        remaining = plan.directions
        started = loop.clock.boot
        phaseStarted = started
        ticker = loop.schedule(at: started) { [weak self] in self?.begin() }
    }

    deinit { stopAll() }

    /// Ends it without a result.
    public func cancel() {
        (isOver, isCanceled) = (true, true)
        stopAll()
    }

    private func begin() {
        ticker = nil
        if let complaint = client.load() {
            result.failures.append(complaint)
            return finish()
        }
        guard plan.idlePairs > 0 else { return loadNext() }
        enter(for: plan.idle, pairs: plan.idlePairs)
        sendPair()
    }

    /// Begins a phase: the idle network, or a direction.
    private func enter(for limit: Duration, pairs: Int) {
        phaseStarted = loop.clock.boot
        (pairsLeft, ticks, finished, mistake) = (pairs, 0, 0, nil)
        observed = []
        meter = LoadMeter()
        deadline = loop.schedule(at: phaseStarted + limit) { [weak self] in
            self?.deadline = nil
            self?.leave()
        }
    }

    /// Ends a phase and begins the next.
    private func leave() {
        if direction == nil { conclude() } else { concludeLoad() }
        loadNext()
    }

    private func loadNext() {
        guard !remaining.isEmpty else { return finish() }
        let next = remaining.removeFirst()
        direction = next
        enter(for: plan.loading, pairs: plan.loadedPairs)
        meter.note(0, at: phaseStarted)
        for _ in 0..<LoadPlan.flows { addFlow(next, bytes: plan.share) }
        guard !flows.isEmpty else { return leave() }
        beat()
    }

    // MARK: - Small requests

    private func sendPair() {
        guard let page = order.small, pairsLeft > 0 else { return }
        let waiting = small.count { $0.purpose == .own }
        guard waiting < LoadPlan.mostWaiting, small.count - waiting < LoadPlan.mostWaiting else { return }
        pairsLeft -= 1
        for purpose in [LoadRequest.Purpose.foreign, .own] {
            let request = LoadRequest(page, for: purpose, client: client, clock: loop.clock)
            guard request.start(finish: { [weak self] in self?.endSmall($0, $1) }) else { continue }
            small.append(request)
        }
    }

    private func endSmall(_ request: LoadRequest, _ ending: LoadRequest.Ending) {
        small.removeAll { $0 === request }
        account(request)
        switch ending {
        case .answered(let status) where (200..<300).contains(status): observe(request)
        case .answered(let status): noteMistake("nq.small answered with status \(status)")
        case .failed(let text): noteMistake("nq.small: \(text)")
        }
        guard direction == nil, small.isEmpty else { return }
        if pairsLeft == 0 || mistake != nil { return leave() }
        sendPair()
        if small.isEmpty { leave() }
    }

    private func observe(_ request: LoadRequest) {
        observed.append((request.started, request.purpose == .own, request.steps))
    }

    /// What small requests of this phase tell, those of its first quarter aside.
    private func tally() -> RoundTripTally {
        let settled = phaseStarted + (loop.clock.boot - phaseStarted) / 4
        let late = observed.filter { direction == nil || $0.started >= settled }
        var tally = RoundTripTally()
        for entry in late.isEmpty ? observed : late {
            if entry.isOwn { tally.addOwn(entry.steps) } else { tally.addForeign(entry.steps) }
        }
        return tally
    }

    private func noteMistake(_ text: String) {
        if mistake == nil { mistake = text }
    }

    private func conclude() {
        stopAll()
        result.idle = tally().median
        if result.idle == nil { result.failures.append(mistake ?? "nq.small: no connection in time") }
    }

    // MARK: - The load

    private func addFlow(_ direction: LoadDirection, bytes: Int) {
        guard let page = order.page(direction), bytes > 0 else { return }
        let request = LoadRequest(page, for: .load(direction, bytes: bytes), client: client, clock: loop.clock)
        guard request.start(finish: { [weak self] in self?.endFlow($0, $1) }) else {
            return noteMistake("out of memory")
        }
        flows.append(request)
    }

    private func endFlow(_ request: LoadRequest, _ ending: LoadRequest.Ending) {
        guard case .load(let direction, let bytes) = request.purpose else { return }
        flows.removeAll { $0 === request }
        let delivered = request.delivered
        account(request)
        switch ending {
        case .answered(let status) where (200..<300).contains(status):
            guard delivered >= Self.leastPage || request.isDone else {
                noteMistake("\(direction.key) moved \(delivered) bytes only")
                break
            }
            finished += request.carried
            // All connections have the same share: when one has had its own, so have the others, about.
            if request.isDone { return leave() }
            addFlow(direction, bytes: bytes - delivered)
        case .answered(let status): noteMistake("\(direction.key) answered with status \(status)")
        case .failed(let text): noteMistake("\(direction.key): \(text)")
        }
        if flows.isEmpty { leave() }
    }

    private func beat() {
        note()
        // libcurl does not tell when what was sent has arrived.
        if flows.contains(where: \.isDone) { return leave() }
        if ticks % Int(LoadPlan.pace / Self.tick) == 0 && result.idle != nil { sendPair() }
        ticks += 1
        ticker = loop.schedule(after: Self.tick) { [weak self] in self?.beat() }
    }

    private func note() {
        meter.note(finished + flows.reduce(0) { $0 + $1.carried }, at: loop.clock.boot)
    }

    private func concludeLoad() {
        note()
        let moved = finished + flows.reduce(0) { $0 + $1.delivered }
        stopAll()
        guard let direction else { return }
        guard moved > 0, meter.megabitsPerSecond > 0 else {
            result.failures.append(mistake ?? "\(direction.key): no data arrived in time")
            return
        }
        let tally = tally()
        result.directions[direction] = LoadResult.Loaded(
            megabitsPerSecond: meter.megabitsPerSecond,
            roundTrip: tally.median,
            roundTripsPerMinute: tally.roundTripsPerMinute
        )
    }

    // MARK: - The end

    private func account(_ request: LoadRequest) {
        let traffic = request.traffic
        result.sent += traffic.sent
        result.received += traffic.received
        report(traffic.sent, traffic.received)
    }

    /// Ends every request and every timer; small requests tell how long they had waited.
    private func stopAll() {
        if let ticker { loop.cancel(ticker) }
        if let deadline { loop.cancel(deadline) }
        (ticker, deadline) = (nil, nil)
        let (waiting, loading) = (small, flows)
        (small, flows) = ([], [])
        for request in waiting {
            observe(request)
            request.cancel()
            account(request)
        }
        for request in loading {
            request.cancel()
            account(request)
        }
    }

    private func finish() {
        guard !isOver else { return }
        isOver = true
        stopAll()
        result.duration = loop.clock.boot - started
        // libcurl may be calling, and whoever takes the result lets go of it.
        loop.deferring { [self] in if !isCanceled { completion(result) } }
    }
}
