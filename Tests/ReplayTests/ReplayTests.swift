// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import Netlink
import OrderedJSON
import PathEngine
import PathModel
import ServiceSupport
import TestSupport
import Testing

@Suite struct ReplayTests {
    @Test(arguments: ReplayFixture.names)
    func `a recorded situation leads to the events of the day`(name: String) throws {
        let output = try ReplayOutput(try ReplayFixture.recording(name))
        let summary = try output.events.map { event in
            let record = try JSONValue(parsing: Array(event.json))
            let changed = record["changed"]?.array?.compactMap(\.string) ?? []
            let parts =
                [event.name.rawValue, event.message] + (changed.isEmpty ? [] : [changed.joined(separator: ",")])
            return parts.joined(separator: "\t")
        }
        #expect(try summary == ReplayFixture.expected(name))
        LiveJSON.check(String(decoding: output.lines, as: UTF8.self))
    }

    @Test(arguments: ReplayFixture.names)
    func `two replays are the same to the byte`(name: String) throws {
        let recording = try ReplayFixture.recording(name)
        #expect(try ReplayOutput(recording).lines == ReplayOutput(recording).lines)
    }

    @Test(arguments: ReplayFixture.names)
    func `events are numbered from 1, at times of the recording that never go back`(name: String) throws {
        let recording = try ReplayFixture.recording(name)
        let output = try ReplayOutput(recording)
        #expect(output.events.map(\.sequence) == Array(1...UInt64(output.events.count)))
        let times = output.events.map(\.time)
        #expect(times == times.sorted())
        let first = try #require(recording.entries.first?.boot)
        let last = try #require(recording.entries.last?.boot)
        #expect(times.allSatisfy { recording.wall(at: first) <= $0 && $0 <= recording.wall(at: last) })
        #expect(output.advances == output.advances.sorted())
    }

    @Test(arguments: ["carrier-loss", "failover", "link-deleted", "dual-stack-loss", "route-replaced"])
    func `without debounce the end is the same`(name: String) throws {
        let recording = try ReplayFixture.recording(name)
        let eager = try ReplayOutput(recording, settings: EngineSettings(quiet: .zero, cap: .zero))
        let usual = try ReplayOutput(recording)
        #expect(eager.engine.core.monitors.map(\.path) == usual.engine.core.monitors.map(\.path))
        #expect(eager.events.count >= usual.events.count)
    }

    @Test func `a debounce longer than an outage hides it`() throws {
        let recording = try ReplayFixture.recording("carrier-loss")
        let patient = try ReplayOutput(recording, settings: EngineSettings(quiet: .seconds(5), cap: .seconds(5)))
        #expect(patient.events.map(\.name.rawValue) == ["path.snapshot"])
    }

    @Test func `the policy of the reader counts, not that of the recorded machine`() throws {
        let recording = try ReplayFixture.recording("failover")
        let policy = PathPolicy(requiresVPN: true)
        let output = try ReplayOutput(recording, settings: EngineSettings(policy: policy))
        #expect(output.events.first?.message == "Path default is unsatisfied: the configuration requires a VPN")
    }

    @Test func `lost messages lead to a resync`() throws {
        let output = try ReplayOutput(try ReplayFixture.recording("overrun"))
        #expect(output.engine.overruns == 1)
        #expect(output.updates.contains { $0.cause.kind == .resync })
        #expect(output.events.contains { $0.name == .netlinkOverrun })
    }

    @Test func `the promise of a router runs out without an event of the kernel`() throws {
        let output = try ReplayOutput(try ReplayFixture.recording("advertisement-expires"))
        let last = try #require(output.updates.last { !$0.paths.isEmpty })
        #expect(last.cause.kind == .expiry && last.cause.source == "timer")
        #expect(last.paths.first?.change.current.status == .unsatisfied)
    }
}

@Suite(.computing) struct BrokenRecordingTests {
    private static let header = "nwpath-recording 1\n"

    @Test func `a recording without the first reading is refused`() throws {
        let recording = try NetlinkRecording(bytes: Array((Self.header + "start 1 2 Linux\nend 5\n").utf8))
        #expect(throws: NetlinkError.self) { try ReplayOutput(recording) }
    }

    @Test func `an empty recording is refused`() throws {
        let recording = try NetlinkRecording(bytes: Array(Self.header.utf8))
        #expect(throws: NetlinkError.self) { try ReplayOutput(recording) }
    }

    @Test(arguments: ["carrier-loss", "failover", "overrun"])
    func `a recording cut after any line replays up to there`(name: String) throws {
        let lines = try ReplayFixture.text(ReplayFixture.path(name)).split(separator: "\n").map(String.init)
        let whole = try ReplayOutput(try ReplayFixture.recording(name)).events.map(\.message)
        let first = try #require(lines.firstIndex { $0.hasPrefix("event") || $0.hasPrefix("lost") })
        for count in first...lines.count {
            let text = lines[..<count].joined(separator: "\n") + "\n"
            let output = try ReplayOutput(try NetlinkRecording(bytes: Array(text.utf8)))
            #expect(output.events.first?.message == whole.first)
        }
    }

    @Test(arguments: 0..<20)
    func `damage leads to an error or to some replay, never to a crash`(seed: Int) throws {
        var bytes = Array(try ReplayFixture.text(ReplayFixture.path("failover")).utf8)
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        for _ in 0..<30 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let place = Self.header.utf8.count + Int(state >> 33) % (bytes.count - Self.header.utf8.count)
            // Digits stay digits, so that the damage reaches the messages.
            if bytes[place] >= 48 { bytes[place] = 48 + UInt8(state >> 28 & 7) }
        }
        guard let recording = try? NetlinkRecording(bytes: bytes) else { return }
        let output = try? ReplayOutput(recording)
        #expect(output.map { !$0.events.isEmpty } ?? true)
    }

    @Test(arguments: ["lost 4611686018427387904", "event 9223372036854775807 00", "start 1 9223372036854775807 L"])
    func `times that no clock shows are refused`(line: String) {
        #expect(throws: RecordingError.malformed(line: 2, offset: 19)) {
            try NetlinkRecording(bytes: Array("\(Self.header)\(line)\n".utf8))
        }
    }

    @Test func `a gap of years does not hang`() throws {
        let text = try ReplayFixture.text(ReplayFixture.path("failover"))
        let lines = text.split(separator: "\n").dropLast().map(String.init) + ["end 4600000000000000000"]
        let recording = try NetlinkRecording(bytes: Array(lines.joined(separator: "\n").utf8) + [10])
        let expected = try ReplayFixture.expected("failover").count
        #expect(try ReplayOutput(recording).events.count == expected)
    }
}
