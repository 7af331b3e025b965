// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

/// A table of text, its columns aligned as a terminal shows them.
///
/// Cells may come from strangers: everything that could harm a terminal is escaped.
struct TextTable: Sendable {
    struct Column: Hashable, Sendable {
        /// The title; when all are empty, there is no line of titles.
        let title: String
        /// Whether cells stand at the right, as numbers do.
        let isTrailing: Bool
        /// Whether cells may take several lines when the terminal is narrow.
        let canShrink: Bool
        /// Whether its words stay whole; where there is no room for them the cells stand below their rows.
        let keepsWords: Bool

        init(_ title: String, isTrailing: Bool = false, canShrink: Bool = false, keepsWords: Bool = false) {
            self.title = title
            self.isTrailing = isTrailing
            self.canShrink = canShrink || keepsWords
            self.keepsWords = keepsWords
        }
    }

    struct Cell: Hashable, Sendable, ExpressibleByStringLiteral {
        /// The text, safe for a terminal.
        let text: String
        let tone: Palette.Tone?

        /// Makes text safe.
        init(_ text: String, _ tone: Palette.Tone? = nil) {
            self.text = PrintableText.escape(text)
            self.tone = tone
        }

        /// A cell without a colour.
        init(stringLiteral value: String) {
            self.init(value)
        }
    }

    /// Columns that may shrink keep so many columns of the terminal.
    private static let narrowest = 8
    private static let gap = "  "

    private struct Row {
        var cells: [Cell]
        /// What stands below, across all columns.
        var notes: [Cell] = []
    }

    private let columns: [Column]
    private var rows: [Row] = []

    /// A table without rows.
    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row; missing cells are empty, surplus ones are left out.
    mutating func add(_ cells: [Cell]) {
        rows.append(Row(cells: (0..<columns.count).map { $0 < cells.count ? cells[$0] : "" }))
    }

    /// Adds a line below the last row, set in by two columns, which widens none of the columns.
    mutating func addNote(_ note: Cell) {
        if !rows.isEmpty { rows[rows.count - 1].notes.append(note) }
    }

    /// The lines of the table, each ended by a newline, without blanks at their ends.
    /// - Parameters:
    ///   - width: The columns of the terminal; `nil` wraps nothing, as for pipes.
    ///   - palette: The colours.
    /// - Returns: Text to print.
    func text(width: Int?, palette: Palette) -> String {
        let hasTitles = columns.contains { !$0.title.isEmpty }
        let titles = Row(cells: columns.map { Cell($0.title, .strong) })
        let all = (hasTitles ? [titles] : []) + rows
        let natural = columns.indices.map { index in all.map { DisplayWidth.of($0.cells[index].text) }.max() ?? 0 }
        let widths = fit(natural, width)
        if let index = columns.indices.first(where: { columns[$0].keepsWords && breaksWords(of: $0, widths[$0]) }) {
            return withNotes(of: index).text(width: width, palette: palette)
        }
        return all.map { row in
            lines(row.cells, widths, palette) + row.notes.map { note($0, width, palette) }.joined()
        }.joined()
    }

    private func breaksWords(of index: Int, _ width: Int) -> Bool {
        rows.contains { $0.cells[index].text.split(separator: " ").contains { DisplayWidth.of($0) > width } }
    }

    /// The table with the cells of a column below their rows.
    private func withNotes(of index: Int) -> TextTable {
        var others = columns
        others.remove(at: index)
        var table = TextTable(others)
        table.rows = rows.map { row in
            var row = row
            let cell = row.cells.remove(at: index)
            if !cell.text.isEmpty { row.notes.insert(cell, at: 0) }
            return row
        }
        return table
    }

    private func note(_ note: Cell, _ width: Int?, _ palette: Palette) -> String {
        let lines = width.map { DisplayWidth.wrap(note.text, to: max(1, $0 - Self.gap.count)) } ?? [note.text]
        return lines.map { Self.gap + palette.style($0, note.tone) + "\n" }.joined()
    }

    /// A row; cells that are too long go on below, so that nothing is cut.
    private func lines(_ cells: [Cell], _ widths: [Int], _ palette: Palette) -> String {
        let parts = cells.indices.map { DisplayWidth.wrap(cells[$0].text, to: widths[$0]) }
        let count = parts.map(\.count).max() ?? 1
        return (0..<count).map { number in
            let cells = zip(parts, cells).map { (text: number < $0.count ? $0[number] : "", tone: $1.tone) }
            return line(cells, widths, palette)
        }.joined()
    }

    private func fit(_ natural: [Int], _ limit: Int?) -> [Int] {
        guard let limit else { return natural }
        var widths = natural
        var surplus = widths.reduce(0, +) + Self.gap.count * max(0, columns.count - 1) - limit
        while surplus > 0 {
            let candidates = columns.indices.filter { columns[$0].canShrink && widths[$0] > Self.narrowest }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
            surplus -= 1
        }
        return widths
    }

    private func line(_ cells: [(text: String, tone: Palette.Tone?)], _ widths: [Int], _ palette: Palette) -> String {
        let last = cells.lastIndex { !$0.text.isEmpty }
        guard let last else { return "\n" }
        var line = ""
        for (index, cell) in cells[...last].enumerated() {
            let blanks = String(repeating: " ", count: max(0, widths[index] - DisplayWidth.of(cell.text)))
            let styled = palette.style(cell.text, cell.tone)
            if columns[index].isTrailing {
                line += blanks + styled
            } else {
                line += styled + (index == last ? "" : blanks)
            }
            if index < last { line += Self.gap }
        }
        return line + "\n"
    }
}
