// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON
internal import Spelling

struct LogText {
    let screen: Screen

    /// One line a finding, `file:line: what is wrong`.
    func findings(_ report: JSONValue) -> String {
        let problems = report.list("problems")
        var text = problems.map { problem in
            let line = "\(problem.text("file")):\(problem["line"]?.int ?? 0): \(problem.text("message"))"
            return screen.palette.style(PrintableText.escape(line), .bad) + "\n"
        }.joined()
        let rest = (report["problem_count"]?.int ?? 0) - problems.count
        if rest > 0 { text += "and \(rest) more\n" }
        return text
    }

    func summary(_ report: JSONValue) -> String {
        let count = report["problem_count"]?.int ?? 0
        let records = Plural.of(report["records"]?.int ?? 0, "record")
        let files = Plural.of(report["files"]?.int ?? 0, "file")
        var text = "\(records) in \(files)"
        if let first = report["first"]?.string, let last = report["last"]?.string { text += ", \(first) to \(last)" }
        text += count == 0 ? ": no problems" : ": \(Plural.of(count, "problem"))"
        return screen.palette.style("\(count == 0 ? "✓" : "✗") \(text)", count == 0 ? .good : .bad) + "\n"
    }
}
