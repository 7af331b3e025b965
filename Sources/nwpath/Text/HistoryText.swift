// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling
internal import LinuxIO
internal import OrderedJSON

struct HistoryText {
    let renderer: TextRenderer

    /// The summary, then the outages.
    func all(_ history: JSONValue) -> String {
        let (since, until) = (history.text("since"), history.text("until"))
        let span = WallTime(since).flatMap { from in WallTime(until).map { " (\(AgeText.of(max(.zero, $0 - from))))" } }
        let isHeadline = history["state"]?.string == "headline"
        var text = renderer.style(isHeadline ? "Headline" : "Path \(history.text("monitor"))", .strong)
        text += renderer.style(" from \(AgeText.dayAndTime(since)) to \(AgeText.dayAndTime(until))\(span ?? "")") + "\n"
        let outages = history.list("outages")
        guard let percent = history["availability_percent"]?.double else {
            return text + renderer.style("no data for this period", .warning) + "\n"
        }
        let known = AgeText.of(seconds: history["known_seconds"]?.double)
        let isDown = outages.contains { $0["end"]?.string == nil }
        text += renderer.style("\(isDown ? "✗" : "✓") \(Self.percent(percent)) available", isDown ? .bad : .good)
        text += renderer.style(", \(known) recorded") + "\n"
        if let row = AvailabilityRow(history) {
            text += renderer.style(row.text(cells: min(60, renderer.screen.width ?? 60))) + "\n"
        }
        guard !outages.isEmpty else { return text + "no outages\n" }
        return text + renderer.style(Self.sum(outages) + " total") + "\n" + reasons(outages) + self.outages(history)
    }

    /// Such as `2 outages, 5 min 12 s`.
    static func sum(_ outages: [JSONValue]) -> String {
        let total = outages.compactMap { $0["duration_seconds"]?.double }.reduce(0, +)
        return "\(Plural.of(outages.count, "outage")), \(AgeText.of(seconds: total))"
    }

    /// What the outages had for reasons, the longest first; nothing where all had the same.
    private func reasons(_ outages: [JSONValue]) -> String {
        let groups = Dictionary(grouping: outages) { $0.text("reason") }
        guard groups.count > 1 else { return "" }
        func seconds(_ outages: [JSONValue]) -> Double {
            outages.compactMap { $0["duration_seconds"]?.double }.reduce(0, +)
        }
        let sorted = groups.sorted { (seconds($0.value), $1.key) > (seconds($1.value), $0.key) }
        return sorted.map { renderer.style("  \($0.key): \(Self.sum($0.value))") + "\n" }.joined()
    }

    func outages(_ history: JSONValue) -> String {
        let outages = history.list("outages")
        guard !outages.isEmpty else { return "no outages\n" }
        var table = TextTable([
            .init("START"), .init("END"), .init("DURATION", isTrailing: true), .init("REASON"),
            .init("MESSAGE", canShrink: true),
        ])
        for outage in outages {
            let end = outage["end"]?.string
            table.add([
                .init(AgeText.dayAndTime(outage.text("start"))),
                .init(end.map(AgeText.dayAndTime) ?? "ongoing", end == nil ? .bad : nil),
                .init(AgeText.of(seconds: outage["duration_seconds"]?.double)), .init(outage.text("reason")),
                .init(outage.text("message")),
            ])
        }
        return renderer.table(table)
    }

    /// One digit after the point, rounded down: 100.0 % is what had no outage.
    static func percent(_ value: Double) -> String {
        guard value.isFinite, (0...100).contains(value) else { return "? %" }
        let tenths = min(Int((value * 1000).rounded()) / 100, value < 100 ? 999 : 1000)
        return "\(tenths / 10).\(tenths % 10) %"
    }

    /// The outages as comma-separated values (RFC 4180), with a line of titles.
    static func csv(_ history: JSONValue) -> String {
        var lines = ["start,end,duration_seconds,reason,message"]
        for outage in history.list("outages") {
            let seconds = outage["duration_seconds"]?.double.map { seconds in
                Int(exactly: seconds).map { "\($0)" } ?? "\(seconds)"
            }
            let fields = [
                outage.text("start"), outage.text("end"), seconds ?? "", outage.text("reason"), outage.text("message"),
            ]
            lines.append(fields.map(quote).joined(separator: ","))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func quote(_ text: String) -> String {
        let field = PrintableText.escape(text)
        guard field.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return field }
        return "\"" + field.flatMap { $0 == "\"" ? "\"\"" : String($0) } + "\""
    }
}
