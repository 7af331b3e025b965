// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Metrics

@Suite struct HTTPMetricsTests {
    private func text(_ metrics: HTTPMetrics) -> String {
        let registry = MetricRegistry()
        metrics.register(in: registry)
        return String(decoding: registry.scrape(), as: UTF8.self)
    }

    @Test func `every route is there as zero before the first request`() {
        let text = text(HTTPMetrics(routes: ["/metrics", "/-/ready"]))
        for route in ["/metrics", "/-/ready"] {
            #expect(text.contains("nwpath_http_requests_total{handler=\"\(route)\",method=\"GET\",code=\"200\"} 0\n"))
        }
        #expect(text.contains("nwpath_http_connections_refused_total 0\n"))
        #expect(text.contains("nwpath_http_connections_timed_out_total 0\n"))
        #expect(text.contains("# TYPE nwpath_http_request_duration_seconds histogram\n"))
    }

    @Test(arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
    func `methods that people use are told apart`(method: String) {
        let metrics = HTTPMetrics()
        metrics.answers(route: "/", method: method, status: 200).count(after: .zero)
        #expect(metrics.requests.value("/", method, "200") == 1)
    }

    @Test(arguments: ["get", "", "GET ", "TRACE", String(repeating: "A", count: 5000)])
    func `a stranger's method makes no series of its own`(method: String) {
        let metrics = HTTPMetrics()
        metrics.answers(route: "/", method: method, status: 405).count(after: .zero)
        #expect(metrics.requests.value("/", "other", "405") == 1)
        #expect(text(metrics).split(separator: "\n").filter { $0.hasPrefix("nwpath_http_requests_total{") }.count == 1)
    }

    @Test func `the time of an answer is counted in seconds under its route`() {
        let metrics = HTTPMetrics()
        metrics.answers(route: "/a", method: "GET", status: 200).count(after: .microseconds(1500))
        metrics.answers(route: "/a", method: "GET", status: 200).count(after: .seconds(7))
        metrics.answers(route: "/a", method: "GET", status: 503).count(after: .zero)
        let text = text(metrics)
        let labels = "handler=\"/a\",method=\"GET\",code=\"200\""
        #expect(text.contains("seconds_bucket{\(labels),le=\"0.001\"} 0\n"))
        #expect(text.contains("seconds_bucket{\(labels),le=\"0.005\"} 1\n"))
        #expect(text.contains("seconds_bucket{\(labels),le=\"5.0\"} 1\n"))
        #expect(text.contains("seconds_bucket{\(labels),le=\"+Inf\"} 2\n"))
        #expect(text.contains("seconds_sum{\(labels)} 7.0015\n"))
        #expect(text.contains("seconds_count{handler=\"/a\",method=\"GET\",code=\"503\"} 1\n"))
        #expect(metrics.durations.count("/a", "GET", "200") == 2)
    }
}

@Suite struct EventStreamMetricsTests {
    @Test(arguments: EventStreamMetrics.Transport.allCases)
    func `each transport is counted alone`(transport: EventStreamMetrics.Transport) {
        let metrics = EventStreamMetrics()
        for _ in 0..<3 { metrics.opened(transport) }
        metrics.closed(transport)
        metrics.dropped(transport)
        for other in EventStreamMetrics.Transport.allCases {
            #expect(metrics.clients(other) == (other == transport ? 2 : 0))
            #expect(metrics.drops(other) == (other == transport ? 1 : 0))
        }
    }
}

@Suite struct StoredMetricEdgeTests {
    @Test func `a counter without labels is there from the start, one with labels when it is told`() {
        func lines(_ counter: Counter) -> Int {
            var writer = MetricWriter()
            counter.collect(into: &writer)
            return writer.groups[0].samples.count
        }
        #expect(lines(Counter(MetricFamily("x_total", .counter, help: ""))) == 1)
        let labelled = MetricFamily("x_total", .counter, help: "", labels: ["a"])
        #expect(lines(Counter(labelled)) == 0)
        #expect(lines(Counter(labelled, children: [["1"], ["2"], ["1"]])) == 2)
    }

    @Test func `counting zero makes the child and changes nothing`() {
        let counter = Counter(MetricFamily("x_total", .counter, help: "", labels: ["a"]))
        counter.increment("1", by: 0)
        var writer = MetricWriter()
        counter.collect(into: &writer)
        #expect(writer.groups[0].samples.map(\.value) == [0])
        counter.increment("1", by: 0.25)
        counter.increment("1", by: 0.25)
        #expect(counter.value("1") == 0.5)
    }

    @Test func `children are written in the order in which they came`() {
        let counter = Counter(MetricFamily("x_total", .counter, help: "", labels: ["a"]), children: [["z"]])
        for label in ["b", "a", "z", "b"] { counter.increment(label) }
        var writer = MetricWriter()
        counter.collect(into: &writer)
        #expect(writer.groups[0].samples.map { $0.labels[0].value } == ["z", "b", "a"])
        #expect(writer.groups[0].samples.map(\.value) == [1, 2, 1])
    }

    @Test func `buckets of a histogram add up, whatever is observed`() {
        let histogram = Histogram(MetricFamily("x", .histogram, help: "", labels: ["a"]), bounds: [-1, 0, 1])
        for value in [-5, -1, -0.5, 0, 0.5, 1, 2, .infinity] { histogram.observe(value, "l") }
        var writer = MetricWriter()
        histogram.collect(into: &writer)
        let samples = writer.groups[0].samples
        #expect(samples.map(\.value) == [2, 4, 6, 8, .infinity, 8])
        #expect(samples.map(\.suffix) == ["_bucket", "_bucket", "_bucket", "_bucket", "_sum", "_count"])
        #expect(samples.prefix(4).map { $0.labels.last?.value } == ["-1.0", "0.0", "1.0", "+Inf"])
        #expect(samples.suffix(2).allSatisfy { $0.labels.count == 1 })
        #expect(histogram.count("other") == 0)
    }

    @Test func `the standard bounds rise from what a kernel needs to what people notice`() {
        for bounds in [Histogram.seconds, Histogram.fastSeconds] { #expect(bounds == bounds.sorted()) }
        #expect(Histogram.fastSeconds[0] < 0.0001 && Histogram.seconds.last == 5)
    }
}
