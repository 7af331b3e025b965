// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

/// Where results go: terminals, pipes, full disks, nowhere.
@Suite(.inNamespace) struct OutputTests {
    /// Runs a command line on a terminal of its own, 80 columns wide, and gives what that shows.
    private func onTerminal(_ tool: Tool, _ words: String...) async throws -> String {
        // The words hold nothing that a shell minds.
        let line = "set -- \"$@\" \(words.joined(separator: " ")); "
        let result = try await tool.pipe(line + "script -qec \"stty cols 80; $*\" /dev/null < /dev/null")
        return result.output
    }

    private static let answer = CannedServer.response(
        "200 OK",
        """
        {"schema":"nwpath.status/1","message":"Path default is unsatisfied","path":{"status":"unsatisfied"},
        "interfaces":[{"name":"eth0","usable":true,"addresses":[{"address":"\(String(repeating: "f", count: 90))"}]}]}
        """
    )

    @Test(
        arguments: [
            (["TERM": "xterm"], true), (["TERM": "dumb"], false), (["TERM": ""], false),
            (["TERM": "xterm", "NO_COLOR": "1"], false), (["TERM": "xterm", "NO_COLOR": ""], true),
        ] as [([String: String], Bool)]
    )
    func `a terminal gets colours unless somebody minds`(environment: [String: String], isColoured: Bool) async throws {
        let tool = Tool(scratch: try Scratch(), environment: environment)
        let server = try CannedServer(tool.scratch, answer: Self.answer)
        let shown = try await onTerminal(tool, "status", "--socket", server.path)
        #expect(shown.contains("✗ Path default is unsatisfied"), "\(shown)")
        #expect(shown.contains("\u{1B}[31m✗") == isColoured)
        #expect(shown.contains("\u{1B}") == isColoured)
        let flag = try await onTerminal(tool, "status", "--no-color", "--socket", server.path)
        #expect(!flag.contains("\u{1B}") && flag.contains("✗ Path"))
    }

    @Test func `a terminal gets lines that fit and JSON over several lines, a pipe gets everything`() async throws {
        let tool = Tool(scratch: try Scratch(), environment: ["TERM": "dumb"], readsForeign: true)
        let server = try CannedServer(tool.scratch, answer: Self.answer)
        let narrow = try await onTerminal(tool, "interfaces", "--socket", server.path)
        let (part, whole) = (String(repeating: "f", count: 40), String(repeating: "f", count: 90))
        // It goes on in the next line: nothing is cut.
        #expect(narrow.contains(part) && !narrow.contains(whole) && narrow.count { $0 == "f" } >= 90)
        let wide = try await tool.run("interfaces", "--socket", server.path)
        #expect(wide.output.contains(whole))
        let pretty = try await onTerminal(tool, "status", "--json", "--socket", server.path)
        #expect(pretty.split(whereSeparator: \.isNewline).count > 5)
        let line = try await tool.run("interfaces", "--json", "--socket", server.path)
        #expect(line.output.split(separator: "\n").count == 1)
    }

    static let local: [[String]] = [
        ["version"], ["version", "--json"], ["config", "schema"], ["config", "show", "--effective"], ["--help"],
        ["wait", "--help"], ["serve", "--print-default-config"], ["log", "verify", "/nonexistent"],
    ]

    @Test(arguments: local)
    func `a result that cannot be written is an error`(words: [String]) async throws {
        let tool = Tool(scratch: try Scratch())
        let line = words.joined(separator: " ")
        let full = try await tool.pipe("\"$@\" \(line) > /dev/full")
        let none = try await tool.pipe("\"$@\" \(line) >&-")
        let normal = try await tool.pipe("\"$@\" \(line)")
        #expect(!normal.output.isEmpty)
        #expect(full.status == 1 && none.status == 1)
        #expect(full.messages == "nwpath: cannot write the output: No space left on device (ENOSPC)\n")
        #expect(none.messages == "nwpath: cannot write the output: Bad file descriptor (EBADF)\n")
    }

    @Test(arguments: local)
    func `a reader that has seen enough is no error`(words: [String]) async throws {
        let tool = Tool(scratch: try Scratch())
        let result = try await tool.pipe("\"$@\" \(words.joined(separator: " ")) | true")
        #expect(result.messages == "")
    }

    @Test func `a pipe that is full and does not block loses nothing`() async throws {
        let tool = Tool(scratch: try Scratch())
        let text = """
            import fcntl, os, subprocess, sys, time
            ours, theirs = os.pipe()
            fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
            os.set_blocking(theirs, False)
            child = subprocess.Popen(sys.argv[1:], stdout=theirs)
            os.close(theirs)
            time.sleep(0.3)
            data = b""
            while chunk := os.read(ours, 512): data += chunk
            sys.stdout.buffer.write(data)
            sys.exit(child.wait())
            """
        let script = try tool.scratch.write(text, to: "slow.py")
        let slow = try await tool.pipe("python3 \(script) \"$@\" config schema")
        let fast = try await tool.run("config", "schema")
        #expect(slow.status == 0 && slow.output == fast.output && fast.output.utf8.count > 8192)
    }

