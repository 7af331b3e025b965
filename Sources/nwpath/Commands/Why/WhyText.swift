// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel
internal import Spelling

/// Renders the answer of `nwpath why` for people.
struct WhyText {
    let palette: Palette

    /// The summary, then each chain, one element a line.
    func render(_ document: WhyDocument) -> String {
        let tone: Palette.Tone = document.verdict == "ok" ? .good : .bad
        var lines = [palette.style(PrintableText.escape(document.message), tone)]
        for chain in document.chains {
            let family = chain.family == "ipv4" ? "IPv4" : "IPv6"
            if chain.verdict == "absent" {
                lines.append("\(family): not configured on this machine")
                continue
            }
            lines.append(palette.style("\(family) to \(chain.destination)", .strong))
            lines += chain.steps.map(line)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func line(_ step: WhyDocument.Step) -> String {
        let (symbol, tone): (String, Palette.Tone) =
            switch step.verdict {
            case .fine: ("✓", .good)
            case .broken: ("✗", .bad)
            case .unknown: ("?", .faint)
            }
        let name = step.element.rawValue
        let blanks = String(repeating: " ", count: max(1, 10 - name.count))
        return "\(palette.style(symbol, tone)) \(name)\(blanks)\(PrintableText.escape(step.message))"
    }
}
