// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

/// What a run of the program left.
struct Result {
    let status: Int32
    let output: String
    let messages: String

    /// The one object it printed.
    var json: JSONValue {
        get throws { try JSONValue(parsing: output) }
    }

    /// The first line it printed.
    var firstLine: String { output.split(separator: "\n").first.map(String.init) ?? "" }
}

/// The nwpath that was built beside the tests, run as users run it, in the namespace of the test.
struct Tool {
    let scratch: Scratch
    var environment: [String: String] = [:]
    /// Whether what it prints is what a test wrote: the answers of a ``CannedServer``, or a log.
    var readsForeign = false

    /// The built program.
    static var program: String { get throws { try BuiltProgram.path() } }

    private func words(_ arguments: [String]) throws -> [String] {
        // Nothing of the machine that runs the tests may be found.
        let directories = ["RUNTIME", "CONFIGURATION", "LOGS", "STATE"].map { "\($0)_DIRECTORY=\(scratch.path)" }
        let proxies = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].flatMap { ["-u", $0] }
        return ["env", "-u", "NWPATH_URL", "-u", "NO_COLOR"] + proxies + directories
            + environment.map { "\($0.key)=\($0.value)" } + [try Self.program] + arguments
    }

    /// Runs it until it ends; handlers of the test's loop run meanwhile.
    func run(_ arguments: String...) async throws -> Result { try await run(arguments) }

    func run(_ arguments: [String]) async throws -> Result {
        try await finish(start("\"$@\" >\"$0.out\" 2>\"$0.err\"; echo $? >\"$0.rc\"", arguments))
    }

    /// Runs another program.
    func run(program words: [String]) async throws -> Result {
        try await finish(start("\"$@\" >\"$0.out\" 2>\"$0.err\"; echo $? >\"$0.rc\"", program: words))
    }

    /// Runs a shell script in which `"$@"` is the command line.
    func pipe(_ script: String, _ arguments: String...) async throws -> Result {
        let whole = "{ \(script); } >\"$0.out\" 2>\"$0.err\"; echo $? >\"$0.rc\""
        return try await finish(start(whole, arguments))
    }

    /// Runs it where names are looked up at this server.
    func run(resolvingAt server: String, _ arguments: [String]) async throws -> Result {
        let file = try scratch.write("nameserver \(server)\n", to: "nameserver")
        let script = "unshare -m sh -ec 'mount --bind \(file) /etc/resolv.conf; exec \"$@\"' sh \"$@\""
        let whole = "{ \(script); } >\"$0.out\" 2>\"$0.err\"; echo $? >\"$0.rc\""
        return try await finish(start(whole, arguments))
    }

    private func finish(_ running: Running) async throws -> Result {
        let scratch = scratch
        let loop = Namespace.current.loop
        await loop.eventually(within: .seconds(30), "the end of \(running.arguments)") {
            scratch.read("\(running.name).rc").hasSuffix("\n")
        }
        let status = scratch.read("\(running.name).rc").dropLast()
        return Result(status: Int32(status) ?? -1, output: running.output, messages: running.messages)
    }

    /// Starts it beside the test.
    func launch(_ arguments: String...) throws -> Running { try launch(arguments) }

    func launch(_ arguments: [String]) throws -> Running {
        try start("exec \"$@\" >\"$0.out\" 2>\"$0.err\"", arguments)
    }

    private func start(_ script: String, _ arguments: [String]) throws -> Running {
        try start(script, program: words(arguments))
    }

    private func start(_ script: String, program words: [String]) throws -> Running {
        let name = "run-\(UInt64.random(in: 0...UInt64.max))"
        let command = try RunningCommand(["sh", "-c", script, scratch.file(name)] + words)
        return Running(scratch: scratch, name: name, arguments: words, command: command, isForeign: readsForeign)
    }
}

/// A run of the program beside the test; it is killed with this value.
final class Running {
    let scratch: Scratch
    let name: String
    let arguments: [String]
    let command: RunningCommand
    private let isForeign: Bool

    init(scratch: Scratch, name: String, arguments: [String], command: RunningCommand, isForeign: Bool) {
        self.scratch = scratch
        self.name = name
        self.arguments = arguments
        self.command = command
        self.isForeign = isForeign
    }

    deinit { if !isForeign { LiveJSON.check(output, by: .command) } }

    var output: String { scratch.read("\(name).out") }
    var messages: String { scratch.read("\(name).err") }
    var lines: [Substring] { output.split(separator: "\n") }

    /// The objects it printed so far, one a line.
    var objects: [JSONValue] {
        get throws { try lines.map { try JSONValue(parsing: String($0)) } }
    }
}

/// A daemon of its own in the namespace of the test, with one veth pair that leads to a default gateway.
final class Service {
    private let files: DaemonFiles
    let tool: Tool
    private var running: Running?

    init(sourceLocation: SourceLocation = #_sourceLocation) throws {
        files = DaemonFiles(in: try Scratch(), sourceLocation: sourceLocation)
        tool = Tool(scratch: files.scratch)
    }

    var scratch: Scratch { files.scratch }
    var socket: String { files.socket }
    var log: String { files.log }
    private var loop: EventLoop { Namespace.current.loop }

    /// Makes the network that the daemon finds.
    func connect() throws {
        try Namespace.current.ipBatch([
            "link add eth0 type veth peer name far", "addr add 192.0.2.10/24 dev eth0", "link set eth0 up",
            "link set far up", "route add default via 192.0.2.1",
        ])
        try Namespace.current.waitUntilRunning("eth0")
    }

    func start(_ arguments: String...) async throws {
        unsafe unlink(socket)
        let listen = ["--listen", "unix:\(socket)", "--debounce", "1ms", arguments.first ?? "--no-mdns"]
        let running = try tool.launch(["serve"] + DaemonFiles.options(in: scratch) + listen)
        self.running = running
        await loop.eventually(within: .seconds(20), "the start of the daemon") {
            running.messages.contains("event log: ")
        }
    }

    /// Ends the daemon as a crash does.
    func kill() {
        running?.command.signal(SIGKILL)
        _ = running?.command.wait()
        running = nil
    }

    /// Asks it by one of the commands.
    func ask(_ arguments: String...) async throws -> Result {
        try await tool.run(arguments + ["--socket", socket])
    }

    /// Waits until the path is as named.
    func settle(_ condition: String) async throws {
        let result = try await ask("wait", condition, "--timeout", "60s")
        #expect(result.status == 0, "\(result.messages)")
    }
}
