// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Spelling
import TestSupport
import Testing

@testable import nwpath

@Suite(.computing) struct ParsingTests {
    @Test func `values go where the declaration says`() throws {
        let line = [
            "wait", "ipv4", "--for=250ms", "dns", "--any", "--family", "ipv6", "--event", "path.*", "--event=log.*",
            "-n5",
            "--timeout", "0",
        ]
        let (command, common) = try #require(try parsed(ExampleWait.self, line))
        #expect(command.conditions == ["ipv4", "dns"])
        #expect(command.hold == .milliseconds(250))
        #expect(command.any)
        #expect(command.family == .ipv6)
        #expect(command.events.map(\.description) == ["path.*", "log.*"])
        #expect(command.count == 5)
        #expect(common == CommonOptions())
    }

    @Test func `without arguments the defaults hold`() throws {
        let (command, common) = try #require(try parsed(ExampleWait.self, ["wait"]))
        #expect(command.conditions == [])
        #expect(command.count == 1)
        #expect(command.family == nil)
        #expect(command.run(common) == .timedOut)
    }

    @Test func `common options stand before or behind the command`() throws {
        let line = ["--socket", "/run/x", "-q", "wait", "--json", "-vv", "--no-color", "--url=http://localhost:1"]
        let (_, common) = try #require(try parsed(ExampleWait.self, line))
        #expect(common.socket == "/run/x")
        #expect(common.url == "http://localhost:1")
        #expect(common.isQuiet)
        #expect(common.isJSON)
        #expect(common.hasNoColour)
        #expect(common.verbosity == 2)
        #expect(common.timeout == nil)
    }

    @Test func `a command's own option hides the common one of that name`() throws {
        let (command, common) = try #require(try parsed(ExampleWait.self, ["wait", "--timeout", "7s"]))
        #expect(command.timeout == .seconds(7))
        #expect(common.timeout == nil)
    }

    @Test func `flags can be bundled, with a value at the end`() throws {
        let (command, common) = try #require(try parsed(ExampleWait.self, ["wait", "x", "-avqn", "3"]))
        #expect(command.any)
        #expect(command.count == 3)
        #expect(common.isQuiet)
        #expect(common.verbosity == 1)
    }

    @Test func `two hyphens end the options`() throws {
        let (command, _) = try #require(try parsed(ExampleWait.self, ["wait", "-", "--", "--any", "-x", "--help"]))
        #expect(command.conditions == ["-", "--any", "-x", "--help"])
        #expect(!command.any)
    }

