// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Netlink
import TestSupport
import Testing

@Suite struct ReplayCommandTests {
    private func replay(_ words: String...) throws -> (text: String, code: Int32) { try ReplayCommand.run(words) }

    @Test(arguments: ["carrier-loss", "overrun", "bridge-master"])
    func `the command prints what the machine publishes`(name: String) throws {
        let output = try ReplayOutput(try ReplayFixture.recording(name))
        let run = try replay(ReplayFixture.path(name))
        #expect(run.code == 0)
        #expect(run.text == String(decoding: output.lines, as: UTF8.self))
    }

    @Test func `the debounce can be chosen`() throws {
        let run = try replay(ReplayFixture.path("carrier-loss"), "--debounce", "5s")
        #expect(run.code == 0 && run.text.split(separator: "\n").count == 1)
    }

    @Test func `a bad file is one line with its place`() throws {
        let directory = try Command.run(["mktemp", "-d"]).split(separator: "\n").map(String.init)[0]
        defer { _ = try? Command.run(["rm", "-r", directory]) }
        let cases: [(text: String, message: String)] = [
            ("", "not a recording of nwpath (byte offset 0)"),
            ("{\"seq\":1}\n", "not a recording of nwpath (byte offset 0)"),
            ("nwpath-recording 2\n", "not a recording of nwpath (byte offset 0)"),
            ("nwpath-recording 1\nstart 1 2 L\nevent 3 xyz\n", "line 3, byte offset 31: not a frame of a recording"),
            ("nwpath-recording 1\nstart 1 2 L\n", "does not hold what the service read when it started"),
        ]
        for (number, entry) in cases.enumerated() {
            let file = "\(directory)/\(number)"
            try Command.run(["tee", file], input: entry.text)
            let run = try replay(file)
            #expect(run.code == 1)
            #expect(run.text == "nwpath: \(file): \(entry.message)\n")
        }
        let missing = try replay("\(directory)/none")
        #expect(missing.code == 1 && missing.text.hasPrefix("nwpath: \(directory)/none: cannot be read: "))
        let usage = try replay()
        #expect(usage.code == 2)
    }
}
