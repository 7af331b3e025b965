// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Spelling
import Testing

@testable import nwpath

/// Carries one argument of every form.
struct Forms: Command {
    enum Colour: String, CaseIterable {
        case red
        case green
    }

    var text = "standard"
    var path = ""
    var number = 5
    var open = 0
    var duration = Duration.seconds(5)
    var glob: Glob?
    var colour = Colour.red
    var own: [Int] = []
    var words: [String] = []

    static let even = ArgumentForm<Int>("an even number", choices: ["2", "4"]) { text in
        Int(text).flatMap { $0.isMultiple(of: 2) ? $0 : nil }
    }

    static let specification = Specification<Forms>(
        "forms",
        "Carries one argument of every form.",
        arguments: [
            .option("--text", value: "TEXT", into: \.text, .text, help: "Text."),
            .option("--path", value: "FILE", into: \.path, .path, help: "Path."),
            .option("--number", value: "N", into: \.number, .integer(1...9), help: "Number."),
            .option("--open", value: "N", into: \.open, .integer(0...Int.max), help: "Number without an end."),
            .option("--duration", value: "DUR", into: \.duration, .duration, help: "Duration."),
            .option("--glob", value: "GLOB", into: \.glob, .glob, help: "Pattern."),
            .option("--colour", value: "COLOUR", into: \.colour, .choice, help: "Colour."),
            .options("--own", value: "EVEN", into: \.own, Forms.even, help: "Form of one's own."),
            .positionals("WORD", into: \.words, .text, isRequired: true, help: "Words."),
        ]
    )

    func run(_ common: CommonOptions) -> nwpath.ExitStatus { .success }
}

@Suite struct ArgumentFormTests {
    private static let forms = Program("test", "tests forms", version: "1", commands: [Forms.self])

    private func parse(_ line: String...) throws(UsageError) -> Forms? {
        guard case .run(let command, _) = try Self.forms.parse(["forms"] + line) else { return nil }
        return command as? Forms
    }

    private func complaint(_ line: String...) -> String? {
        do {
            _ = try Self.forms.parse(["forms"] + line)
            return nil
        } catch {
            return String(error.description.split(separator: "; ")[0].dropFirst("test forms: ".count))
        }
    }

    @Test func `every form gives its value`() throws {
        let forms = try #require(
            try parse(
                "--text",
                "x",
                "--path=/a=b",
                "--number",
                "9",
                "--open=9223372036854775807",
                "--duration",
                "250ms",
                "--glob",
                "eth*",
                "--colour",
                "green",
                "--own",
                "2",
                "--own=4",
                "w"
            )
        )
        #expect(forms.text == "x")
        #expect(forms.path == "/a=b")
        #expect(forms.number == 9)
        #expect(forms.open == .max)
        #expect(forms.duration == .milliseconds(250))
        #expect(forms.glob?.matches("eth0") == true)
        #expect(forms.colour == .green)
        #expect(forms.own == [2, 4])
        #expect(forms.words == ["w"])
    }

    @Test(arguments: [
        (["--text", ""], "--text is '', expected a text"),
        (["--path="], "--path is '', expected a path"),
        (["--number", "0"], "--number is '0', expected a whole number from 1 to 9"),
        (["--number", "+3"], "--number is '+3', expected a whole number from 1 to 9"),
        (["--number", "3.0"], "--number is '3.0', expected a whole number from 1 to 9"),
        (["--open", "-1"], "--open is '-1', expected a whole number from 0"),
        (["--open", "9223372036854775808"], "--open is '9223372036854775808', expected a whole number from 0"),
        (["--duration", "5"], "--duration is '5', expected a duration such as 250ms, 10s, 5m, 1h or 7d"),
        (["--glob", "[a"], "--glob is '[a', expected a name or a pattern such as eth0, wl* or en[op]*"),
        (["--colour", "grene"], "--colour is 'grene', expected one of red, green (did you mean 'green'?)"),
        (["--colour", "blue"], "--colour is 'blue', expected one of red, green"),
        (["--own", "3"], "--own is '3', expected an even number"),
        (["--own"], "--own needs a value, an even number"),
        (["--own", "--"], "--own needs a value, an even number"),
        ([], "WORD is missing, expected a text"),
    ])
    func `every form says what it wants`(line: [String], expected: String) {
        do {
            _ = try Self.forms.parse(["forms"] + line)
            Issue.record("accepted")
        } catch {
            #expect(error.description == "test forms: \(expected); see 'test forms --help'")
        }
    }

    @Test func `a value may look like an option that does not exist`() throws {
        #expect(try parse("--text", "-x", "w")?.text == "-x")
        #expect(try parse("--text=--own", "w")?.text == "--own")
        #expect(complaint("--text", "--own", "2", "w") == "--text needs a value, a text, but option '--own' follows")
        #expect(complaint("--text", "--own=2", "w") == "--text needs a value, a text, but option '--own=2' follows")
    }

    @Test func `help shows defaults that are worth it`() {
        let standards = Forms.specification.description.arguments.map(\.standard)
        #expect(standards == ["standard", nil, "5", "0", "5s", nil, "red", nil, nil])
    }

    @Test func `descriptions tell what may be repeated and what must be given`() {
        let arguments = Forms.specification.description.arguments
        #expect(arguments.filter(\.isRepeatable).map(\.usage) == ["--own EVEN", "WORD..."])
        #expect(arguments.filter(\.isRequired).map(\.usage) == ["WORD..."])
        #expect(arguments.filter(\.isPositional).map(\.placeholder) == ["WORD"])
        #expect(arguments.map(\.choices).filter { !$0.isEmpty } == [["red", "green"], ["2", "4"]])
        #expect(arguments.allSatisfy { !$0.expectation.isEmpty })
    }
}

