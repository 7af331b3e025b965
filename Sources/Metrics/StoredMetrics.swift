// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Counts things as they happen, per combination of label values.
public final class Counter {
    /// The count of one combination, for whoever counts the same again and again.
    public final class Child {
        let labels: [String]
        private(set) var value = 0.0

        init(_ labels: [String]) {
            self.labels = labels
        }

        /// Counts `amount` more, which is not negative.
        public func increment(by amount: Double = 1) {
            precondition(amount >= 0, "a counter cannot count \(amount)")
            value += amount
        }
    }

    public let family: MetricFamily
    private var children: [[String]: Child] = [:]
    private var order: [Child] = []

    /// Makes a counter; `children` are there from the start with 0, else `increase()` misses their first event.
    public init(_ family: MetricFamily, children: [[String]]? = nil) {
        precondition(family.kind == .counter, "\(family.name) is not a counter")
        self.family = family
        for labels in children ?? (family.labels.isEmpty ? [[]] : []) { _ = child(labels) }
    }

    /// Counts `amount` more.
    public func increment(_ labels: String..., by amount: Double = 1) { child(labels).increment(by: amount) }

    /// Counts `amount` more.
    public func increment(labels: [String], by amount: Double = 1) { child(labels).increment(by: amount) }

    /// Forgets the children whose labels are not to be kept.
    public func keep(_ isKept: ([String]) -> Bool) {
        order.removeAll { !isKept($0.labels) }
        children = children.filter { isKept($0.key) }
    }

    /// The count of one child; 0 when there is none.
    public func value(_ labels: String...) -> Double { children[labels]?.value ?? 0 }

    public func collect(into writer: inout MetricWriter) {
        writer.declare(family)
        for child in order { writer.write(family, child.value, labels: child.labels) }
    }

    /// The child with these label values, with 0 where it is new.
    public func child(_ labels: [String]) -> Child {
        if let known = children[labels] { return known }
        precondition(labels.count == family.labels.count, "\(family.name) cannot count \(labels)")
        let child = Child(labels)
        children[labels] = child
        order.append(child)
        return child
    }
}

/// Sorts observations into fixed buckets, per combination of label values.
public final class Histogram {
    struct State {
        var counts: [UInt64]
        var sum = 0.0
    }

    /// The observations of one combination, for whoever observes the same again and again.
    public final class Child {
        let labels: [String]
        private let bounds: [Double]
        private(set) var state: State

        init(_ labels: [String], bounds: [Double]) {
            self.labels = labels
            self.bounds = bounds
            state = State(counts: [UInt64](repeating: 0, count: bounds.count + 1))
        }

        public func observe(_ value: Double) {
            let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    /// The bounds of times from a millisecond to five seconds.
    public static let seconds: [Double] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5]
    /// The bounds of times from ten microseconds to a second.
    public static let fastSeconds: [Double] = [0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.1, 1]

    public let family: MetricFamily
    private let bounds: [Double]
    private var children: [[String]: Child] = [:]
    private var order: [Child] = []

    /// Makes a histogram; `bounds` rise, and `children` are there from the start.
    public init(_ family: MetricFamily, bounds: [Double] = Histogram.seconds, children: [[String]]? = nil) {
        precondition(family.kind == .histogram, "\(family.name) is not a histogram")
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "the bounds of \(family.name) must rise")
        self.family = family
        self.bounds = bounds
        for labels in children ?? (family.labels.isEmpty ? [[]] : []) { _ = child(labels) }
    }

    public func observe(_ value: Double, _ labels: String...) { child(labels).observe(value) }

    /// Forgets the children whose labels are not to be kept.
    public func keep(_ isKept: ([String]) -> Bool) {
        order.removeAll { !isKept($0.labels) }
        children = children.filter { isKept($0.key) }
    }

    public func count(_ labels: String...) -> UInt64 { children[labels]?.state.counts.reduce(0, +) ?? 0 }

    public func collect(into writer: inout MetricWriter) {
        writer.declare(family)
        for child in order { writer.write(family, child.state, bounds: bounds, labels: child.labels) }
    }

    /// The child with these label values, which has observed nothing where it is new.
    public func child(_ labels: [String]) -> Child {
        if let known = children[labels] { return known }
        precondition(labels.count == family.labels.count, "\(family.name) cannot observe \(labels)")
        let child = Child(labels, bounds: bounds)
        children[labels] = child
        order.append(child)
        return child
    }
}
