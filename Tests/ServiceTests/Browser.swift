// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

/// A real browser that looks at the status page of the test's namespace (Fixtures/browser.py).
final class Browser {
    /// Where the service listens for it.
    static let address = "127.0.0.1:18353"

    private let process: RunningCommand
    private let scratch: Scratch
    private var pictures = 0

    /// Starts checks, with commas between them; ``finish()`` waits for their end.
    init(_ checks: String, in scratch: Scratch) throws {
        self.scratch = scratch
        let words = [Place.fixtures + "/browser.py", checks, "http://\(Self.address)/", scratch.path]
        let inside = ["nsenter", "--net=\(Namespace.current.path)", "env", "HOME=\(scratch.path)", "PYTHONUTF8=1"]
        // A browser that is killed leaves its profile behind.
        let python = ["TMPDIR=\(scratch.path)", try PythonEnvironment.python.get()]
        process = try RunningCommand(inside + python + words, captures: true)
    }

    /// Waits for a mark that the check makes, or for its failure.
    @discardableResult
    func reached(_ mark: String) async -> Bool {
        await Namespace.current.loop.eventually(within: .seconds(300), "the browser at '\(mark)'") {
            scratch.exists(mark) || scratch.exists("failed")
        }
        return scratch.exists(mark)
    }

    /// Has the check `states` look at the page once its headline is this one, in every width and colour.
    func look(at word: String) async throws {
        pictures += 1
        let name = word.lowercased().split(separator: " ").joined(separator: "-")
        try scratch.write("\(pictures)-\(name)\n\(word)", to: "look.new")
        try Command.run(["mv", scratch.file("look.new"), scratch.file("look")])
        await reached("looked-\(pictures)")
    }

    /// Waits for the end of the checks, none of which may have failed, and keeps the pictures where the caller of the
    /// suite wants them.
    func finish() throws {
        if pictures > 0 { try scratch.write("", to: "look.end") }
        let outcome = Service.outcome(of: process)
        #expect(outcome.code == 0, "\(outcome.output)")
        guard let folder = unsafe getenv("NWPATH_TEST_SCREENSHOTS") else { return }
        let copy = "mkdir -p \"$0\" && find \"$1\" -maxdepth 1 -name '*.png' -exec cp -t \"$0\" {} +"
        try Command.run(["sh", "-c", copy, unsafe String(cString: folder), scratch.path])
    }
}
