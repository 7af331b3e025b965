// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Metrics

private let requests = MetricFamily("x_requests_total", .counter, help: "Requests.", labels: ["route", "code"])
private let up = MetricFamily("x_up", .gauge, help: "Whether it is up.", labels: ["device"])

/// A scrape of what `collect` writes, a line each.
private func lines(_ format: MetricFormat = .text, _ collect: @escaping (inout MetricWriter) -> Void) -> [String] {
    let registry = MetricRegistry()
    registry.add(collect)
    return String(decoding: registry.scrape(format), as: UTF8.self).split(separator: "\n").map(String.init)
}

@Suite struct MetricWriterTests {
    @Test func `labels stand in the order of the family, whatever their values`() {
        let text = lines { $0.write(requests, 2, "code", "route") }
        #expect(text.last == #"x_requests_total{route="code",code="route"} 2"#)
    }

    @Test(arguments: [
        ("", #"x_up{device=""} 1"#), ("a\"b", #"x_up{device="a\"b"} 1"#), ("a\\", #"x_up{device="a\\"} 1"#),
        ("a\nb", #"x_up{device="a\nb"} 1"#), ("a\\nb", #"x_up{device="a\\nb"} 1"#), ("{},=", #"x_up{device="{},="} 1"#),
        ("größe 日本", #"x_up{device="größe 日本"} 1"#), ("a\tb\r", "x_up{device=\"a\tb\r\"} 1"),
    ])
    func `a name from a stranger cannot end its label or its line`(device: String, line: String) {
        for format in MetricFormat.allCases {
            let text = lines(format) { $0.write(up, true, device) }
            #expect(text[2] == line)
            #expect(text.count == (format == .text ? 3 : 4))
        }
    }

    @Test func `a family that was only mentioned has its head and no samples`() {
        let text = lines { writer in
            writer.declare(up)
            writer.declare(up)
        }
        #expect(text == ["# HELP x_up Whether it is up.", "# TYPE x_up gauge"])
    }

    @Test func `families come in the order in which they were first met`() {
        let text = lines { writer in
            writer.write(requests, 1, "/", "200")
            writer.write(up, true, "eth0")
            writer.write(requests, 3, "/", "404")
            writer.declare(up)
        }
        #expect(text.filter { $0.hasPrefix("# TYPE") } == ["# TYPE x_requests_total counter", "# TYPE x_up gauge"])
        #expect(
            text[2...3] == [#"x_requests_total{route="/",code="200"} 1"#, #"x_requests_total{route="/",code="404"} 3"#]
        )
    }

    @Test func `two collectors may share a family`() {
        let registry = MetricRegistry()
        registry.add { $0.write(up, true, "eth0") }
        registry.add { $0.write(up, false, "eth1") }
        let text = String(decoding: registry.scrape(), as: UTF8.self)
        #expect(text.hasSuffix("# TYPE x_up gauge\nx_up{device=\"eth0\"} 1\nx_up{device=\"eth1\"} 0\n"))
    }

    @Test func `every scrape asks anew, and an empty one is whole`() {
        var asked = 0.0
        let registry = MetricRegistry()
        #expect(registry.scrape().isEmpty)
        #expect(String(decoding: registry.scrape(.openMetrics), as: UTF8.self) == "# EOF\n")
        registry.add { writer in
            asked += 1
            writer.write(up, asked, "eth0")
        }
        _ = registry.scrape()
        #expect(String(decoding: registry.scrape(), as: UTF8.self).hasSuffix("} 2\n"))
    }

    @Test(arguments: [
        (MetricFormat.text, ["nwpath_x_total", "nwpath_x_info"], ["counter", "gauge"]),
        (.openMetrics, ["nwpath_x", "nwpath_x"], ["counter", "info"]),
    ])
    func `the head names the family as its format wants`(format: MetricFormat, names: [String], types: [String]) {
        for (index, (name, kind)) in [("nwpath_x_total", MetricFamily.Kind.counter), ("nwpath_x_info", .info)]
            .enumerated()
        {
            let text = lines(format) { $0.write(MetricFamily(name, kind, help: "X."), 1) }
            #expect(text[1] == "# TYPE \(names[index]) \(types[index])")
            #expect(text[2] == "\(name) 1")
        }
    }

    @Test(
        arguments: [
            (Double(1 << 53) - 1, "9007199254740991"), (Double(1 << 53), "9007199254740992.0"), (-0.0, "0"),
            (Double(Int64.min), "-9.223372036854776e+18"), (-9007199254740994, "-9.007199254740994e+15"),
            (1795176000.123, "1795176000.123"), (0.1 + 0.2, "0.30000000000000004"), (.leastNonzeroMagnitude, "5e-324"),
        ] as [(Double, String)]
    )
    func `any number can be written, and reads back to the same`(value: Double, text: String) {
        #expect(MetricFormat.number(value) == text)
        #expect(Double(MetricFormat.number(value)) == value)
    }

    @Test func `both formats have a type of their own`() {
        #expect(Set(MetricFormat.allCases.map(\.contentType)).count == 2)
        for format in MetricFormat.allCases { #expect(format.contentType.hasPrefix(format.mediaType + "; version=")) }
    }
}

private let child = "MetricFamilyChild"

@Suite struct MetricFamilyTests {
    /// In a process of its own: Swift Testing's thread that waits for exit tests spins while another child is a zombie.
    @Test(.enabled(if: !OwnProcess.isFor(child))) func `mistakes in a family end the program`() throws {
        let output = try OwnProcess.run(child)
        #expect(output.contains("3 tests in 1 suite passed"), "\(output)")
    }

    @Test(arguments: ["a", "_a", "a9", "nwpath:recorded", "UPPER"])
    func `other names are taken`(name: String) {
        #expect(MetricFamily(name, .gauge, help: "", labels: ["b", "_c9"]).name == name)
    }
}

/// What a family must not be is a mistake in our own code, found as soon as that code runs.
@Suite(.enabled(if: OwnProcess.isFor(child), "runs in the child of MetricFamilyTests")) struct MetricFamilyChild {
    @Test func `a name that scrapers refuse ends the program`() async {
        await #expect(processExitsWith: .failure) { _ = MetricFamily("9lives", .gauge, help: "") }
        await #expect(processExitsWith: .failure) { _ = MetricFamily("with-hyphen", .gauge, help: "") }
        await #expect(processExitsWith: .failure) { _ = MetricFamily("", .gauge, help: "") }
        await #expect(processExitsWith: .failure) { _ = MetricFamily("x", .gauge, help: "", labels: ["a:b"]) }
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("x_seconds", .histogram, help: "", labels: ["le"])
        }
    }

    @Test func `a suffix that says another kind ends the program`() async {
        await #expect(processExitsWith: .failure) { _ = MetricFamily("x", .counter, help: "") }
        await #expect(processExitsWith: .failure) { _ = MetricFamily("x_total", .gauge, help: "") }
        await #expect(processExitsWith: .failure) { _ = MetricFamily("x", .info, help: "") }
        await #expect(processExitsWith: .failure) { _ = MetricFamily("x_info", .gauge, help: "") }
    }

    @Test func `labels that do not fit, and two heads for one name, end the program`() async {
        await #expect(processExitsWith: .failure) {
            var writer = MetricWriter()
            writer.write(MetricFamily("x", .gauge, help: "", labels: ["a"]), 1)
        }
        await #expect(processExitsWith: .failure) {
            var writer = MetricWriter()
            writer.write(MetricFamily("x", .gauge, help: "One."), 1)
            writer.write(MetricFamily("x", .gauge, help: "Another."), 1)
        }
        await #expect(processExitsWith: .failure) {
            Counter(MetricFamily("x_total", .counter, help: "")).increment(by: -1)
        }
        await #expect(processExitsWith: .failure) {
            _ = Histogram(MetricFamily("x", .histogram, help: ""), bounds: [1, 1])
        }
    }
}
