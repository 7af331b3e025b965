// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Metrics
internal import PathEngine

/// What is counted of changes of the path as they happen.
final class UpdateCounters {
    let latency = Histogram(
        .histogram(
            "event_latency_seconds",
            "From the first kernel message of a change to its publication, the debounce included."
        ),
        bounds: [0.0002, 0.0005, 0.001, 0.005, 0.02, 0.05, 0.1, 0.12, 0.2, 0.5, 1, 2]
    )
    let evaluation = Histogram(
        .histogram("evaluation_seconds", "How long finding out a changed path took."),
        bounds: Histogram.fastSeconds
    )

    func register(in registry: MetricRegistry) {
        for histogram in [latency, evaluation] { registry.add(histogram) }
    }

    func observe(_ update: EngineUpdate, at clock: some TimeSource) {
        guard !update.isFirst else { return }
        evaluation.observe(update.evaluation.seconds)
        guard update.cause.source == "rtnetlink" else { return }
        // A calendar that was stepped back in between is no latency.
        latency.observe(max(0, (clock.wall - update.cause.received).seconds))
    }
}
