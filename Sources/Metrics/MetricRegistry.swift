// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Everything that is scraped: closures that write what is true now, and counters that count as things happen.
///
/// Confined to the daemon's event loop.
public final class MetricRegistry {
    private var collectors: [(inout MetricWriter) -> Void] = []

    /// Makes an empty registry.
    public init() {}

    /// Calls `collector` at every scrape.
    public func add(_ collector: @escaping (inout MetricWriter) -> Void) {
        collectors.append(collector)
    }

    public func add(_ counter: Counter) { add(counter.collect(into:)) }

    public func add(_ histogram: Histogram) { add(histogram.collect(into:)) }

    public func scrape(_ format: MetricFormat = .text) -> [UInt8] {
        var writer = MetricWriter()
        for collector in collectors { collector(&writer) }
        return format.render(writer)
    }
}
