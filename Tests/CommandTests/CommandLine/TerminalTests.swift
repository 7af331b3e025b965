// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Spelling
import Testing

@testable import nwpath

@Suite struct TerminalTests {
    @Test(arguments: [
        ("plain", "plain"), ("naïve 日本 👩‍👧", "naïve 日本 👩‍👧"), ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u{1B}[31mred", "\\u{1B}[31mred"),
        ("\u{202E}evil\u{2066}", "\\u{202E}evil\\u{2066}"), ("\u{9B}31m", "\\u{9B}31m"), ("\u{2028}", "\\u{2028}"),
        ("\u{FEFF}\u{200B}", "\\u{FEFF}\\u{200B}"), ("\u{0}\u{7F}", "\\u{0}\\u{7F}"), ("back\\slash", "back\\slash"),
    ])
    func `text from strangers is made safe`(text: String, expected: String) {
        #expect(PrintableText.escape(text) == expected)
    }

    @Test func `quotes are short`() {
        #expect(PrintableText.quote("abc") == "'abc'")
        #expect(PrintableText.quote(String(repeating: "x", count: 100), limit: 3) == "'xxx…'")
    }

    @Test(arguments: [
        ("", 0), ("abc", 3), ("日本", 4), ("é", 1), ("e\u{301}", 1), ("👍", 2), ("👩‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("한글", 4),
        ("…", 1),
        ("ﾊﾝ", 2), ("\u{1112}\u{1161}", 2), ("1️", 1),
    ])
    func `widths are those of a terminal`(text: String, columns: Int) {
        #expect(DisplayWidth.of(text) == columns)
    }

    @Test(
        arguments: [
            (["TERM": "xterm"], true, false, true), (["TERM": "xterm"], false, false, false),
            (["TERM": "xterm"], true, true, false), (["TERM": "dumb"], true, false, false), ([:], true, false, false),
            (["TERM": "xterm", "NO_COLOR": "1"], true, false, false),
            (["TERM": "xterm", "NO_COLOR": ""], true, false, true),
        ] as [([String: String], Bool, Bool, Bool)]
    )
    func `colours appear only where they are wanted`(
        environment: [String: String],
        isTerminal: Bool,
        hasNoColour: Bool,
        expected: Bool
    ) {
        let palette = Palette(environment: environment, isTerminal: isTerminal, hasNoColour: hasNoColour)
        #expect(palette.isColoured == expected)
        #expect(palette.style("x", .good) == (expected ? "\u{1B}[32mx\u{1B}[0m" : "x"))
    }

    @Test func `tones differ, and empty text stays empty`() {
        let palette = Palette(isColoured: true)
        #expect(Set(Palette.Tone.allCases.map { palette.style("x", $0) }).count == Palette.Tone.allCases.count)
        #expect(palette.style("", .bad) == "")
        #expect(palette.style("x", nil) == "x")
    }
}

@Suite struct TextTableTests {
    private let plain = Palette(isColoured: false)

    private var table: TextTable {
        var table = TextTable([
            .init("NAME", canShrink: true), .init("PORT", isTrailing: true), .init("HOST", canShrink: true),
        ])
        table.add(["日本 Printer", "631", "printer.local"])
        table.add([.init("evil\n\u{1B}[2J", .bad), "5", ""])
        return table
    }

    @Test func `columns are aligned as a terminal shows them`() {
        #expect(
            table.text(width: nil, palette: plain) == """
                NAME             PORT  HOST
                日本 Printer      631  printer.local
                evil\\n\\u{1B}[2J     5

                """
        )
    }

    @Test func `wide columns shrink to the terminal, the others stay`() {
        let text = table.text(width: 28, palette: plain)
        #expect(
            text == """
                NAME        PORT  HOST
                日本         631  printer.lo
                Printer           cal
                evil\\n\\u{1     5
                B}[2J

                """
        )
        #expect(text.split(separator: "\n").allSatisfy { DisplayWidth.of($0) <= 28 })
    }

    @Test func `words that stay whole stand below their rows where there is no room`() {
        var table = TextTable([
            .init("NAME", canShrink: true), .init("ADDRESSES", keepsWords: true), .init("PORT", isTrailing: true),
        ])
        table.add(["printer", "2001:db8:1111:2222:3333:4444:5555:6666 192.0.2.7", "631"])
        table.add(["scanner", "192.0.2.8", "80"])
        #expect(
            table.text(width: 56, palette: plain) == """
                NAME     ADDRESSES                                  PORT
                printer  2001:db8:1111:2222:3333:4444:5555:6666      631
                         192.0.2.7
                scanner  192.0.2.8                                    80

                """
        )
        #expect(
            table.text(width: 45, palette: plain) == """
                NAME     PORT
                printer   631
                  2001:db8:1111:2222:3333:4444:5555:6666
                  192.0.2.7
                scanner    80
                  192.0.2.8

                """
        )
    }

    @Test func `a hopelessly narrow terminal keeps eight columns`() {
        let text = table.text(width: 1, palette: plain)
        #expect(text.split(separator: "\n").map { DisplayWidth.of($0) }.max() == 24)
    }

    @Test func `colours do not disturb the alignment`() {
        let text = table.text(width: nil, palette: Palette(isColoured: true))
        #expect(text.contains("\u{1B}[31mevil\\n\\u{1B}[2J\u{1B}[0m     5\n"))
        #expect(text.hasPrefix("\u{1B}[1mNAME\u{1B}[0m             \u{1B}[1mPORT\u{1B}[0m"))
    }

    @Test func `without titles there is no line of titles, and rows are made to fit`() {
        var table = TextTable([.init(""), .init("")])
        table.add(["a"])
        table.add(["bb", "c", "surplus"])
        table.add([])
        #expect(table.text(width: nil, palette: plain) == "a\nbb  c\n\n")
    }
}
