// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A program whose output is looked at while it runs; it ends with this value.
public final class PrintingProgram {
    private let scratch: Scratch
    private var process: RunningCommand?

    /// Starts a command line in a namespace, or in that of the process.
    public init(_ words: [String], in namespace: Namespace? = nil) throws {
        scratch = try Scratch()
        let inside = namespace.map { ["nsenter", "--net=\($0.path)"] } ?? []
        process = try RunningCommand(inside + ["sh", "-c", "exec \"$@\" >'\(scratch.file("out"))' 2>&1", "sh"] + words)
    }

    /// Starts a program of the tests' Python in a namespace, or in that of the process; `say` in it prints a line.
    public convenience init(python program: String, _ words: [String] = [], in namespace: Namespace? = .current) throws
    {
        let say = "def say(*words): print(*words, flush=True)\n"
        try self.init([try PythonEnvironment.python.get(), "-c", say + program] + words, in: namespace)
    }

    /// Ends the program, and what it has started, without a word.
    public func kill() { process = nil }

    /// The lines that it has printed so far.
    public var lines: [String] { scratch.read("out").split(separator: "\n").map(String.init) }
}
