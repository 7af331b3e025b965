// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

/// One way to start the service wrongly.
struct Mistake: CustomTestStringConvertible, Sendable {
    /// What is wrong.
    let testDescription: String
    /// The words of the command line; `@` stands for the scratch directory.
    var arguments: [String] = []
    /// A shell script that prepares the scratch directory, which is its working directory.
    var preparation = "true"
    /// Variables of the environment.
    var environment: [String] = []
    /// Whether it runs as an ordinary user.
    var isOrdinary = false
    /// Words put before the program.
    var wrapper: [String] = []
    /// The exit code.
    let code: Int32
    /// The lines, `@` as above; a line that ends with `…` may go on.
    let lines: [String]
}

/// Bad input gives one clear line a problem and the documented exit code, never a trace.
@Suite(.inNamespace) struct BadInputTests {
    static let commandLine: [Mistake] = [
        Mistake(
            testDescription: "an unknown flag",
            arguments: ["--lissten", "127.0.0.1:1"],
            code: 2,
            lines: ["nwpath serve: unknown option '--lissten'…"]
        ),
        Mistake(
            testDescription: "a flag without its value",
            arguments: ["--config"],
            code: 2,
            lines: ["nwpath serve: --config needs a value…"]
        ),
        Mistake(
            testDescription: "a bad duration",
            arguments: ["--debounce", "fast"],
            code: 2,
            lines: ["nwpath: --debounce: debounce.quiet is 'fast', expected a duration…"]
        ),
        Mistake(
            testDescription: "a word too much",
            arguments: ["now"],
            code: 2,
            lines: ["nwpath serve: unexpected argument 'now'…"]
        ),
        Mistake(
            testDescription: "too few open files",
            wrapper: ["prlimit", "--nofile=40"],
            code: 1,
            lines: ["nwpath: the limit of open files is 40, and the service needs 80 at least: raise it with…"]
        ),
        Mistake(
            testDescription: "an address that others can reach",
            arguments: ["--listen", "0.0.0.0:8353"],
            code: 2,
            lines: ["nwpath: --listen: listen[0] 0.0.0.0:8353 is reachable from other hosts…"]
        ),
        Mistake(
            testDescription: "an address that is none",
            arguments: ["--listen", "here:1"],
            code: 2,
            lines: ["nwpath: --listen: …"]
        ),
        Mistake(
            testDescription: "a socket path that is too long",
            arguments: ["--listen", "unix:/" + String(repeating: "x", count: 120)],
            code: 2,
            lines: ["nwpath: --listen: …"]
        ),
        Mistake(
            testDescription: "a bad variable",
            environment: ["NWPATH_DEBOUNCE_QUIET=1 hour"],
            code: 2,
            lines: ["nwpath: environment NWPATH_DEBOUNCE_QUIET: debounce.quiet is '1 hour', expected a duration…"]
        ),
    ]

    static let files: [Mistake] = [
        Mistake(
            testDescription: "no configuration where one was named",
            arguments: ["--config", "@/none.yaml"],
            code: 2,
            lines: ["nwpath: @/none.yaml: cannot be read: No such file or directory (ENOENT)"]
        ),
        Mistake(
            testDescription: "two problems in the configuration",
            arguments: ["--config", "@/c.yaml"],
            preparation: "printf 'ignoore: []\\nlog:\\n  keep: many\\n' > c.yaml",
            code: 2,
            lines: [
                "nwpath: @/c.yaml:1:1: unknown key 'ignoore' (did you mean 'ignore'?)",
                "nwpath: @/c.yaml:3:9: log.keep is 'many', expected …",
            ]
        ),
        Mistake(
            testDescription: "a directory as configuration",
            arguments: ["--config", "@"],
            code: 2,
            lines: ["nwpath: @: cannot be read: not a regular file"]
        ),
        Mistake(
            testDescription: "a configuration that may not be read",
            arguments: ["--config", "@/c.yaml"],
            preparation: "touch c.yaml; chmod 0 c.yaml",
            isOrdinary: true,
            code: 2,
            lines: ["nwpath: @/c.yaml: cannot be read: Permission denied (EACCES)"]
        ),
        Mistake(
            testDescription: "a foreign file as log",
            preparation: "echo '127.0.0.1 localhost' > events.jsonl",
            code: 1,
            lines: ["nwpath: @/events.jsonl…"]
        ),
        Mistake(
            testDescription: "a directory as log",
            preparation: "mkdir events.jsonl",
            code: 1,
            lines: ["nwpath: @/events.jsonl…"]
        ),
        Mistake(
            testDescription: "a state directory that may not be written",
            preparation: "chmod 555 .",
            isOrdinary: true,
            code: 1,
            lines: ["nwpath: @: cannot use the directory: Permission denied (EACCES)"]
        ),
        Mistake(
            testDescription: "a state directory that is a file",
            arguments: ["--state-dir", "@/file"],
            preparation: "touch file",
            code: 1,
            lines: ["nwpath: @/file: cannot use the directory: Not a directory (ENOTDIR)"]
        ),
        Mistake(
            testDescription: "something else at the path of the socket",
            preparation: "echo important > api.sock",
            code: 1,
            lines: ["nwpath: cannot listen on unix:@/api.sock: the path exists and is not a socket"]
        ),
        Mistake(
            testDescription: "a directory of the socket that somebody else made in a shared place",
            arguments: ["--listen", "unix:@/shared/nwpath/api.sock"],
            preparation: "mkdir -p shared/nwpath; chown 1 shared/nwpath; chmod 1777 shared",
            code: 1,
            lines: [
                "nwpath: @/shared/nwpath: the directory belongs to user 1, "
                    + "in a directory that other users can write to; run as that user, or use another path"
            ]
        ),
        Mistake(
            testDescription: "a recording that cannot be written",
            arguments: ["--record", "@/none/file"],
            code: 1,
            lines: ["nwpath: @/none/file: cannot write the recording: No such file or directory (ENOENT)"]
        ),
        Mistake(
            testDescription: "a kernel without netlink",
            wrapper: ["python3", Place.fixtures + "/without_netlink.py"],
            code: 1,
            lines: ["nwpath: no netlink: …"]
        ),
    ]

