// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Documents
internal import LinuxIO
internal import Metrics
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Providers

/// Reads the counters of the path's links once a minute, on a thread of its own, and keeps what they show.
///
/// Nothing is sent. Confined to the daemon's loop.
final class LinkHealthMonitor {
    private let engine: PathEngine
    private let radios: () -> [Int: RadioCounters]
    private let loop: EventLoop
    private let interval: Duration
    private var health = LinkHealth()
    /// The interfaces that carry the path, or did before it broke.
    private var used: [Int] = []
    /// How often ``shown`` changed, for the tags of documents.
    private(set) var revision: UInt64 = 0
    /// What documents show of the links, by index.
    private(set) var shown: [Int: LinkCountersDocument] = [:]
    private var failure: ProviderError?
    private var timer: EventLoop.Timer?
    private var isReading = false
    /// Whether a reading lasts longer than the time between two of them.
    private var isLate = false
    private var isStopped = false
    private var onChange: ([Verdict]) -> Void = { _ in }

    /// Prepares to read; `radios` returns what Wi-Fi clients counted.
    init(
        _ engine: PathEngine,
        loop: EventLoop,
        interval: Duration = .seconds(60),
        radios: @escaping () -> [Int: RadioCounters] = { [:] }
    ) {
        self.engine = engine
        self.radios = radios
        self.loop = loop
        self.interval = interval
    }

    convenience init(_ system: PathSystem, loop: EventLoop) {
        self.init(system.engine, loop: loop) { [providers = system.providers] in providers.radioCounters }
    }

    /// Begins to read; `onChange` receives the faults that stand when they are others, or have other figures.
    func start(onChange: @escaping ([Verdict]) -> Void) {
        self.onChange = onChange
        read()
    }

    private func read() {
        timer = loop.schedule(after: interval) { [unowned self] in read() }
        // A driver that holds up a reading gets no second one meanwhile.
        isLate = isReading
        guard !isReading else { return }
        let inUse = engine.core.interfacesInUse
        if !inUse.isEmpty { used = inUse }
        let links = engine.core.measuredLinks(used: used, known: health.samples.keys.sorted())
        guard !links.isEmpty else { return finish(LinkStatistics.Reading(), of: links) }
        // Reading them again would resume a card without a carrier, which counts nothing.
        let cards = links.filter { $0.isCable && (engine.core.isUsable($0.index) || health.samples[$0.index] == nil) }
        isReading = true
        do throws(Errno) {
            try loop.offload {
                LinkStatistics.read(links.map(\.index), cards: cards.map(\.index))
            } completion: { [weak self] in
                self?.finish($0, of: links)
            }
        } catch {
            finish(LinkStatistics.Reading(problem: .system(call: "pthread_create", code: error)), of: links)
        }
    }

    private func finish(_ reading: LinkStatistics.Reading, of links: [MeasuredLink]) {
        (isReading, isLate, failure) = (false, false, reading.problem)
        guard !isStopped else { return }
        let (core, radios) = (engine.core, radios())
        var samples: [Int: LinkSample] = [:]
        for link in links {
            guard let name = core.state.links[link.index]?.name else { continue }
            samples[link.index] = LinkSample(
                name,
                isCable: link.isCable,
                isUsed: link.isUsed,
                hasCarrier: core.isUsable(link.index),
                wired: core.facts.wired[link.index],
                counters: reading.counters[link.index],
                radio: radios[link.index]
            )
        }
        let before = health.verdicts
        health.apply(samples, at: loop.clock.awake)
        let documents = health.samples.compactMapValues { sample in
            sample.counters.map { LinkCountersDocument(sample.wired, $0) }
        }
        if documents != shown {
            shown = documents
            revision += 1
        }
        if health.verdicts != before { onChange(health.verdicts) }
    }
}

extension LinkHealthMonitor: DaemonPart {
    var problems: [ProblemDocument] {
        let text = isLate ? "a driver does not answer" : failure.map { "\($0)" }
        return text.map { [ProblemDocument(part: "links", message: "counters cannot be read: \($0)")] } ?? []
    }

    func register(in registry: MetricRegistry) {
        registry.add { [unowned self] writer in LinkHealthMetrics.write(health.samples, to: &writer) }
    }

    func stop() {
        isStopped = true
        if let timer { loop.cancel(timer) }
        timer = nil
    }
}
