// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import ServiceSupport
import TestSupport
import Testing

/// Commands of a document: the fenced blocks marked `sh test`.
enum TestableBlocks {
    static func blocks(of document: String) throws -> [String] {
        var blocks: [String] = []
        var block: [String]?
        for line in try Command.run(["cat", "\(Place.root)/\(document)"]).split(
            separator: "\n",
            omittingEmptySubsequences: false
        ) {
            if line == "```sh test" {
                block = []
            } else if line == "```", let found = block {
                blocks.append(found.joined(separator: "\n"))
                block = nil
            } else {
                block?.append(String(line))
            }
        }
        return blocks
    }
}

/// What the documents tell people to type works as it stands there, beside a service with the standard addresses.
@Suite(.inNamespace) struct ReadmeTests {
    @Test(
        arguments: [
            "README.md", "docs/api.md", "docs/events.md", "docs/metrics.md", "docs/configuration.md", "docs/mdns.md",
            "docs/traffic.md",
        ]
    )
    func `the commands of the documents work`(document: String) async throws {
        try Uplink.make()
        try Uplink.connect()
        let scratch = try Scratch()
        let home = scratch.file("home")
        // The log lies where an ordinary user has it.
        try Command.run(["mkdir", "-p", "\(home)/.local/state/nwpath", "\(home)/.config/nwpath"])
        try Command.run(["ln", "-s", try Place.program, scratch.file("nwpath")])
        let listen = [
            "--listen", "127.0.0.1:8353", "--listen", "[::1]:8353", "--listen", "unix:" + scratch.file("api.sock"),
        ]
        let service = try await Service(
            listen + ["--log-file", "\(home)/.local/state/nwpath/events.jsonl"],
            in: scratch
        )
        for block in try TestableBlocks.blocks(of: document) {
            // A reader that would go on for ever is stopped after a moment.
            let tail = "tail() { timeout 1 tail \"$@\" || [ $? -eq 124 ]; }\n"
            let script = "set -e\n" + tail + block
            let words = [
                "nsenter", "--net=\(Namespace.current.path)", "env", "-C", scratch.path, "HOME=\(home)",
                "SOCKET=\(service.socket)", "NWPATH_URL=http://127.0.0.1:8353",
                "XDG_RUNTIME_DIR=\(scratch.path)",
                "PATH=\(scratch.path):/usr/bin:/bin:/usr/sbin:/sbin",
                "timeout", "20", "bash", "-o", "pipefail", "-c", script,
            ]
            let outcome = Service.outcome(of: try RunningCommand(words, captures: true))
            #expect(outcome.code == 0, "\(document): \(block)\n\(outcome.output)")
            #expect(!outcome.output.isEmpty, "\(document): \(block)")
        }
        LiveJSON.check(log: "\(home)/.local/state/nwpath/events.jsonl")
    }
}