    @Test(arguments: commandLine + files)
    func `gives one clear line`(mistake: Mistake) throws {
        let scratch = try Scratch()
        try Command.run(["sh", "-c", "cd \(scratch.path); umask 022; \(mistake.preparation)"])
        func here(_ text: String) -> String {
            text.split(separator: "@", omittingEmptySubsequences: false).joined(separator: scratch.path)
        }
        if mistake.isOrdinary {
            guard geteuid() == 0 else { return }
            try Command.run(["chown", "-R", "65534", scratch.path])
        }
        let outcome = try Self.run(mistake, arguments: mistake.arguments.map(here), in: scratch)
        let expected = mistake.lines.map(here)
        #expect(outcome.code == mistake.code)
        #expect(outcome.output.lines.count == expected.count, "\(outcome.output)")
        for (line, wanted) in zip(outcome.output.lines, expected) {
            if wanted.hasSuffix("…") {
                #expect(line.hasPrefix(wanted.dropLast()))
            } else {
                #expect(line == wanted)
            }
        }
    }

    private static func run(_ mistake: Mistake, arguments: [String], in scratch: Scratch) throws -> Outcome {
        var words = ["nsenter", "--net=\(Namespace.current.path)"]
        if mistake.isOrdinary {
            words += ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        }
        words +=
            ["env", "HOME=\(scratch.path)"] + mistake.environment + mistake.wrapper + [
                try Place.program, "serve", "--no-mdns",
            ]
        let usual = [
            ("--listen", "unix:" + scratch.file("api.sock")), ("--log-file", scratch.file("events.jsonl")),
            ("--state-dir", scratch.path),
        ]
        for (flag, value) in usual where !arguments.contains(flag) { words += [flag, value] }
        return Service.outcome(of: try RunningCommand(words + arguments, captures: true))
    }

    @Test func `a second service is told whose log it is`() async throws {
        let service = try await Service()
        let second = Service.outcome(of: try Service.start(["--listen", "127.0.0.1:18354"], in: service.scratch))
        #expect(second.code == 1 && second.output.lines.count == 1)
        #expect(second.output.contains("is in use by another nwpath (process \(service.process.processID))"))
        #expect(try service.get("/-/ready") == "ok\n")
    }

    @Test func `a taken port and a taken socket name their owner, and leave nothing behind`() async throws {
        let service = try await Service(["--listen", "127.0.0.1:18355"])
        let scratch = try Scratch()
        let own = "unix:" + scratch.file("own.sock")
        for address in ["127.0.0.1:18355"] {
            let second = Service.outcome(of: try Service.start(["--listen", own, "--listen", address], in: scratch))
            #expect(second.code == 1)
            let owner = "in use by nwpath (process \(service.process.processID))"
            #expect(second.output == "nwpath: cannot listen on \(address): \(owner)\n")
            #expect(!scratch.exists("own.sock"))
        }
    }

    @Test func `a stale socket is replaced`() async throws {
        let service = try await Service()
        #expect(service.stop(SIGKILL).code == 128 + SIGKILL)
        #expect(service.scratch.exists("api.sock"))
        try await service.restart()
        #expect(try service.get("/-/ready") == "ok\n")
    }

    @Test func `the configuration can be checked and the default one printed`() throws {
        let scratch = try Scratch()
        let program = try Place.program
        let text = try Command.run([program, "serve", "--print-default-config"])
        try scratch.write(text, to: "nwpath.yaml")
        let check = [program, "serve", "--check-config", "--config", scratch.file("nwpath.yaml")]
        #expect(try Command.run(check) == "\(scratch.file("nwpath.yaml")): configuration OK\n")
    }
}
