// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import Metrics

/// A registry with every kind of family and awkward labels.
private func sampleRegistry() -> MetricRegistry {
    let registry = MetricRegistry()
    let build = MetricFamily("nwpath_build_info", .info, help: "Build facts.", labels: ["version", "revision"])
    let satisfied = MetricFamily(
        "nwpath_path_satisfied",
        .gauge,
        help: "Whether a path is usable.",
        labels: ["monitor"]
    )
    let status = MetricFamily("nwpath_path_status", .gauge, help: "Status as a set.", labels: ["monitor", "status"])
    registry.add { writer in
        writer.write(info: build, "0.1.0", "de\"ad\\be\nef")
        writer.write(satisfied, true, "default")
        writer.write(status, 1, labels: ["default", "satisfied"])
        writer.write(status, 0, labels: ["default", "unsatisfied"])
        writer.write(satisfied, false, "wired")
    }
    let events = Counter(
        MetricFamily("nwpath_events_published_total", .counter, help: "Events \\ \"published\".", labels: ["event"]),
        children: [["path.changed"], ["service.added"]]
    )
    events.increment("path.changed", by: 2.5)
    registry.add(events)
    let latency = Histogram(
        MetricFamily("nwpath_event_latency_seconds", .histogram, help: "Kernel to event."),
        bounds: [0.0001, 0.5, 1]
    )
    for value in [0.00005, 0.5, 0.7, 100] { latency.observe(value) }
    registry.add(latency)
    let http = HTTPMetrics(routes: ["/api/v1/status"])
    http.answers(route: "/api/v1/status", method: "GET", status: 200).count(after: .milliseconds(3))
    http.register(in: registry)
    EventStreamMetrics().register(in: registry)
    ProcessMetrics().register(in: registry)
    return registry
}

@Suite struct MetricFormatTests {
    @Test func `writes the 0_0_4 form`() {
        let registry = MetricRegistry()
        let build = MetricFamily("nwpath_build_info", .info, help: "A \\ and\na \"quote\".", labels: ["version"])
        let latency = Histogram(MetricFamily("x_seconds", .histogram, help: "Time."), bounds: [0.1, 1])
        latency.observe(0.1)
        latency.observe(3)
        registry.add { $0.write(info: build, "\"\\\n") }
        registry.add(latency)
        registry.add(Counter(MetricFamily("y_total", .counter, help: "Count.")))
        let expected = """
            # HELP nwpath_build_info A \\\\ and\\na "quote".
            # TYPE nwpath_build_info gauge
            nwpath_build_info{version="\\"\\\\\\n"} 1
            # HELP x_seconds Time.
            # TYPE x_seconds histogram
            x_seconds_bucket{le="0.1"} 1
            x_seconds_bucket{le="1.0"} 1
            x_seconds_bucket{le="+Inf"} 2
            x_seconds_sum 3.1
            x_seconds_count 2
            # HELP y_total Count.
            # TYPE y_total counter
            y_total 0

            """
        #expect(String(decoding: registry.scrape(), as: UTF8.self) == expected)
    }

    @Test func `names families in OpenMetrics without their suffix`() {
        let text = String(decoding: sampleRegistry().scrape(.openMetrics), as: UTF8.self)
        #expect(text.contains("# TYPE nwpath_build info\nnwpath_build_info{"))
        #expect(text.contains("# TYPE nwpath_events_published counter\nnwpath_events_published_total{"))
        #expect(text.contains("# HELP nwpath_events_published Events \\\\ \\\"published\\\"."))
        #expect(text.hasSuffix("# EOF\n"))
    }

    @Test func `keeps the samples of a family together however they are written`() {
        let text = String(decoding: sampleRegistry().scrape(), as: UTF8.self)
        #expect(
            text.contains("nwpath_path_satisfied{monitor=\"default\"} 1\nnwpath_path_satisfied{monitor=\"wired\"} 0\n")
        )
        #expect(text.contains("{monitor=\"default\",status=\"unsatisfied\"} 0\n"))
        #expect(text.components(of: "# TYPE nwpath_path_satisfied ") == 1)
    }

    @Test(
        arguments: [
            (0, "0"), (1, "1"), (-3, "-3"), (0.25, "0.25"), (1e15, "1000000000000000"), (1e21, "1e+21"),
            (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
        ] as [(Double, String)]
    )
    func `writes numbers as scrapers read them`(value: Double, text: String) {
        #expect(MetricFormat.number(value) == text)
    }

    @Test func `is clean for promtool`() throws {
        let text = String(decoding: sampleRegistry().scrape(), as: UTF8.self)
        let check = try RunningCommand(["promtool", "check", "metrics"], captures: true)
        #expect(try check.finish(input: text) == "")
    }

    @Test func `is OpenMetrics to the strict parser of prometheus_client`() throws {
        let text = String(decoding: sampleRegistry().scrape(.openMetrics), as: UTF8.self)
        let program = """
            import sys
            from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
            families = list(parse(sys.stdin.read()))
            label = [s for f in families if f.name == "nwpath_build" for s in f.samples][0].labels["revision"]
            print(len(families), repr(label))
            """
        let check = try RunningCommand([try PythonEnvironment.python.get(), "-c", program], captures: true)
        let families = text.components(of: "# TYPE ")
        #expect(try check.finish(input: text) == "\(families) 'de\"ad\\\\be\\nef'\n")
    }
}

@Suite struct StoredMetricTests {
    @Test func `counts per combination of labels`() {
        let counter = Counter(
            MetricFamily("x_total", .counter, help: "X.", labels: ["a", "b"]),
            children: [["1", "2"]]
        )
        counter.increment("1", "2")
        counter.increment("1", "2", by: 4)
        counter.increment(labels: ["3", "4"])
        #expect(counter.value("1", "2") == 5)
        #expect(counter.value("3", "4") == 1)
        #expect(counter.value("5", "6") == 0)
    }

