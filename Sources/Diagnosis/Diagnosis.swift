// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// What one round of evidence means: the root causes, and what they hide.
public struct Diagnosis: Hashable, Sendable {
    /// Root causes, the destination's own first, then worst first; notes are not among them.
    public let verdicts: [Verdict]
    /// What is worth knowing and is no fault.
    public let notes: [Verdict]
    /// Faults that follow from one of ``verdicts``.
    public let masked: [Masked]
    /// Every layer, from the cable up.
    public let ladder: [Rung]
    /// Where the first of ``verdicts`` lies; `nil` without one.
    public let faultDomain: FaultDomain?

    public struct Masked: Hashable, Sendable {
        public let verdict: Verdict
        public let cause: VerdictCode
    }

    public struct Rung: Hashable, Sendable {
        public let layer: Layer
        public let state: State
        /// What was measured, where nothing is wrong.
        public internal(set) var figures: [Verdict.Fact] = []
    }

    public enum State: Hashable, Sendable {
        case sound
        /// These root causes lie there.
        case faulty([VerdictCode])
        /// Nothing can be said of it because of a root cause below it.
        case hidden(by: VerdictCode)
        /// It was not examined.
        case notAssessed(because: String)

        /// Whether faults of the layer would have been seen.
        public var isAssessed: Bool {
            switch self {
            case .sound, .faulty: true
            case .hidden, .notAssessed: false
            }
        }
    }

    init(_ found: [Verdict], evidence: Evidence) {
        let faults = found.filter { $0.severity > .info }
        let graph = MaskingGraph(
            faults,
            families: evidence.families,
            destination: evidence.destination
        )
        let hidden = faults.map { (fault: $0, cause: graph.cause(of: $0)) }
        let roots = hidden.filter { $0.cause == nil }.map(\.fault).sortedByWeight()
        // Where a destination is diagnosed its own faults come first.
        verdicts = roots.filter(\.isOfDestination) + roots.filter { !$0.isOfDestination }
        masked = hidden.compactMap { entry in entry.cause.map { Masked(verdict: entry.fault, cause: $0) } }
        notes = found.filter { $0.severity == .info && !graph.hides($0.code.layer) }
        let codes = Dictionary(grouping: verdicts, by: \.code.layer).mapValues { verdicts in
            verdicts.reduce(into: [VerdictCode]()) { if !$0.contains($1.code) { $0.append($1.code) } }
        }
        let causes = Dictionary(masked.map { ($0.verdict.code.layer, $0.cause) }) { first, _ in first }
        let partial = verdicts.filter(\.isPartial)
        let network = evidence.isNetworkExamined ? Layer.ofNetwork : []
        ladder = (network + (evidence.destination?.layers ?? [])).map { layer in
            if let faulty = codes[layer] { return Rung(layer: layer, state: .faulty(faulty)) }
            if let cause = layer > .performance ? causes[layer] : graph.coverOf(layer) {
                return Rung(layer: layer, state: .hidden(by: cause))
            }
            guard let gap = evidence.gap(at: layer) else {
                return Rung(layer: layer, state: .sound, figures: evidence.figures(at: layer))
            }
            if let cause = partial.first(where: { $0.code.layer < layer })?.code {
                return Rung(layer: layer, state: .hidden(by: cause))
            }
            return Rung(layer: layer, state: .notAssessed(because: gap))
        }
        faultDomain = FaultDomain(verdicts)
    }

    /// The state of a layer; `nil` when it is none of this diagnosis.
    public func state(of layer: Layer) -> State? { ladder.first { $0.layer == layer }?.state }

    /// The state of what shows a fault; `nil` when it is none of this diagnosis.
    ///
    /// Whether a host is down is known without any of the tests of its layer.
    package func state(of code: VerdictCode) -> State? {
        let state = state(of: code.layer)
        guard code == .targetDown, case .notAssessed = state else { return state }
        return self.state(of: .wan)
    }

    /// The worst severity; `nil` when nothing is wrong.
    public var severity: Severity? { verdicts.map(\.severity).max() }
}

extension Verdict {
    fileprivate var isOfDestination: Bool { code.layer > .performance }
}

extension [Verdict] {
    /// Worst first; of equals, the lower layer first, then as they were found.
    func sortedByWeight() -> [Verdict] {
        enumerated().sorted { left, right in
            if left.element.severity != right.element.severity { return left.element.severity > right.element.severity }
            if left.element.code.layer != right.element.code.layer {
                return left.element.code.layer < right.element.code.layer
            }
            return left.offset < right.offset
        }.map(\.element)
    }
}
