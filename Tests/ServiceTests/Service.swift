// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

extension Scratch {
    func mode(_ name: String) throws -> String { try Command.run(["stat", "-c", "%a %U", file(name)]).trimmed }
}

extension String {
    var trimmed: String { String(self[..<(lastIndex { $0 != "\n" }.map { index(after: $0) } ?? startIndex)]) }
    var lines: [String] { split(separator: "\n").map(String.init) }
}

/// The tree and the programs beside the tests.
enum Place {
    static let root = String(#filePath.dropLast("/Tests/ServiceTests/Service.swift".count))
    static let fixtures = root + "/Tests/ServiceTests/Fixtures"

    /// The program under test, built into the directory of the test bundle.
    static var program: String { get throws { try BuiltProgram.path() } }

    /// Runs one of our checks by the Python of the tests.
    static func python(_ arguments: [String], input: String = "") throws -> String {
        try Command.run([PythonEnvironment.python.get()] + arguments, input: input)
    }
}

/// What a program printed, and how it ended.
struct Outcome: Equatable {
    var code: Int32
    var output: String
}

/// The real service in the namespace of the test, with its files in a directory of its own.
final class Service {
    let files: DaemonFiles
    private(set) var process: RunningCommand
    private let namespace: Namespace

    var scratch: Scratch { files.scratch }
    var log: String { files.log }
    var socket: String { files.socket }

    /// Starts it and waits until it answers.
    init(
        _ arguments: [String] = [],
        in scratch: Scratch? = nil,
        hasForeignPast: Bool = false,
        debounce: String = "0s",
        takesCensus: Bool = false,
        connectivity: String = "off",
        inside wrapper: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let scratch = try scratch ?? Scratch()
        files = DaemonFiles(in: scratch, hasForeignPast: hasForeignPast, sourceLocation: sourceLocation)
        namespace = .current
        process = try Self.start(
            arguments,
            in: scratch,
            debounce: debounce,
            takesCensus: takesCensus,
            connectivity: connectivity,
            inside: wrapper
        )
        try await wait()
    }

    /// Starts it without waiting; the words of `wrapper` become it in the end.
    static func start(
        _ arguments: [String] = [],
        in scratch: Scratch,
        debounce: String = "0s",
        takesCensus: Bool = false,
        connectivity: String = "off",
        inside wrapper: [String] = []
    ) throws -> RunningCommand {
        let usual =
            DaemonFiles.options(in: scratch, connectivity: connectivity) + ["--debounce", debounce]
            + (takesCensus ? [] : ["--no-mdns"])
        let listen =
            arguments.contains { $0.hasPrefix("unix:") } ? [] : ["--listen", "unix:" + scratch.file("api.sock")]
        let inside = ["nsenter", "--net=\(Namespace.current.path)"] + wrapper
        return try RunningCommand(inside + [try Place.program, "serve"] + usual + listen + arguments, captures: true)
    }

    /// Waits until it answers.
    func wait() async throws {
        await namespace.loop.eventually(within: .seconds(20), "an answer") { (try? get("/-/ready")) == "ok\n" }
    }

    /// Starts it again after it ended.
    func restart(
        _ arguments: [String] = [],
        takesCensus: Bool = false,
        connectivity: String = "off"
    ) async throws {
        process = try Self.start(arguments, in: scratch, takesCensus: takesCensus, connectivity: connectivity)
        try await wait()
    }

    /// Runs curl through the unix socket.
    func curl(_ arguments: [String]) throws -> String {
        LiveJSON.check(try Command.run(["curl", "-s", "--max-time", "60", "--unix-socket", socket] + arguments))
    }

    func get(_ path: String, _ arguments: [String] = []) throws -> String {
        guard arguments.isEmpty else { return try curl(arguments + ["http://localhost\(path)"]) }
        return LiveJSON.check(try UnixSocketClient.get(path, from: socket))
    }

    /// What `nwpath check` says, its exit status on a line of its own.
    func check(_ subject: String) throws -> String {
        try Command.run(["sh", "-c", "'\(try Place.program)' check \(subject) --socket '\(socket)'; echo $?"])
    }

    func json(_ path: String) throws -> JSONValue {
        let text = try UnixSocketClient.get(path, from: socket, fields: ["Accept: application/json"])
        return try JSONValue(parsing: LiveJSON.check(text))
    }

    /// A file with the schema of events.
    func eventSchema() throws -> String {
        try scratch.write(try get("/api/v1/schema/event.json"), to: "event-schema.json")
    }

    /// The status code of a request.
    func code(_ path: String, _ arguments: [String] = []) throws -> String {
        try get(path, ["-o", "/dev/null", "-w", "%{http_code}"] + arguments)
    }

    /// Starts curl on a stream, whose text goes to a file of the scratch directory.
    func stream(_ path: String, to name: String, _ arguments: [String] = []) throws -> RunningCommand {
        let words = ["-s", "-N", "--unix-socket", socket, "-o", files.stream(name)]
        return try RunningCommand(["curl"] + words + arguments + ["http://localhost\(path)"])
    }

    /// Ends it by a signal.
    func stop(_ signal: Int32 = SIGTERM) -> Outcome {
        process.signal(signal)
        return Self.outcome(of: process)
    }

    static func outcome(of process: RunningCommand) -> Outcome {
        do {
            return Outcome(code: 0, output: LiveJSON.check(try process.finish(), by: .command))
        } catch let failure as CommandFailure {
            return Outcome(code: failure.code, output: LiveJSON.check(failure.output, by: .command))
        } catch {
            return Outcome(code: -1, output: "\(error)")
        }
    }

    /// The records of the log; the line that is being written is none yet, for a reader may see a part of it.
    func records() throws -> [JSONValue] { try lines().map { try JSONValue(parsing: $0) } }

    /// The records of one kind; others, of which there may be thousands, are not parsed.
    func records(_ event: String) throws -> [JSONValue] {
        try lines().filter { $0.utf8.contains("\"\(event)\"".utf8) }.map { try JSONValue(parsing: $0) }
            .filter { $0["event"]?.string == event }
    }

    private func lines() throws -> [String] {
        let text = try scratch.text("events.jsonl")
        return String(text[..<(text.lastIndex(of: "\n") ?? text.startIndex)]).lines
    }

    /// Waits for a record of the log.
    func eventually(_ event: String, count: Int = 1) async throws {
        try await namespace.loop.eventually(within: .seconds(20), "\(count) of \(event)") {
            try records(event).count >= count
        }
    }
}

/// The usual network of a test: a veth pair with an address, and a default route on demand.
enum Uplink {
    static func make() throws {
        try Namespace.current.ipBatch([
            // No link-local address, whose check for duplicates would be told at any moment of a test.
            "link add up0 type veth peer name peer0", "link set up0 addrgenmode none",
            "link set peer0 addrgenmode none",
            "link set up0 up", "link set peer0 up",
            "addr add 192.0.2.2/24 dev up0",
        ])
        try Namespace.current.waitUntilRunning("up0")
    }

    static func connect() throws { try Namespace.current.ip("route replace default via 192.0.2.1") }
    static func disconnect() throws { try Namespace.current.ip("route del default via 192.0.2.1") }

    /// Adds and removes addresses for as long as the value lives; each is an event.
    static func load() throws -> RunningCommand {
        // A virtual link without a default route is left out everywhere (rule S15).
        try connect()
        let script = Place.fixtures + "/load.py"
        return try RunningCommand(["nsenter", "--net=\(Namespace.current.path)", "python3", script, "up0"])
    }
}
