// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Spelling
import TestSupport
import Testing

@testable import nwpath

@Suite(.computing) struct RandomLineTests {
    private static let words = [
        "wait", "config", "check", "show", "replay", "help", "--help", "-h", "--version", "--", "-", "", "--json", "-q",
        "-qv", "-vvv", "--timeout", "5s", "--timeout=", "--timeout=1m", "--socket", "/run/x", "--for", "--family=ipv4",
        "--famly", "--event=path.*", "-n", "3", "-n3", "-n=3", "-a", "--any=1", "ipv6", "wiat", "\u{1B}[31m", "-\u{1B}",
        "--\n", "é", "---", "=", "--=x", "-nq",
    ]

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `any line is understood or refused in one line that no terminal minds`(seed: UInt64) {
        var numbers = SeededRandom(seed: seed)
        var outcomes = [0, 0]
        for _ in 0..<1500 {
            let count = Int.random(in: 0...6, using: &numbers)
            let line = (0..<count).map { _ in Self.words.randomElement(using: &numbers) ?? "" }
            guard let complaint = complaint(line) else {
                outcomes[0] += 1
                continue
            }
            outcomes[1] += 1
            #expect(complaint.hasPrefix("nwpath") && complaint.hasSuffix("--help'"), "\(line)")
            #expect(complaint.unicodeScalars.allSatisfy { !PrintableText.isUnsafe($0) }, "\(line)")
        }
        #expect(outcomes[0] > 50 && outcomes[1] > 50)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `options may stand in any order around the conditions`(seed: UInt64) throws {
        var numbers = SeededRandom(seed: seed)
        let groups = [
            ["--for", "5s"], ["--timeout=30s"], ["-a"], ["--family", "ipv6"], ["-n4"], ["--event=path.*"], ["--json"],
            ["-qvv"], ["one"], ["two"],
        ]
        for _ in 0..<100 {
            let order = groups.shuffled(using: &numbers)
            let (wait, common) = try #require(try parsed(ExampleWait.self, ["wait"] + order.flatMap { $0 }))
            #expect(wait.hold == .seconds(5) && wait.timeout == .seconds(30) && wait.any && wait.family == .ipv6)
            #expect(wait.count == 4 && wait.events.map(\.description) == ["path.*"])
            #expect(common.isJSON && common.isQuiet && common.verbosity == 2)
            #expect(Set(wait.conditions) == ["one", "two"])
            let first = order.firstIndex(of: ["one"]) ?? 0
            let second = order.firstIndex(of: ["two"]) ?? 0
            #expect(wait.conditions == (first < second ? ["one", "two"] : ["two", "one"]))
        }
    }

    @Test(arguments: [
        (["wait", "-n", "1", "-n", "2"], 2), (["wait", "-n1", "--count=7"], 7), (["wait", "--count", "100"], 100),
        (["wait"], 1),
    ])
    func `given twice, the last one counts`(line: [String], count: Int) throws {
        #expect(try parsed(ExampleWait.self, line)?.0.count == count)
    }

    @Test func `after two hyphens everything is a condition`() throws {
        let wait = try parsed(ExampleWait.self, ["wait", "-a", "--", "-a", "--any", "--", "--help"])?.0
        #expect(wait?.conditions == ["-a", "--any", "--", "--help"])
        #expect(wait?.any == true)
    }

    @Test(arguments: ["-", "=", "é", "a=b", "interface=eth0"])
    func `a word that is no option is a condition`(word: String) throws {
        #expect(try parsed(ExampleWait.self, ["wait", word])?.0.conditions == [word])
    }

