// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// docs/mdns.md claims conformance rule by rule; what it names as evidence has to exist.
@Suite struct ConformanceTests {
    private struct Row {
        let rule: String
        let state: String
        let evidence: String
    }

    private func rows() throws -> [Row] {
        try Command.run(["cat", Place.root + "/docs/mdns.md"]).lines.compactMap { line in
            let cells = line.split(separator: "|").map { $0.drop { $0 == " " } }
            guard cells.count >= 3, let first = cells.first?.split(separator: " ").first,
                let letter = first.first, "NQCPAFD".contains(letter), Int(first.dropFirst()) != nil
            else { return nil }
            let state = cells[2].split(separator: " ").first.map(String.init) ?? ""
            return Row(rule: String(first), state: state, evidence: cells.count > 3 ? String(cells[3]) : "")
        }
    }

    /// The words between two backticks.
    private func quoted(_ text: String) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    @Test func `every rule has one row, and a state`() throws {
        let counts: [(Character, Int)] = [("N", 10), ("Q", 21), ("C", 12), ("P", 14), ("A", 20), ("F", 10), ("D", 13)]
        let expected = counts.flatMap { letter, count in (1...count).map { "\(letter)\($0)" } }
        let rows = try rows()
        #expect(rows.map(\.rule) == expected)
        for row in rows { #expect(["yes", "half", "no"].contains(row.state), "\(row.rule)") }
    }

    @Test func `what is done names how that is known, and the tests it names exist`() throws {
        let tests = try Command.run(["grep", "-rhoE", "func `[^`]+`", "--include=*.swift", Place.root + "/Tests"])
        let names = Set(tests.lines.flatMap(quoted))
        for row in try rows() {
            #expect(row.state == "no" || !row.evidence.isEmpty, "\(row.rule)")
            for name in quoted(row.evidence) where name.contains(" ") && !name.hasPrefix("_") {
                #expect(names.contains(name), "\(row.rule): \(name)")
            }
        }
    }
}