    @Test func `metrics move no cursor on a terminal, and reach a pipe as they came`() async throws {
        let tool = Tool(scratch: try Scratch(), readsForeign: true)
        let text = "# HELP a A \u{1B}[2J text.\na{name=\"\u{9B}1m\u{202E}é\"} 1\n"
        let server = try CannedServer(tool.scratch, answer: CannedServer.response("200 OK", text, type: "text/plain"))
        let shown = try await onTerminal(tool, "metrics", "--socket", server.path)
        #expect(shown.contains("# HELP a A \\u{1B}[2J text."), "\(shown)")
        #expect(shown.contains("a{name=\"\\u{9B}1m\\u{202E}é\"} 1"), "\(shown)")
        let forbidden: Set<Unicode.Scalar> = ["\u{1B}", "\u{9B}", "\u{202E}"]
        #expect(forbidden.isDisjoint(with: shown.unicodeScalars))
        let piped = try await tool.run("metrics", "--socket", server.path)
        #expect(piped.output == text)
    }

    @Test func `messages that nobody reads do not stop a command`() async throws {
        let tool = Tool(scratch: try Scratch())
        for script in ["\"$@\" services 2>&-", "\"$@\" services 2>/dev/full"] {
            let result = try await tool.pipe(script)
            #expect(result.status == 4 && result.output == "")
        }
    }
}

/// What a foreign or broken server can do to the commands that ask it.
@Suite(.inNamespace) struct HostileServerTests {
    private static let commands: [[String]] = [
        ["status"], ["status", "--monitor", "x"], ["interfaces"], ["interfaces", "--all"],
        ["interfaces", "eth0"], ["gateways"], ["dns"], ["services"], ["services", "-v"], ["services", "--types"],
        ["history"], ["history", "--outages"], ["history", "--csv"], ["watch", "--no-follow"],
        ["traffic"], ["traffic", "--addresses"], ["check", "traffic"], ["wait", "traffic", "--timeout", "100ms"],
        ["watch", "--since", "1", "--no-follow"], ["wait", "--timeout", "100ms"],
        ["wait", "interface=x", "service=_a._tcp", "--timeout", "100ms"],
    ]
    /// Every member that any command looks at, each with text from a stranger.
    private static let hostile: String = {
        let bad = "\\u001b]0;x\\u0007\\u001b[2J\\n\\r\\u202e\\u0000\\u009b1m"
        let names = [
            "since", "status", "hint", "unsatisfied_reason", "name", "type", "kind", "problem",
            "address", "interface", "family", "host", "part", "message", "start", "end", "reason", "monitor", "until",
            "next", "source", "scope", "operstate", "hardware_address", "master", "event", "severity", "time",
            "destination", "range", "state",
        ]
        let texts = names.map { "\"\($0)\":\"\(bad)\"" }.joined(separator: ",")
        let lists = ["servers", "search", "sources", "warnings", "types", "flags", "underlying_types"]
            .map { "\"\($0)\":[\"\(bad)\",7,null]" }.joined(separator: ",")
        let inner = "{\(texts),\(lists),\"txt\":{\"\(bad)\":\"\(bad)\"},\"port\":-1,\"duration_seconds\":1e300}"
        let parts = ["interfaces", "gateways", "services", "outages", "problems", "monitors", "addresses", "events"]
            .map { "\"\($0)\":[\(inner),null,3,\"\(bad)\"]" }.joined(separator: ",")
        let paths = ["path", "dns"].map { "\"\($0)\":\(inner)" }.joined(separator: ",")
        let traffic = "\"enabled\":true,\"paths\":[{\"gateway\":\"\(bad)\",\(texts),\"groups\":[\(inner),3]},7]"
        let rest = "\(traffic),\"availability_percent\":1e9,\"known_seconds\":-1,\"seq\":1,\"stream\":\"7f3a\""
        return "{\(texts.split(separator: "\"next\"").first ?? "")\(parts),\(paths),\(lists),\(rest)}"
    }()

    @Test(arguments: commands)
    func `strangers' words cannot steer the terminal, whatever member they are in`(words: [String]) async throws {
        let tool = Tool(scratch: try Scratch(), readsForeign: true)
        let server = try CannedServer(tool.scratch, answer: CannedServer.response("200 OK", Self.hostile))
        let result = try await tool.run(words + ["--socket", server.path])
        #expect((0...5).contains(result.status), "\(result.messages)")
        let shown = (result.output + result.messages).unicodeScalars
        #expect(shown.allSatisfy { $0 == "\n" || ($0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)) })
        #expect(!shown.contains("\u{202E}"))
    }

    @Test(arguments: [
        "<html><body>Log in to the hotel</body></html>", String(repeating: "[", count: 100_000),
        "{\"path\":" + String(repeating: "{\"a\":", count: 5000) + "1", "\u{FEFF}{}", "{}{}", "nul", "\"",
        "{\"a\":1,\"a\":2}",
        "1e999", "\u{0}",
    ])
    func `what is no JSON is told by every command in one line`(body: String) async throws {
        let tool = Tool(scratch: try Scratch())
        let server = try CannedServer(tool.scratch, answer: CannedServer.response("200 OK", body, type: "text/html"))
        for words in [["status"], ["interfaces", "eth0"], ["history", "--csv"], ["services", "--types"], ["watch"]] {
            let result = try await tool.run(words + ["--socket", server.path])
            #expect(result.status == 4 && result.output == "", "\(words)")
            #expect(result.messages.split(separator: "\n").count == 1)
            #expect(
                result.messages.contains("the answer from unix:\(server.path) is not usable: "),
                "\(result.messages)"
            )
        }
    }

    @Test(arguments: [["status"], ["watch"], ["services"], ["wait", "--timeout", "5s"]])
    func `a socket that the user may not open is a refusal that says who may`(words: [String]) async throws {
        guard geteuid() == 0 else { return }
        let tool = Tool(scratch: try Scratch())
        let server = try CannedServer(tool.scratch, answer: Self.hostile)
        try Command.run(["install", "-m", "755", try Tool.program, tool.scratch.file("nwpath")])
        try Command.run(["chmod", "755", tool.scratch.path])
        let libraries = try Command.run(["grep", "-o", "/.*/libswiftCore.so", "/proc/\(getpid())/maps"])
        let directory =
            libraries.split(separator: "\n").first.map { String($0.dropLast("/libswiftCore.so".count)) } ?? ""
        let program =
            "setpriv --reuid 65534 --regid 65534 --clear-groups env LD_LIBRARY_PATH=\(directory) "
            + "\(tool.scratch.file("nwpath")) \(words.joined(separator: " ")) --socket \(server.path)"
        let result = try await tool.pipe(program)
        #expect(result.status == 5 && result.output == "")
        #expect(
            result.messages
                == "nwpath: permission denied by the service; tried unix:\(server.path) (permission denied); "
                + "become root, or join the group that owns the socket\n"
        )
    }
}