    @Test(arguments: [
        (["wait", "-nq"], "nwpath wait: -n is 'q', expected a whole number from 1 to 100; see 'nwpath wait --help'"),
        (["wait", "-an0"], "nwpath wait: -n is '0', expected a whole number from 1 to 100; see 'nwpath wait --help'"),
        (["wait", "-n=3"], "nwpath wait: -n is '=3', expected a whole number from 1 to 100; see 'nwpath wait --help'"),
        (["wait", "--any"], "nwpath wait: --any needs conditions; see 'nwpath wait --help'"),
        (["wait", "-a=1"], "nwpath wait: unknown option '-a=1'; see 'nwpath wait --help'"),
        (["config"], "nwpath config: a command is missing, expected one of check, show; see 'nwpath config --help'"),
        (["replay"], "nwpath replay: FILE is missing, expected a path; see 'nwpath replay --help'"),
        (["replay", "a", "b"], "nwpath replay: unexpected argument 'b'; see 'nwpath replay --help'"),
        (["replay", ""], "nwpath replay: FILE is '', expected a path; see 'nwpath replay --help'"),
    ])
    func `a mistake names its argument`(line: [String], expected: String) {
        #expect(complaint(line) == expected)
    }
}

@Suite struct WrapAndPadTests {
    @Test(arguments: [
        ("abc", 3, ["abc"]), ("abc", 2, ["ab", "c"]), ("abc", 0, ["abc"]), ("", 0, [""]), ("a bc d", 4, ["a bc", "d"]),
        ("a  bc", 2, ["a", "bc"]), ("日本語", 5, ["日本", "語"]), ("a日", 2, ["a", "日"]),
        ("e\u{301}e\u{301}e\u{301}", 2, ["e\u{301}e\u{301}", "e\u{301}"]),
    ])
    func `text is broken at blanks, else at whole characters`(text: String, columns: Int, expected: [String]) {
        #expect(DisplayWidth.wrap(text, to: columns) == expected)
    }

    @Test(arguments: 2...40)
    func `no line takes more columns than there are, and nothing is lost`(columns: Int) {
        for text in ["plain text of some length", "日本語のとても長いテキスト", "👩‍👩‍👧🇩🇪❤️ mixed 한글 e\u{301}", "\u{200B}\u{200B}"] {
            let lines = DisplayWidth.wrap(text, to: columns)
            #expect(lines.allSatisfy { DisplayWidth.of($0) <= columns })
            #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
        }
    }

    private func table(_ rows: [[TextTable.Cell]], width: Int? = nil) -> String {
        var table = TextTable([
            TextTable.Column("NAME", canShrink: true), TextTable.Column("SIZE", isTrailing: true),
            TextTable.Column("NOTE"),
        ])
        for row in rows { table.add(row) }
        return table.text(width: width, palette: Palette(isColoured: false))
    }

    @Test func `columns are as wide as their widest cell`() {
        #expect(
            table([["a", "1", "x"], ["long name", "1000", ""]]) == """
                NAME       SIZE  NOTE
                a             1  x
                long name  1000

                """
        )
    }

    @Test func `missing cells are empty, surplus ones left out`() {
        #expect(table([["a"], ["b", "2", "y", "z"], []]) == "NAME  SIZE  NOTE\na\nb        2  y\n\n")
    }

    @Test func `on a narrow terminal what may shrink goes on below, in eight columns or more`() {
        let rows: [[TextTable.Cell]] = [["a name that is rather long", "1", "stays as it is"]]
        for width in [60, 50, 40, 36, 35] {
            let lines = table(rows, width: width).split(separator: "\n")
            #expect(lines.allSatisfy { DisplayWidth.of($0) <= width }, "\(width)")
            #expect(lines[1].hasSuffix("stays as it is"))
        }
        #expect(
            table(rows, width: 35) == """
                NAME           SIZE  NOTE
                a name that       1  stays as it is
                is rather
                long

                """
        )
        #expect(table(rows, width: 1).hasSuffix("\nthat is\nrather\nlong\n"))
    }

    @Test func `a note widens no column, and is wrapped by itself`() {
        var table = TextTable([.init("NAME"), .init("SIZE")])
        table.add(["a", "1"])
        table.addNote("key=a long value")
        table.add(["b", "2"])
        let expected = "NAME  SIZE\na     1\n  key=a long\n  value\nb     2\n"
        #expect(table.text(width: 12, palette: Palette(isColoured: false)) == expected)
    }

    @Test func `cells from strangers cannot leave their line`() {
        let text = table([["a\nb", "\u{1B}[2J", "\u{202E}x"]])
        #expect(text.split(separator: "\n").count == 2)
        #expect(text.contains("a\\nb") && text.contains("\\u{1B}[2J") && text.contains("\\u{202E}x"))
    }
}
