// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Collects the samples of one scrape; collectors may write families in any order and come back to one.
public struct MetricWriter {
    struct Sample: Equatable {
        let suffix: String
        let labels: [(name: String, value: String)]
        let value: Double

        static func == (left: Sample, right: Sample) -> Bool {
            left.suffix == right.suffix && left.value == right.value
                && left.labels.elementsEqual(right.labels) { $0 == $1 }
        }
    }

    struct Group {
        let family: MetricFamily
        var samples: [Sample] = []
    }

    private(set) var groups: [Group] = []
    private var positions: [String: Int] = [:]

    /// Mentions a family, so that its help is there even without samples.
    public mutating func declare(_ family: MetricFamily) {
        _ = position(of: family)
    }

    /// Adds a sample of a gauge, counter or info; `labels` are the values in the family's order.
    public mutating func write(_ family: MetricFamily, _ value: Double, _ labels: String...) {
        write(family, value, labels: labels)
    }

    /// Adds a yes-or-no sample as 1 or 0.
    public mutating func write(_ family: MetricFamily, _ value: Bool, _ labels: String...) {
        write(family, value ? 1 : 0, labels: labels)
    }

    /// Adds the one sample of an info, whose value is always 1.
    public mutating func write(info family: MetricFamily, _ labels: String...) {
        write(family, 1, labels: labels)
    }

    /// Adds a sample; `labels` are the values in the family's order.
    public mutating func write(_ family: MetricFamily, _ value: Double, labels: [String]) {
        append(family, suffix: "", labels: Self.pair(family, labels), value: value)
    }

    mutating func write(_ family: MetricFamily, _ state: Histogram.State, bounds: [Double], labels: [String]) {
        let pairs = Self.pair(family, labels)
        var count: UInt64 = 0
        for (index, bound) in bounds.enumerated() {
            count += state.counts[index]
            let label = (name: "le", value: "\(bound)")
            append(family, suffix: "_bucket", labels: pairs + [label], value: Double(count))
        }
        count += state.counts[bounds.count]
        append(family, suffix: "_bucket", labels: pairs + [(name: "le", value: "+Inf")], value: Double(count))
        append(family, suffix: "_sum", labels: pairs, value: state.sum)
        append(family, suffix: "_count", labels: pairs, value: Double(count))
    }

    private mutating func append(
        _ family: MetricFamily,
        suffix: String,
        labels: [(name: String, value: String)],
        value: Double
    ) {
        groups[position(of: family)].samples.append(Sample(suffix: suffix, labels: labels, value: value))
    }

    private mutating func position(of family: MetricFamily) -> Int {
        if let position = positions[family.name] {
            precondition(groups[position].family == family, "\(family.name) is declared in two ways")
            return position
        }
        positions[family.name] = groups.count
        groups.append(Group(family: family))
        return groups.count - 1
    }

    private static func pair(_ family: MetricFamily, _ values: [String]) -> [(name: String, value: String)] {
        precondition(values.count == family.labels.count, "\(family.name) has the labels \(family.labels)")
        return zip(family.labels, values).map { (name: $0, value: $1) }
    }
}