@Suite struct CommonOptionsTests {
    /// Takes some of the common options.
    private struct Some<Marker: Sendable>: Command {
        static var specification: Specification<Self> { Specification("some", "Takes some.", common: common) }

        private static var common: CommonOptions.Group {
            switch Marker.self {
            case is Int.Type: .connection
            case is Bool.Type: .output
            case is String.Type: .messages
            default: []
            }
        }

        func run(_ common: CommonOptions) -> nwpath.ExitStatus { .success }
    }

    @Test func `a command takes the groups it declares, and no other`() {
        #expect(
            Some<Int>.specification.description.commonArguments.flatMap(\.names)
                == ["--socket", "--url", "--token-file", "--cacert", "--timeout", "-v", "--verbose"]
        )
        #expect(Some<Bool>.specification.description.commonArguments.flatMap(\.names) == ["--json"])
        #expect(
            Some<String>.specification.description.commonArguments.flatMap(\.names)
                == ["-q", "--quiet", "--no-color"]
        )
        #expect(Some<Double>.specification.description.commonArguments == [])
    }

    @Test(arguments: [
        (["some", "--json"], "unknown option '--json'"), (["some", "--socket=x"], "unknown option '--socket'"),
        (["some", "-v"], "unknown option '-v'"),
    ])
    func `an option of another group is unknown`(line: [String], expected: String) {
        let exampleProgram = Program("p", "tests", version: "1", commands: [Some<Double>.self])
        let error = #expect(throws: UsageError.self) { try exampleProgram.parse(line) }
        #expect(error?.description == "p some: \(expected); see 'p some --help'")
    }

    @Test func `the timeout of the service is a duration`() throws {
        let exampleProgram = Program("p", "tests", version: "1", commands: [Some<Int>.self])
        guard case .run(_, let common) = try exampleProgram.parse(["--timeout=2s", "some"]) else {
            Issue.record("another outcome")
            return
        }
        #expect(common.timeout == .seconds(2))
    }
}

@Suite struct UsageErrorTests {
    @Test(
        arguments: [
            (.missingCommand, "a command is missing"),
            (.unknownCommand("x", nearest: "y"), "unknown command 'x' (did you mean 'y'?)"),
            (.unknownOption("-x", nearest: nil), "unknown option '-x'"),
            (.missingValue(option: "--a", expected: "a text", found: nil), "--a needs a value, a text"),
            (.unexpectedValue(flag: "--a", value: "1"), "--a takes no value, found '1'"),
            (
                .badValue(argument: "--a", value: "1", expected: "a text", nearest: "2"),
                "--a is '1', expected a text (did you mean '2'?)"
            ),
            (.missingArgument("FILE", expected: "a path"), "FILE is missing, expected a path"),
            (.surplusArgument("x\ny"), "unexpected argument 'x\\ny'"),
            (.conflict("--a excludes --b"), "--a excludes --b"),
        ] as [(UsageError.Fact, String)]
    )
    func `every mistake is one line with a way to help`(fact: UsageError.Fact, expected: String) {
        let error = UsageError(command: ["nwpath", "wait"], fact: fact)
        #expect(error.description == "nwpath wait: \(expected); see 'nwpath wait --help'")
    }
}
