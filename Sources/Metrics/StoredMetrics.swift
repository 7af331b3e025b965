// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Counts things as they happen, per combination of label values.
public final class Counter {
    /// What is counted.
    public let family: MetricFamily
    private var values: [[String]: Double] = [:]
    private var order: [[String]] = []

    /// Makes a counter; `children` are there from the start with 0, else `increase()` misses their first event.
    public init(_ family: MetricFamily, children: [[String]]? = nil) {
        precondition(family.kind == .counter, "\(family.name) is not a counter")
        self.family = family
        for labels in children ?? (family.labels.isEmpty ? [[]] : []) { add(labels, 0) }
    }

    /// Counts `amount` more.
    public func increment(_ labels: String..., by amount: Double = 1) { add(labels, amount) }

    /// Counts `amount` more.
    public func increment(labels: [String], by amount: Double = 1) { add(labels, amount) }

    /// Forgets the children whose labels are not to be kept.
    public func keep(_ isKept: ([String]) -> Bool) {
        order.removeAll { !isKept($0) }
        values = values.filter { isKept($0.key) }
    }

    /// The count of one child; 0 when there is none.
    public func value(_ labels: String...) -> Double { values[labels] ?? 0 }

    /// Writes every child.
    public func collect(into writer: inout MetricWriter) {
        writer.declare(family)
        for labels in order { writer.write(family, values[labels] ?? 0, labels: labels) }
    }

    private func add(_ labels: [String], _ amount: Double) {
        precondition(labels.count == family.labels.count && amount >= 0, "\(family.name) cannot count \(labels)")
        if values[labels] == nil { order.append(labels) }
        values[labels, default: 0] += amount
    }
}

/// Sorts observations into fixed buckets, per combination of label values.
public final class Histogram {
    struct State {
        var counts: [UInt64]
        var sum = 0.0
    }

    /// The bounds of times from a millisecond to five seconds.
    public static let seconds: [Double] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5]
    /// The bounds of times from ten microseconds to a second.
    public static let fastSeconds: [Double] = [0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.1, 1]

    /// What is observed.
    public let family: MetricFamily
    private let bounds: [Double]
    private var states: [[String]: State] = [:]
    private var order: [[String]] = []

    /// Makes a histogram; `bounds` rise, and `children` are there from the start.
    public init(_ family: MetricFamily, bounds: [Double] = Histogram.seconds, children: [[String]]? = nil) {
        precondition(family.kind == .histogram, "\(family.name) is not a histogram")
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "the bounds of \(family.name) must rise")
        self.family = family
        self.bounds = bounds
        for labels in children ?? (family.labels.isEmpty ? [[]] : []) { prepare(labels) }
    }

    /// Adds one observation.
    public func observe(_ value: Double, _ labels: String...) {
        prepare(labels)
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        states[labels]?.counts[bucket] += 1
        states[labels]?.sum += value
    }

    /// Forgets the children whose labels are not to be kept.
    public func keep(_ isKept: ([String]) -> Bool) {
        order.removeAll { !isKept($0) }
        states = states.filter { isKept($0.key) }
    }

    /// How many observations one child has.
    public func count(_ labels: String...) -> UInt64 { states[labels]?.counts.reduce(0, +) ?? 0 }

    /// Writes every child.
    public func collect(into writer: inout MetricWriter) {
        writer.declare(family)
        for labels in order {
            guard let state = states[labels] else { continue }
            writer.write(family, state, bounds: bounds, labels: labels)
        }
    }

    /// Makes a child that has observed nothing, unless it is there.
    public func prepare(_ labels: [String]) {
        precondition(labels.count == family.labels.count, "\(family.name) cannot observe \(labels)")
        guard states[labels] == nil else { return }
        order.append(labels)
        states[labels] = State(counts: [UInt64](repeating: 0, count: bounds.count + 1))
    }
}
