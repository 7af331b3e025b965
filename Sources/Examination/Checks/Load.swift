// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

extension Check {
    /// The load test: last of all, because it disturbs everything else, and only where its result would mean something.
    ///
    /// Up to four connections in each direction, within the seconds and the bytes that the targets allow.
    static let load = Check(.load) { $0.measureLoad() }
}

extension ExaminationState {
    fileprivate mutating func measureLoad() {
        guard order.isLoading else { return }
        let load = order.targets.load
        guard load.isPossible else {
            evidence.performance.loadGap = "nothing to load: set diagnosis.nq.download or diagnosis.nq.upload"
            return
        }
        let diagnosis = RuleEvaluator(budgets: order.targets.budgets).evaluate(evidence)
        // The list of layers says so by itself.
        if case .hidden? = diagnosis.ladder.first(where: { $0.layer == .performance })?.state { return }
        let codes = diagnosis.verdicts.map(\.code)
        if let code = codes.first(where: { $0 == .addressDuplicate || $0 == .gatewayARPConflict }) {
            evidence.performance.loadGap = "no load test: \(code.rawValue) would distort it"
            return
        }
        lookUpLoad(load)
    }

    /// Finds the address of each host, then loads.
    private mutating func lookUpLoad(_ load: Targets.Load) {
        let pages = Set([load.download, load.upload, load.small].compactMap { $0.flatMap { PageAddress($0) } })
        var missing: Set<String> = []
        for page in pages {
            let host = "\(page.host)"
            switch page.host {
            case .address(let address): self.load.addresses[host] = address
            case .name(let name): self.load.addresses[host] = knownAddress(of: name)
            }
            if self.load.addresses[host] == nil { missing.insert(host) }
        }
        guard !missing.isEmpty else { return startLoad(load) }
        self.load.lookups = missing.count
        for name in missing.sorted() {
            lookUp(.performance, name, limit: .seconds(3)) { state, result in
                if case .addresses(let addresses) = result.outcome {
                    state.load.addresses[name] =
                        addresses.first { state.isUsed($0.address.family) } ?? addresses.first
                }
                state.load.lookups -= 1
                if state.load.lookups == 0 { state.startLoad(load) }
            }
        }
    }

    /// The address of an anchor, by a family in which it answers.
    private func knownAddress(of name: String) -> ScopedAddress? {
        guard let anchor = order.targets.anchors.first(where: { $0.host?.lowercased() == name.lowercased() }) else {
            return nil
        }
        let family = facts.routes.map(\.family).first { isUsed($0) && anchor.address($0) != nil }
        return family.flatMap { anchor.address($0) }.map { ScopedAddress($0) }
    }

    private func isUsed(_ family: AddressFamily) -> Bool {
        guard facts.route(family)?.isOpen == true else { return false }
        return evidence.reach.first { $0.family == family }?.isAlive != false
    }

    private mutating func startLoad(_ load: Targets.Load) {
        var gaps: [String] = []
        func page(_ text: String?, _ key: String) -> LoadOrder.Page? {
            guard let page = text.flatMap({ PageAddress($0) }) else { return nil }
            guard let address = self.load.addresses["\(page.host)"] else {
                gaps.append("nq.\(key): \(page.host) has no address")
                return nil
            }
            return LoadOrder.Page(page, at: address, authorities: authorities(of: page.host))
        }
        var wanted = LoadOrder()
        wanted.download = page(load.download, "download")
        wanted.upload = page(load.upload, "upload")
        wanted.small = page(load.small, "small")
        wanted.maximumBytes = load.maximumBytes
        wanted.maximumDuration = load.maximumDuration
        guard wanted.download != nil || wanted.upload != nil else {
            evidence.performance.loadGap = "no load test: \(gaps.joined(separator: "; "))"
            return
        }
        // Reported when the time is over before the result is there.
        evidence.performance.loadGap = "timed out before the load test ended"
        tasks.append(.load(wanted, gaps))
    }

    fileprivate mutating func record(_ result: LoadResult, _ gaps: [String]) {
        let failures = gaps + result.failures
        evidence.performance.loadGap = failures.isEmpty ? nil : "load test: \(failures.joined(separator: "; "))"
        evidence.performance.load = PerformanceEvidence.Load(result)
    }
}

extension CheckTask {
    fileprivate static func load(_ order: LoadOrder, _ gaps: [String]) -> CheckTask {
        CheckTask(layer: .performance) { context in
            LoadTest(
                order,
                loop: context.loop,
                report: { sent, received in context.record { $0.count(sent: sent, received: received) } },
                completion: { result in context.finish { $0.record(result, gaps) } }
            )
        }
    }
}

extension PerformanceEvidence.Load {
    /// The result of a load test, latency by the direction that suffers more; `nil` when nothing was loaded.
    init?(_ result: LoadResult) {
        guard !result.directions.isEmpty else { return nil }
        let worst = result.directions.values.filter { $0.roundTripsPerMinute != nil }
            .min { $0.roundTripsPerMinute ?? 0 < $1.roundTripsPerMinute ?? 0 }
        self.init(
            idle: result.idle,
            loaded: worst?.roundTrip,
            roundTripsPerMinute: worst?.roundTripsPerMinute,
            down: result.directions[.down]?.megabitsPerSecond,
            up: result.directions[.up]?.megabitsPerSecond
        )
        duration = result.duration
        sent = result.sent
        received = result.received
    }
}
