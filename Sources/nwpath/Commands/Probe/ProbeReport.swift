// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import LinuxIO
internal import OrderedJSON
internal import Probes
internal import Spelling

/// Prints attempts as they end, and a summary, for people or as JSON lines.
struct ProbeReport {
    private let screen: Screen
    private let isJSON: Bool

    init(_ screen: Screen, isJSON: Bool) {
        self.screen = screen
        self.isJSON = isJSON
    }

    func begin(_ definition: ProbeDefinition) {
        begin("\(definition.target)", definition.method.rawValue)
    }

    func begin(_ probe: JSONValue) { begin(ProbeText.target(of: probe), probe.text("method")) }

    private func begin(_ target: String, _ method: String) {
        guard !isJSON else { return }
        Terminal.print("PROBE \(PrintableText.escape(target)) by \(method)\n")
    }

    func show(_ result: ProbeResultDocument, number: Int) {
        show(ProbeResultDocument.members.value(of: result), number: number)
    }

    func show(_ result: JSONValue, number: Int) {
        if isJSON {
            var object = JSONObject()
            object["schema"] = .string(DocumentSchema.name(of: "attempt"))
            object["event"] = .string("attempt")
            object["seq"] = .integer(Int64(number))
            for member in result.object?.members ?? [] { object[member.key] = member.value }
            Terminal.print((try? Screen.line(.object(object))) ?? [])
        } else {
            Terminal.print(
                ProbeText(renderer: TextRenderer(screen, now: KernelClock().wall)).attempt(result, number: number)
            )
        }
    }

    func end(_ name: String, _ tally: ProbeTally) {
        let summary = DurationSummary(tally.durations)
        guard isJSON else {
            guard tally.sent > 0 else { return }
            Terminal.print(
                ProbeText(renderer: TextRenderer(screen, now: KernelClock().wall)).summary(name, tally, summary)
            )
            return
        }
        let value = Self.summary.value(of: (name, tally, summary))
        Terminal.print((try? Screen.line(value)) ?? [])
    }

    static let summary = Members<(target: String, tally: ProbeTally, durations: DurationSummary?)>
        .document("Summary", "Summary of all attempts of a probe.")
        .member("event", as: .constant("summary")) { _ in "summary" }
        .member("target") { $0.target }
        .member("sent") { $0.tally.sent }
        .member("answered", "How many succeeded.") { $0.tally.answered }
        .member("loss_percent", as: .percent) { ($0.tally.lossPercent * 100).rounded() / 100 }
        .member("min_seconds", as: .seconds, "The shortest duration; `null` without a right answer.") {
            $0.durations.map { seconds($0.minimum) }
        }
        .member("avg_seconds", as: .seconds) { $0.durations.map { seconds($0.average) } }
        .member("max_seconds", as: .seconds) { $0.durations.map { seconds($0.maximum) } }
        .member("p95_seconds", as: .seconds, "The 95th percentile of the durations.") {
            $0.durations.map { seconds($0.p95) }
        }

    private static func seconds(_ duration: Duration) -> Double { (duration.seconds * 1e6).rounded() / 1e6 }
}

struct ProbeText {
    let renderer: TextRenderer

    func list(_ probes: [JSONValue]) -> String {
        guard !probes.isEmpty else {
            return "no probes configured; add them under probes.active (docs/probes.md)\n"
        }
        var table = TextTable([
            .init("NAME"), .init("METHOD"), .init("TARGET", canShrink: true),
            .init("STATE", canShrink: true),
            .init("LAST", isTrailing: true), .init("LOSS", isTrailing: true),
            .init("P95", isTrailing: true),
        ])
        for probe in probes {
            let last = probe["last"] ?? .null
            table.add([
                .init(probe.text("name"), .strong), .init(probe.text("method")),
                .init(Self.target(of: probe)),
                Self.state(probe),
                .init(last.isTrue("success") ? Self.time(last["duration_seconds"]?.double) : ""),
                .init(probe["loss_percent"]?.double.map(Self.percent) ?? ""),
                .init(Self.time(probe["p95_seconds"]?.double)),
            ])
        }
        return renderer.table(table)
    }

    /// The target; of a query for the root, which any name server has, the server.
    fileprivate static func target(of probe: JSONValue) -> String {
        let (target, server) = (probe.text("target"), probe["last"]?.text("address") ?? "")
        return target == "." && !server.isEmpty ? server : target
    }

    private static func state(_ probe: JSONValue) -> TextTable.Cell {
        let reason = probe["last"]?.text("reason") ?? ""
        switch probe.text("state") {
        case "ok": return .init("✓ ok", .good)
        case "failed": return .init("✗ \(reason)", .bad)
        case "not_assessed": return .init("? not assessed", .warning)
        default: return .init("not yet", .faint)
        }
    }

    func attempt(_ result: JSONValue, number: Int) -> String {
        let from = result.text("address").isEmpty ? "" : " from \(result.text("address"))"
        switch result["success"]?.bool {
        case true?:
            var words = "\(number)\(from): time \(Self.time(result["duration_seconds"]?.double))"
            if let limit = result["hop_limit"]?.int { words += ", ttl \(limit)" }
            if let status = result["http_status"]?.int { words += ", status \(status)" }
            let addresses = result.texts("addresses")
            if !addresses.isEmpty { words += ", " + addresses.joined(separator: " ") }
            if let message = result["message"]?.string { words += "; \(message)" }
            return renderer.style("✓", .good) + " " + renderer.style(words) + "\n"
        case false?:
            let words = "\(number)\(from): \(result.text("reason")): \(result.text("message"))"
            return renderer.style("✗", .bad) + " " + renderer.style(words) + "\n"
        case nil: return renderer.style("? not assessed: \(result.text("message"))", .warning) + "\n"
        }
    }

    /// What all attempts came to, as ping(8) does.
    func summary(_ name: String, _ tally: ProbeTally, _ summary: DurationSummary?) -> String {
        var text = renderer.style("--- \(name): \(tally.sent) sent, \(tally.answered) answered, ")
        text +=
            renderer.style("\(Self.percent(tally.lossPercent)) loss", tally.lossPercent > 0 ? .bad : nil)
            + "\n"
        guard let summary else { return text }
        let times = [summary.minimum, summary.average, summary.maximum, summary.p95].map {
            Self.time($0.seconds)
        }
        return text + "min/avg/max/p95 \(times.joined(separator: " / "))\n"
    }

    /// A time as people compare it: three digits at least, in microseconds, milliseconds or seconds.
    static func time(_ seconds: Double?) -> String {
        guard let seconds else { return "" }
        if seconds < 0.001 { return "\(Int((seconds * 1e6).rounded())) µs" }
        if seconds < 1 { return fixed(seconds * 1000, seconds < 0.1 ? 2 : 1) + " ms" }
        return fixed(seconds, 2) + " s"
    }

    static func percent(_ value: Double) -> String {
        fixed(value, value == value.rounded() ? 0 : 1) + " %"
    }

    private static func fixed(_ value: Double, _ digits: Int) -> String {
        guard digits > 0 else { return "\(Int(value.rounded()))" }
        let factor = digits == 1 ? 10 : 100
        let whole = Int((value * Double(factor)).rounded())
        let fraction = "\(whole % factor)"
        return "\(whole / factor)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}

// MARK: - Forms

extension ProbeReport {
    static var attempt: Form {
        .document("Attempt", "One attempt of a probe.")
            .member("event", .constant("attempt"))
            .member("seq", .integer(from: 1))
            .members(of: ProbeResultDocument.form)
    }
}
