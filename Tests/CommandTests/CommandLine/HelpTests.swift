// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import nwpath

@Suite struct HelpTests {
    @Test func `help of a command shows examples first`() throws {
        let (text, status) = try #require(try shown(["wait", "--help"]))
        #expect(status == .success)
        #expect(
            text == """
                Waits until the path is as you want it.

                Examples:
                  nwpath wait                     until there is a path
                  nwpath wait ipv6 --timeout 30s  at most half a minute for IPv6

                Usage: nwpath wait [OPTIONS] [COND...]

                Arguments:
                  COND  What must be true.

                Options:
                  -a, --any          One condition is enough.
                  --for DUR          How long it must hold. Default: 0.
                  --timeout DUR      When to give up; 0 is never. Default: 0.
                  --family FAMILY    The address family. One of ipv4, ipv6.
                  --event GLOB       Events to show. Repeatable.
                  -n, --count COUNT  How often. Default: 1.

                Common options:
                  --socket PATH      The unix socket of the service.
                  --url URL          The address of the service, instead of a socket.
                  --token-file FILE  The token that the service requires.
                  --cacert FILE      Certificate authorities trusted to identify the service.
                  -v, --verbose      Log each request on standard error.
                  --json             Print JSON.
                  -q, --quiet        Print only errors, and JSON with --json.
                  --no-color         Print without colours.

                Exit status:
                  0  it is so
                  3  timed out; what is missing is printed

                Conditions are words such as satisfied, ipv6 or interface=eth0.

                It works before the service is up.

                """
        )
    }

    @Test(arguments: [["--help"], ["-h"], ["help"], ["--json", "--help"], ["--bogus", "--help"]])
    func `help of the program lists all commands`(line: [String]) throws {
        let (text, status) = try #require(try shown(line))
        #expect(status == .success)
        for command in exampleProgram.commands { #expect(text.contains("  \(command.name) ")) }
        #expect(text.contains("Examples:\n  nwpath wait  until there is a path\n"))
    }

    @Test(arguments: [["config", "--help"], ["help", "config"]])
    func `help of a group lists its commands`(line: [String]) throws {
        let text = try #require(try shown(line)).text
        #expect(text.contains("config check  Checks the configuration.\n"))
        #expect(text.contains("config show   Shows the configuration.\n"))
        #expect(!text.contains("Waits"))
    }

    @Test func `help wins over mistakes beside it`() throws {
        #expect(try shown(["wait", "--bogus", "-h"])?.text.hasPrefix("Waits") == true)
        #expect(try shown(["help", "config", "check"])?.text.hasPrefix("Checks") == true)
        #expect(try shown(["replay", "--help"])?.status == .timedOut)
    }

    @Test func `the version is told with and without a command`() throws {
        #expect(try #require(try shown(["--version"])) == ("nwpath 0.1.0", .success))
        #expect(try #require(try shown(["wait", "--version"])) == ("nwpath 0.1.0", .success))
        #expect(try #require(try shown(["replay", "--version"])) == ("nwpath 0.1.0", .timedOut))
    }

    @Test func `no line of help is wider than a terminal`() throws {
        for line in [["--help"], ["wait", "-h"], ["config", "-h"], ["replay", "-h"]] {
            let text = try #require(try shown(line)).text
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
            #expect(text.hasSuffix("\n") && !text.contains(" \n"))
        }
    }

    @Test func `completions and manual pages find everything in the descriptions`() throws {
        let wait = try #require(exampleProgram.commands.first)
        #expect(
            wait.arguments.map(\.usage) == [
                "[COND...]", "-a, --any", "--for DUR", "--timeout DUR", "--family FAMILY", "--event GLOB",
                "-n, --count COUNT",
            ]
        )
        #expect(wait.arguments.first { $0.names == ["--family"] }?.choices == ["ipv4", "ipv6"])
        #expect(!wait.commonArguments.contains { $0.names == ["--timeout"] })
        #expect(exampleProgram.usage(wait) == "nwpath wait [OPTIONS] [COND...]")
        #expect(exampleProgram.usage(exampleProgram.commands[3]) == "nwpath replay FILE")
    }
}

@Suite struct CommandFactTests {
    @Test(
        arguments: [
            (["replay"], .timedOut), (["replay", "a", "b"], .timedOut), (["wait", "--bogus"], .usage),
            (["bogus"], .usage), ([], .usage),
        ] as [([String], nwpath.ExitStatus)]
    )
    func `a mistake has the exit status of its command's help where that has its own`(
        words: [String],
        status: nwpath.ExitStatus
    ) {
        do throws(UsageError) {
            _ = try exampleProgram.parse(words)
            Issue.record("\(words) is right")
        } catch {
            #expect(exampleProgram.status(of: error) == status)
        }
    }

    @Test func `descriptions tell completions where a file is named`() throws {
        let check = try #require(exampleProgram.commands.first { $0.name == "config check" })
        #expect(check.arguments.map(\.isPath) == [true])
        #expect(
            exampleProgram.commonArguments.filter(\.isPath).flatMap(\.names) == [
                "--socket", "--token-file", "--cacert",
            ]
        )
        #expect(exampleProgram.commonArguments.contains { $0.names == ["-q", "--quiet"] })
    }
}
