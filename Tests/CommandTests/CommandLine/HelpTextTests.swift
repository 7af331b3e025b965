// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import nwpath

@Suite struct HelpTextTests {
    @Test(arguments: [
        ("", 0, ""), ("one", 0, "one"), ("one", 4, "    one"), ("a  b\nc", 2, "  a b c"), ("a\n\nb", 1, " a\n\n b"),
        ("\n\na\n\n\n\nb\n", 0, "a\n\nb"),
    ])
    func `text is broken at blanks, and empty lines part paragraphs`(text: String, indent: Int, expected: String) {
        #expect(HelpText.wrap(text, indent: indent) == expected)
    }

    @Test(arguments: [0, 4, 30, 70])
    func `a line is as long as the terminal lets it be`(indent: Int) {
        let words = (1...60).map { String(repeating: "x", count: $0 % 9 + 1) }
        let lines = HelpText.wrap(words.joined(separator: " "), indent: indent).split(separator: "\n").map(String.init)
        #expect(lines.allSatisfy { $0.count <= 80 && $0.hasPrefix(String(repeating: " ", count: indent)) })
        for (line, next) in zip(lines, lines.dropFirst()) {
            let first = next.drop { $0 == " " }.prefix { $0 != " " }
            #expect(line.count + 1 + first.count > 80, "there was room for \(first)")
        }
        let wrapped: [String] = lines.joined(separator: " ").split(separator: " ").map(String.init)
        #expect(wrapped == words)
    }

    @Test func `a word wider than the terminal stands alone, whole`() {
        let long = String(repeating: "y", count: 100)
        #expect(HelpText.wrap("a \(long) b", indent: 0) == "a\n\(long)\nb")
    }

    @Test func `terms stand above their notes when they are too wide`() {
        let wide = "--a-very-long-option PLACEHOLDER"
        let text = HelpText.section("Options", [("-s", "Short."), (wide, "Long.")])
        let column = String(repeating: " ", count: 30)
        #expect(text == "\nOptions:\n  -s\(String(repeating: " ", count: 26))Short.\n  \(wide)\n\(column)Long.\n")
        #expect(HelpText.section("Options", []) == "")
    }

    @Test func `notes of several lines stay in their column`() {
        let note = String(repeating: "word ", count: 30)
        let lines = HelpText.section("T", [("term", note)]).split(separator: "\n")
        #expect(lines.count > 2 && lines[1].hasPrefix("  term  word"))
        #expect(lines.dropFirst(2).allSatisfy { $0.hasPrefix("        word") && $0.count <= 80 })
    }

    @Test func `examples share a column while all notes fit beside them`() {
        let short = [CommandExample("p a", "one"), CommandExample("p bcd", "two")]
        #expect(HelpText.examples(short) == "\nExamples:\n  p a    one\n  p bcd  two\n")
        let long = CommandExample("p " + String(repeating: "x", count: 70), "three four five")
        let text = HelpText.examples(short + [long])
        #expect(text.contains("\(long.line)\n      three four five\n"))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(HelpText.examples([]) == "")
    }
}

@Suite struct CommandFindingTests {
    @Test(arguments: [
        (["--socket", "wait"], "nwpath: a command is missing; see 'nwpath --help'"),
        (["--socket"], "nwpath: a command is missing; see 'nwpath --help'"),
        (["--socket=/x", "--bogus"], "nwpath: unknown option '--bogus'; see 'nwpath --help'"),
        (["--json=1"], "nwpath: a command is missing; see 'nwpath --help'"),
        (["--", "wait"], "nwpath: a command is missing; see 'nwpath --help'"),
        (["-x", "wait"], "nwpath wait: unknown option '-x'; see 'nwpath wait --help'"),
        (
            ["help", "config", "chekc"],
            "nwpath config: unknown command 'chekc' (did you mean 'check'?); see 'nwpath config --help'"
        ),
        (["hlep"], "nwpath: unknown command 'hlep' (did you mean 'help'?); see 'nwpath --help'"),
        (
            ["config", "--json", "check"],
            "nwpath config: a command is missing, expected one of check, show; see 'nwpath config --help'"
        ),
        (["check"], "nwpath: unknown command 'check'; see 'nwpath --help'"),
        (["WAIT"], "nwpath: unknown command 'WAIT' (did you mean 'wait'?); see 'nwpath --help'"),
    ])
    func `a line without a command, or with another one, is told what there is`(line: [String], expected: String) {
        #expect(complaint(line) == expected)
    }

    @Test(arguments: [
        ["--timeout", "5s", "config", "check"], ["--url", "http://x", "config", "check"],
        ["--json", "config", "check"], ["config", "check", "--json"],
    ])
    func `a common option and its value are no command`(line: [String]) throws {
        // What the command does not take is refused under its own name.
        let message = complaint(line)
        #expect(message == nil || message?.hasPrefix("nwpath config check: unknown option") == true)
        #expect((message == nil) == line.contains("--json"))
    }

    @Test(arguments: [
        (["help", "wait"], "Waits"), (["help", "config", "show"], "Shows"),
        (["help", "config"], "nwpath config: a group"),
        (["help", "--json"], "nwpath: watches"), (["help", "wait", "--json"], "Waits"), (["-h", "wait"], "Waits"),
        (["wait", "--for", "-h"], "Waits"), (["config", "nonsense", "--help"], "nwpath config: a group"),
    ])
    func `help is given for what was named`(line: [String], start: String) throws {
        #expect(try #require(try shown(line)).text.hasPrefix(start))
    }

    @Test func `behind two hyphens nothing asks for help`() throws {
        #expect(
            try parsed(ExampleWait.self, ["wait", "--", "--help", "--version"])?.0.conditions == [
                "--help", "--version",
            ]
        )
    }

    @Test(arguments: [(0, "done"), (5, "permission refused"), (7, "exit status 7"), (130, "interrupted")])
    func `a status has a meaning in words`(code: Int32, words: String) {
        #expect(ExitStatus(rawValue: code).meaning == words)
        #expect(ExitNote(ExitStatus(rawValue: code)).note == words)
        #expect(ExitNote(ExitStatus(rawValue: code), "other").note == "other")
    }
}
