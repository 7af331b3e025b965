// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

struct DiagnosisText {
    let renderer: TextRenderer

    /// The sentences, worst first, then every layer, and every test where that is wanted.
    func render(_ document: JSONValue, isVerbose: Bool = false) -> String {
        var text = sentences(document)
        for note in document.list("info") { text += renderer.style("i \(note.text("message"))", .faint) + "\n" }
        text += "\n"
        var details = document["destination"].map(DestinationText(renderer: renderer).details) ?? [:]
        details["performance"] = document["load"].map(Self.load)
        var reasons: Set<String> = []
        for rung in document.list("ladder") {
            guard rung.text("state") == "not_assessed" else {
                text += line(rung, details[rung.text("layer")] ?? Self.figures(rung["evidence"] ?? .null))
                continue
            }
            let reason = rung.text("message")
            if reasons.insert(reason).inserted { text += row(notAssessed(document, because: reason), reason) }
        }
        if isVerbose, !document.list("cells").isEmpty { text += "\n" + cells(document) }
        return text + "\n" + footer(document)
    }

    private func cells(_ document: JSONValue) -> String {
        var table = TextTable([.init("TARGET"), .init("TEST"), .init("RESULT"), .init("DETAIL", canShrink: true)])
        for cell in document.list("cells") {
            let result = cell.text("result")
            let tone: Palette.Tone? = ["answered", "not_tested"].contains(result) ? nil : .bad
            var details = cell["message"]?.string.map { [$0] } ?? []
            if let flows = cell["flows"]?.int { details.append("\(cell["answered"]?.int ?? 0) of \(flows) answered") }
            let words = result.split(separator: "_").joined(separator: " ")
            table.add([
                .init(cell.text("target")), .init(cell.text("test")), .init(words, tone),
                .init(details.joined(separator: ", ")),
            ])
        }
        return table.text(width: renderer.screen.width, palette: renderer.screen.palette)
    }

    private func notAssessed(_ document: JSONValue, because reason: String) -> [String] {
        document.list("ladder").filter { $0.text("state") == "not_assessed" && $0.text("message") == reason }
            .map { $0.text("layer") }
    }

    /// Layers of which nothing can be said for the same reason.
    private func row(_ layers: [String], _ reason: String) -> String {
        let names = layers.joined(separator: ", ")
        let blanks = String(repeating: " ", count: max(1, 12 - names.count))
        let width = renderer.screen.width.map { $0 - 2 } ?? .max
        let lines = DisplayWidth.wrap(layers.count == 1 ? names + blanks + reason : "\(names): \(reason)", to: width)
        return lines.enumerated().map { renderer.style(($0 == 0 ? "? " : "  ") + $1, .faint) + "\n" }.joined()
    }

    /// The root causes with what to do, or that there is none.
    func sentences(_ document: JSONValue) -> String {
        let verdicts = document.list("verdicts")
        guard !verdicts.isEmpty else {
            guard document.isTrue("complete") else {
                return renderer.style("? timed out before everything was tested", .warning) + "\n"
            }
            if let destination = document["destination"] {
                return DestinationText(renderer: renderer).sentence(destination, document)
            }
            return renderer.style("✓ no problems found", .good) + "\n"
        }
        return verdicts.map { verdict in
            let tone: Palette.Tone = verdict.text("severity") == "broken" ? .bad : .warning
            let isOwn = verdict.text("code").hasPrefix("destination.")
            let qualifier = verdict.text("confidence") == "possible" && !isOwn ? " (one target only)" : ""
            return renderer.style("✗ \(verdict.text("message"))\(qualifier)", tone) + "\n"
                + renderer.style("  → \(verdict.text("hint"))") + "\n"
        }.joined()
    }

    private func line(_ rung: JSONValue, _ detail: String) -> String {
        let name = rung.text("layer")
        let blanks = String(repeating: " ", count: max(1, 12 - name.count))
        switch rung.text("state") {
        case "ok":
            return renderer.style("✓", .good) + " \(name)" + (detail.isEmpty ? "" : blanks + renderer.style(detail))
                + "\n"
        default:
            let codes = rung.texts("codes").joined(separator: ", ")
            return renderer.style("✗", .bad) + " \(name)\(blanks)\(renderer.style(codes))\n"
        }
    }

    /// Such as `11.2 ms round trip, 0 % lost`; empty where nothing was measured.
    static func figures(_ evidence: JSONValue) -> String {
        var words: [String] = []
        if let time = evidence["round_trip_seconds"]?.double { words.append("\(ProbeText.time(time)) round trip") }
        if let loss = evidence["loss_percent"]?.double { words.append("\(ProbeText.percent(loss)) lost") }
        if let time = evidence["answer_seconds"]?.double { words.append("answers in \(ProbeText.time(time))") }
        if let queried = evidence["asked"]?.int {
            words.append("\(evidence["answering"]?.int ?? 0) of \(queried) answer")
        }
        if let size = evidence["largest_bytes"]?.int { words.append("packets up to \(size) bytes pass") }
        if let offset = evidence["offset_seconds"]?.double {
            words.append("the clock is \(ProbeText.time(offset.magnitude)) \(offset < 0 ? "behind" : "ahead")")
        }
        if let size = evidence["mtu"]?.int { words.append("MTU \(size)") }
        return words.joined(separator: ", ")
    }

    /// Such as `94.3 Mbit/s down, 38 Mbit/s up, 1204 round trips per minute (good)`.
    static func load(_ load: JSONValue) -> String {
        var words: [String] = []
        if let down = load["down_mbps"]?.double { words.append("\(number(down)) Mbit/s down") }
        if let up = load["up_mbps"]?.double { words.append("\(number(up)) Mbit/s up") }
        if let rate = load["rpm"]?.int {
            words.append("\(rate) round trips per minute (\(load.text("responsiveness")))")
        }
        return words.joined(separator: ", ")
    }

    /// Three digits, or what stands before the point.
    private static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return value >= 100 || tenths % 10 == 0 ? "\(Int(value.rounded()))" : "\(tenths / 10).\(tenths % 10)"
    }

    private func footer(_ document: JSONValue) -> String {
        var words =
            "\(ProbeText.time(document["duration_seconds"]?.double ?? 0)), \(document["sent_bytes"]?.int ?? 0) bytes sent, "
        words += "\(document["received_bytes"]?.int ?? 0) received"
        if document.text("targets") != "none" { words += "; targets: \(document.text("targets"))" }
        switch document.text("fault_domain") {
        case "host": words += "; the fault is in this machine"
        case "link": words += "; the fault is on the link"
        case "gateway": words += "; the fault is at the gateway"
        case "provider": words += "; the fault is beyond the gateway"
        case "remote": words += "; the fault is at the remote host"
        default: break
        }
        return renderer.style(words, .faint) + "\n"
    }
}