    @Test func `given twice, the last value counts`() throws {
        let (command, _) = try #require(
            try parsed(ExampleWait.self, ["wait", "--for", "1s", "--for", "2s", "-n", "3", "-n4"])
        )
        #expect(command.hold == .seconds(2))
        #expect(command.count == 4)
    }

    @Test func `commands of a group have two words`() throws {
        let (check, _) = try #require(try parsed(ExampleConfigCheck.self, ["config", "check", "/etc/x.yaml", "-q"]))
        #expect(check.file == "/etc/x.yaml")
        #expect(try parsed(ExampleConfigShow.self, ["--json", "config", "show"])?.1.isJSON == true)
        #expect(try parsed(ExampleReplay.self, ["replay", "wait"])?.0.file == "wait")
    }

    @Test(
        arguments: [
            ([], "nwpath: a command is missing; see 'nwpath --help'"),
            (["-q"], "nwpath: a command is missing; see 'nwpath --help'"),
            (["--jsno"], "nwpath: unknown option '--jsno' (did you mean '--json'?); see 'nwpath --help'"),
            (["wiat"], "nwpath: unknown command 'wiat' (did you mean 'wait'?); see 'nwpath --help'"),
            (["wai"], "nwpath: unknown command 'wai' (did you mean 'wait'?); see 'nwpath --help'"),
            (["frobnicate"], "nwpath: unknown command 'frobnicate'; see 'nwpath --help'"),
            (["confg", "check"], "nwpath: unknown command 'confg' (did you mean 'config'?); see 'nwpath --help'"),
            (
                ["config"],
                "nwpath config: a command is missing, expected one of check, show; see 'nwpath config --help'"
            ),
            (
                ["config", "chekc"],
                "nwpath config: unknown command 'chekc' (did you mean 'check'?); see 'nwpath config --help'"
            ),
            (
                ["wait", "--anny"],
                "nwpath wait: unknown option '--anny' (did you mean '--any'?); see 'nwpath wait --help'"
            ),
            (["wait", "--an"], "nwpath wait: unknown option '--an' (did you mean '--any'?); see 'nwpath wait --help'"),
            (
                ["wait", "-json"],
                "nwpath wait: unknown option '-json' (did you mean '--json'?); see 'nwpath wait --help'"
            ),
            (["wait", "-x"], "nwpath wait: unknown option '-x'; see 'nwpath wait --help'"),
            (["wait", "--any=yes"], "nwpath wait: --any takes no value, found 'yes'; see 'nwpath wait --help'"),
            (
                ["wait", "--for"],
                """
                nwpath wait: --for needs a value, a duration such as 250ms, 10s, 5m, 1h or 7d; see 'nwpath wait --help'
                """
            ),
            (
                ["wait", "--for", "--any"],
                """
                nwpath wait: --for needs a value, a duration such as 250ms, 10s, 5m, 1h or 7d, but option '--any' follows; \
                see 'nwpath wait --help'
                """
            ),
            (
                ["wait", "--for", "10sec"],
                """
                nwpath wait: --for is '10sec', expected a duration such as 250ms, 10s, 5m, 1h or 7d; see 'nwpath wait --help'
                """
            ),
            (
                ["wait", "-n", "0"],
                "nwpath wait: -n is '0', expected a whole number from 1 to 100; see 'nwpath wait --help'"
            ),
            (
                ["wait", "-n", "-5"],
                "nwpath wait: -n is '-5', expected a whole number from 1 to 100; see 'nwpath wait --help'"
            ),
            (
                ["wait", "--family", "ipv5"],
                "nwpath wait: --family is 'ipv5', expected one of ipv4, ipv6 (did you mean 'ipv4'?); see 'nwpath wait --help'"
            ),
            (
                ["wait", "--event", "["],
                "nwpath wait: --event is '[', expected a name or a pattern such as eth0, wl* or en[op]*; see 'nwpath wait --help'"
            ),
            (["wait", ""], "nwpath wait: COND is '', expected a text; see 'nwpath wait --help'"),
            (["wait", "--any"], "nwpath wait: --any needs conditions; see 'nwpath wait --help'"),
            (["replay"], "nwpath replay: FILE is missing, expected a path; see 'nwpath replay --help'"),
            (["replay", "a", "b"], "nwpath replay: unexpected argument 'b'; see 'nwpath replay --help'"),
            (["--json", "replay", "a"], "nwpath replay: unknown option '--json'; see 'nwpath replay --help'"),
            (
                ["config", "show", "--socket=x"],
                "nwpath config show: unknown option '--socket'; see 'nwpath config show --help'"
            ),
            (["wait", "--\u{1B}[31m"], "nwpath wait: unknown option '--\\u{1B}[31m'; see 'nwpath wait --help'"),
            (["--"], "nwpath: a command is missing; see 'nwpath --help'"),
            (["wait", "--=x"], "nwpath wait: unknown option '--'; see 'nwpath wait --help'"),
            (["help", "wiat"], "nwpath: unknown command 'wiat' (did you mean 'wait'?); see 'nwpath --help'"),
        ] as [([String], String)]
    )
    func `a wrong line gets one line of explanation`(line: [String], expected: String) {
        #expect(complaint(line) == expected)
    }

    @Test func `exit statuses are those that scripts rely on`() {
        let all: [nwpath.ExitStatus] = [
            .success, .negative, .usage, .timedOut, .unreachable, .refused, .interrupted,
        ]
        #expect(all.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 130])
        #expect(Set(all.map(\.meaning)).count == all.count)
    }

    @Test func `no words can harm the parser`() {
        var state: UInt64 = 42
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let words = [
            "wait", "config", "check", "replay", "-", "--", "-n", "--for", "--for=", "=", "-=", "--=", "-vvv", "--json",
            "-é", "",
            "--event", "\u{0}", "--socket", "-n=", "help", "1s", "-qn",
        ]
        var outcomes: Set<Bool> = []
        for _ in 0..<20_000 {
            let line = (0..<random(6)).map { _ in words[random(words.count)] }
            let message = complaint(line)
            outcomes.insert(message == nil)
            #expect(message?.contains("\n") != true)
        }
        #expect(outcomes == [true, false])
    }
}
