// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Probes

/// Renders the answer of `nwpath trace` for people.
struct TraceText {
    private let screen: Screen

    init(_ screen: Screen) { self.screen = screen }

    /// The sentence, then each hop, one a line, further addresses of a hop below it.
    func render(_ document: TraceDocument) -> String {
        let tone: Palette.Tone = document.state == .arrived ? .good : .bad
        var text = screen.palette.style(TextTable.Cell(document.message).text, tone) + "\n"
        let hops = document.hops
        guard !hops.isEmpty, document.state != .unsent else { return text }
        text += table(document).text(width: screen.width, palette: screen.palette)
        if let hint = document.hint { text += screen.palette.style("i \(hint)", .faint) + "\n" }
        return text
    }

    private func table(_ document: TraceDocument) -> TextTable {
        let hasNames = document.hops.contains { $0.speakers.contains { $0.name != nil } }
        var table = TextTable(
            [.init("HOP", isTrailing: true), .init("ADDRESS", canShrink: true)]
                + (hasNames ? [.init("NAME", canShrink: true)] : [])
                + ["SENT", "LOSS", "BEST", "MEDIAN", "WORST"].map { .init($0, isTrailing: true) }
        )
        // What is silent to the end is one line.
        let last = document.hops.lastIndex { $0.received > 0 } ?? -1
        for (index, hop) in document.hops.enumerated() where index <= last {
            add(hop, "\(hop.distance)", hasNames, isLast: hop.distance == document.hops.count, to: &table)
        }
        let rest = document.hops[(last + 1)...]
        guard let first = rest.first, let end = rest.last else { return table }
        let number = first.distance == end.distance ? "\(first.distance)" : "\(first.distance)-\(end.distance)"
        add(first, number, hasNames, isLast: true, to: &table)
        return table
    }

    private func add(
        _ hop: TraceDocument.Hop,
        _ number: String,
        _ hasNames: Bool,
        isLast: Bool,
        to table: inout TextTable
    ) {
        func cells(_ speaker: TraceDocument.Speaker?) -> [TextTable.Cell] {
            guard let speaker else { return [.init("no answer", .faint)] + (hasNames ? [""] : []) }
            return [.init("\(speaker.address)")] + (hasNames ? [.init(speaker.name ?? "")] : [])
        }
        let loss = TextTable.Cell(ProbeText.percent(hop.loss), hop.loss == 0 ? nil : isLast ? .bad : .faint)
        let times = [hop.best, hop.median, hop.worst].map { TextTable.Cell(ProbeText.time($0?.seconds)) }
        table.add([.init(number)] + cells(hop.speakers.first) + [.init("\(hop.sent)"), loss] + times)
        for speaker in hop.speakers.dropFirst() { table.add([""] + cells(speaker)) }
        for refusal in hop.refusals {
            table.addNote(.init("\(refusal.address) reports that \(TraceSummary.words(refusal.reason))", .bad))
        }
    }
}
