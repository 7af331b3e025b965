// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

/// The options of `nwpath replay`.
@Suite struct ReplayOptionTests {
    private func replay(_ words: String...) throws -> (text: String, code: Int32) { try replay(words) }

    private func replay(_ words: [String]) throws -> (text: String, code: Int32) { try ReplayCommand.run(words) }

    private func events(_ text: String) throws -> [String] {
        try text.split(separator: "\n").map { try JSONValue(parsing: String($0))["event"]?.string ?? "" }
    }

    @Test func `a configuration shapes what is seen`() throws {
        let scratch = try Scratch()
        let file = ReplayFixture.path("carrier-loss")
        let usual = try replay(file)
        let debug = try scratch.write("log: {level: debug}\n", to: "debug.yaml")
        let more = try replay(file, "--config", debug)
        let isDebug = { (line: Substring) in line.contains(#""severity":"debug""#) }
        let lines = more.text.split(separator: "\n")
        let names = try events(lines.filter { !isDebug($0) }.joined(separator: "\n"))
        #expect(try more.code == 0 && names == events(usual.text))
        let details = try events(lines.filter(isDebug).joined(separator: "\n"))
        #expect(Set(details) == ["interface.changed", "gateway.changed"])
        let monitors = try scratch.write("monitors: {wifi: {required_type: wifi}}\n", to: "monitors.yaml")
        let two = try replay(file, "--config", monitors)
        #expect(two.text.contains(#""monitor":"wifi""#) && !usual.text.contains(#""monitor":"wifi""#))
        let bad = try scratch.write("x: 1\n", to: "bad.yaml")
        let refused = try replay(file, "--config", bad)
        #expect(refused.code == 2 && refused.text == "nwpath: \(bad):1:1: unknown key 'x'\n")
    }

    @Test func `a recording that was cut is replayed to its last whole line, and says so unless -q`() throws {
        let scratch = try Scratch()
        let whole = try ReplayFixture.text(ReplayFixture.path("carrier-loss"))
        let torn = try scratch.write(String(whole.dropLast(7)), to: "torn.rec")
        let told = try replay(torn)
        let message = "nwpath: \(torn): ends in the middle of a line, which is left out\n"
        #expect(told.code == 0 && told.text.hasPrefix(message))
        let events = String(told.text.dropFirst(message.count))
        #expect(try !events.isEmpty && replay(ReplayFixture.path("carrier-loss")).text.hasPrefix(events))
        let quiet = try replay(torn, "-q")
        #expect(quiet.code == 0 && quiet.text == "")
    }

    @Test func `two replays are the same to the byte, and JSON is what a pipe gets anyway`() throws {
        let file = ReplayFixture.path("failover")
        let first = try replay(file, "--debounce", "0")
        #expect(first == (try replay(file, "--json", "--debounce=0")))
        #expect(try events(first.text).contains("path.changed"))
        let values = try first.text.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
        #expect(values.compactMap { $0["seq"]?.int } == Array(1...values.count))
        #expect(values.allSatisfy { $0["stream"]?.string == "00000000" && $0["host"]?.string == "replay" })
    }

    @Test(arguments: [
        (["--debounce", "fast", "x"], "--debounce is 'fast', expected a duration"),
        (["--config"], "--config needs a value, a path"), (["x", "y"], "unexpected argument 'y'"),
        (["--socket", "x", "y"], "unknown option '--socket'"), (["--real-tim", "x"], "did you mean '--real-time'?"),
    ])
    func `a wrong line is one line with 2`(words: [String], message: String) throws {
        let run = try replay(words)
        #expect(run.code == 2 && run.text.contains(message), "\(run.text)")
        #expect(run.text.split(separator: "\n").count == 1)
    }
}
