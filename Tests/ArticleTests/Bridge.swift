// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import TestSupport

/// Hosts on a bridge, each a namespace; the bridge is in that of the test.
struct Bridge {
    let hosts: [Namespace]
    var left: Namespace { hosts[0] }
    var right: Namespace { hosts[1] }

    /// Lays the cables, and gives each host an address.
    init(hosts count: Int = 2) throws {
        let here = Namespace.current
        hosts = try (0..<count).map { _ in try Namespace() }
        try here.ip("link add br0 type bridge")
        try here.set("br0", isUp: true)
        for (host, number) in zip(hosts, 1...) {
            try here.connect("p\(number)", to: host, as: "eth0")
            try here.ip("link set p\(number) master br0")
            try host.ip("addr add 10.55.0.\(number)/24 dev eth0")
        }
    }
}

/// A program in a namespace, with the lines it has printed so far; it ends with this value.
final class Program {
    private let command: RunningCommand
    private let scratch: Scratch
    private let input: FileHandle?

    /// Starts a program that was built beside the tests.
    convenience init(_ name: String, _ words: String..., in namespace: Namespace) throws {
        try self.init(running: [try Self.path(of: name)] + words, in: namespace)
    }

    /// Starts a command line.
    init(running words: [String], in namespace: Namespace) throws {
        scratch = try Scratch()
        let (typed, printed) = (scratch.file("in"), scratch.file("out"))
        // Open at both ends, so that nobody waits for the other and the program's input has no end.
        try Command.run(["mkfifo", typed])
        let shell = ["sh", "-c", "exec \"$@\" <>'\(typed)' >'\(printed)' 2>&1", "sh"] + words
        input = FileHandle(forUpdatingAtPath: typed)
        command = try RunningCommand(["nsenter", "--net=\(namespace.path)"] + shell)
    }

    deinit {
        command.signal(SIGKILL)
        _ = command.wait()
    }

    /// Types a line.
    func type(_ line: String) { input?.write(Data((line + "\n").utf8)) }

    /// Ends the program as nothing else does.
    func kill() { command.signal(SIGKILL) }

    /// What it printed.
    var lines: [String] {
        scratch.read("out").split(separator: "\n").map(String.init)
    }

    /// Asks the program to end, and waits.
    func interrupt() -> Int32 {
        command.signal(SIGTERM)
        return command.wait()
    }

    private static func path(of name: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let beside = (tests as NSString).deletingLastPathComponent + "/" + name
        if FileManager.default.isExecutableFile(atPath: beside) { return beside }
        let root = String(#filePath.dropLast("/Tests/ArticleTests/Bridge.swift".count))
        return root + "/.build/debug/" + name
    }
}