/// Command lines with a slip of the pen.
@Suite struct SlipTests {
    /// Each long option of each command with one letter left out, and what it should be.
    static let slips: [(words: [String], right: String)] = NWPath.program.commands.flatMap { command in
        (command.arguments + command.commonArguments).flatMap(\.names).filter { $0.count > 6 }.map { name in
            let middle = name.index(name.startIndex, offsetBy: name.count / 2)
            return (command.words + [String(name[..<middle] + name[name.index(after: middle)...])], name)
        }
    }

    private func complaint(_ words: [String]) -> String {
        do {
            _ = try NWPath.program.parse(words)
            return ""
        } catch {
            return error.description
        }
    }

    @Test(arguments: slips.indices)
    func `an option with a letter missing is recognised`(index: Int) {
        let (words, right) = Self.slips[index]
        let name = "nwpath " + words.dropLast().joined(separator: " ")
        let expected = "\(name): unknown option '\(words.last ?? "")' (did you mean '\(right)'?); see '\(name) --help'"
        #expect(complaint(words) == expected)
    }

    @Test(arguments: NWPath.program.commands.map(\.words))
    func `a command with two letters swapped is recognised`(words: [String]) {
        var letters = Array(words.last ?? "")
        guard letters.count > 3 else { return }
        letters.swapAt(1, 2)
        let typed = words.dropLast() + [String(letters)]
        guard typed != words[...] else { return }
        #expect(complaint(Array(typed)).contains("(did you mean '\(words.last ?? "")'?)"))
    }

    @Test(arguments: NWPath.program.commands)
    func `an option that wants a value says which, and one that wants none says so`(command: CommandDescription) {
        for argument in command.arguments + command.commonArguments where !argument.isPositional {
            let name = argument.names.last ?? ""
            if argument.placeholder == nil {
                #expect(complaint(command.words + [name + "=1"]).contains("\(name) takes no value, found '1'"))
            } else {
                #expect(complaint(command.words + [name]).contains("\(name) needs a value, \(argument.expectation)"))
            }
        }
    }

    @Test(arguments: NWPath.program.commands)
    func `help names every argument and every exit status`(command: CommandDescription) throws {
        guard case .help(let text, command.helpStatus) = try NWPath.program.parse(command.words + ["-h"]) else {
            Issue.record("no help")
            return
        }
        for argument in command.arguments { #expect(text.contains(argument.help.split(separator: " ")[0])) }
        for name in (command.arguments + command.commonArguments).flatMap(\.names) { #expect(text.contains(name)) }
        for exit in command.exits { #expect(text.contains("\n  \(exit.status.rawValue) ")) }
        let codes = command.exits.map(\.status.rawValue)
        #expect(codes.first == 0 && codes.contains(2) || command.words == ["wait"])
    }
}