    @Test(arguments: [(0.0, 0), (0.001, 0), (0.0011, 1), (5, 7), (5.1, 8)])
    func `puts an observation into the first bucket that holds it`(value: Double, bucket: Int) {
        let histogram = Histogram(MetricFamily("x_seconds", .histogram, help: "X."))
        histogram.observe(value)
        var writer = MetricWriter()
        histogram.collect(into: &writer)
        let counts = writer.groups[0].samples.prefix(9).map(\.value)
        #expect(counts == (0..<9).map { $0 >= bucket ? 1 : 0 })
        #expect(histogram.count() == 1)
    }

    @Test func `folds methods that nobody uses`() {
        let metrics = HTTPMetrics()
        metrics.answers(route: "unknown", method: "BREW", status: 405).count(after: .zero)
        metrics.answers(route: "unknown", method: "X\"Y", status: 405).count(after: .zero)
        #expect(metrics.requests.value("unknown", "other", "405") == 2)
    }

    @Test func `tracks clients of every transport from the start`() {
        let registry = MetricRegistry()
        let metrics = EventStreamMetrics()
        metrics.register(in: registry)
        metrics.opened(.sse)
        metrics.opened(.sse)
        metrics.closed(.sse)
        metrics.dropped(.ndjson)
        let text = String(decoding: registry.scrape(), as: UTF8.self)
        for transport in ["sse", "websocket", "longpoll", "ndjson"] {
            #expect(text.contains("clients{transport=\"\(transport)\"} \(transport == "sse" ? 1 : 0)\n"))
            #expect(text.contains("dropped_total{transport=\"\(transport)\"} \(transport == "ndjson" ? 1 : 0)\n"))
        }
        #expect(metrics.clients(.sse) == 1)
        #expect(metrics.drops(.ndjson) == 1)
    }
}

@Suite struct ProcessMetricsTests {
    @Test func `reads the line of a process with an awkward name`() throws {
        let line =
            "7 (a) b (c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 12345 1048576 321 18446744073709551615\n"
        let stat = try #require(ProcessStat(line))
        #expect(stat.userTicks == 250)
        #expect(stat.systemTicks == 50)
        #expect(stat.startTicks == 12345)
        #expect(stat.virtualBytes == 1_048_576)
        #expect(stat.residentPages == 321)
    }

    @Test(arguments: ["", "7 (a", "7 (a) S 1", "7 (a) S x x x x x x x x x x x x x x x x x x x x x x x"])
    func `reads nothing from what is no such line`(text: String) {
        #expect(ProcessStat(text) == nil)
    }

    @Test(
        arguments: [
            (
                "Limit  Soft Limit  Hard Limit\nMax open files            1024                 4096                 files\n",
                1024
            ),
            ("Max open files            unlimited            unlimited            files\n", .infinity),
            ("nothing", nil),
        ] as [(String, Double?)]
    )
    func `reads the limit of descriptors`(text: String, limit: Double?) {
        #expect(ProcessMetrics.descriptorLimit(text) == limit)
    }

    @Test func `reads when the machine started`() {
        #expect(ProcessMetrics.bootTime("cpu 1 2\nbtime 1700000000\nprocesses 3\n") == 1_700_000_000)
        #expect(ProcessMetrics.bootTime("cpu 1 2\n") == nil)
    }

    @Test func `publishes this process`() {
        var writer = MetricWriter()
        ProcessMetrics().collect(into: &writer)
        let values = Dictionary(uniqueKeysWithValues: writer.groups.map { ($0.family.name, $0.samples[0].value) })
        #expect(values.count == 6)
        #expect(values["process_resident_memory_bytes"] ?? 0 > 1_048_576)
        #expect(values["process_open_fds"] ?? 0 >= 3)
        #expect(values["process_start_time_seconds"] ?? 0 > 1_500_000_000)
    }
}

extension String {
    /// How often a word occurs.
    fileprivate func components(of word: String) -> Int {
        split(separator: "\n").count { $0.contains(word) }
    }
}

@Suite struct ChildTests {
    @Test func `children that are not kept are gone`() {
        let counter = Counter(
            MetricFamily("x_total", .counter, help: "X.", labels: ["name", "reason"])
        )
        for name in ["a", "b"] { for reason in ["one", "two"] { counter.increment(name, reason) } }
        counter.keep { $0[0] == "b" }
        #expect(counter.value("a", "one") == 0 && counter.value("b", "two") == 1)
        let registry = MetricRegistry()
        registry.add(counter)
        let text = String(decoding: registry.scrape(), as: UTF8.self)
        #expect(!text.contains("\"a\"") && text.contains("x_total{name=\"b\",reason=\"one\"} 1\n"))
        counter.increment("a", "one")
        #expect(counter.value("a", "one") == 1)
    }

    @Test func `a histogram's children are prepared and dropped`() {
        let histogram = Histogram(
            MetricFamily("x_seconds", .histogram, help: "X.", labels: ["name"]),
            bounds: [1]
        )
        _ = histogram.child(["a"])
        histogram.observe(0.5, "b")
        _ = histogram.child(["b"])
        #expect(histogram.count("a") == 0 && histogram.count("b") == 1)
        histogram.keep { $0 == ["a"] }
        let registry = MetricRegistry()
        registry.add(histogram)
        let text = String(decoding: registry.scrape(), as: UTF8.self)
        #expect(text.contains("x_seconds_count{name=\"a\"} 0\n") && !text.contains("\"b\""))
    }
}
