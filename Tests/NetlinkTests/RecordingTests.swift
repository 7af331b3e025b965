// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport
import Testing

@Suite(.inNamespace) struct RecordingTests {
    private let namespace = Namespace.current
    private let scratch: Scratch
    private var path: String { scratch.file("recording") }

    init() throws { scratch = try Scratch() }

    @Test func `what was asked and heard is answered and told again`() async throws {
        let peer = try namespace.uplink()
        let recorder = try NetlinkRecorder(path: path)
        let kernel = try LiveKernel()
        let monitor = try KernelMonitor(loop: namespace.loop)
        kernel.recorder = recorder
        monitor.recorder = recorder
        var heard: [EventBatch] = []
        monitor.onEvents = { heard.append($0) }
        try monitor.start()
        let query = RouteQuery(.of("1.1.1.1"), kind: .entry)
        let asked = { (source: any KernelSource) in
            (try source.links(), try source.addresses(), try source.link(named: "v0"), source.lookup(query))
        }
        let before = try asked(kernel)
        try namespace.ip("route add default via 192.0.2.1 dev v0")
        try namespace.ip("link set v0 mtu 1400")
        await namespace.loop.eventually("both events") { heard.flatMap(\.notices).count >= 2 }
        let after = try asked(kernel)
        #expect(before.3 == .failure(.noRoute) && (try? after.3.get())?.nexthops.count == 1)
        monitor.stop()
        recorder.finish()

        let recording = try NetlinkRecording(path: path)
        #expect(!recording.isTorn && recording.entries.last?.frame == .end)
        let replayed = RecordedKernel(recording)
        #expect(try asked(replayed) == before)
        var told: [EventBatch] = []
        while let step = replayed.next() {
            if case .events(let batch) = step { told.append(batch) }
        }
        #expect(told.map(\.notices) == heard.map(\.notices))
        #expect(told.map(\.boot) == heard.map(\.boot))
        #expect(zip(told, heard).allSatisfy { abs(($0.wall - $1.wall).nanoseconds) < 100_000_000 })
        #expect(try asked(replayed) == after)
        #expect(throws: NetlinkError.notRecorded(request: MessageType(rawValue: 34))) { try replayed.rules() }
        #expect(replayed.lookup(RouteQuery(.of("9.9.9.9"), kind: .entry)) == .failure(.other(61)))
        withExtendedLifetime(peer) {}
    }

    @Test func `a recording that is full stops without harm`() async throws {
        let recorder = try NetlinkRecorder(path: path, maximumSize: 2000)
        let kernel = try LiveKernel()
        kernel.recorder = recorder
        for _ in 0..<5 { #expect(try kernel.links().values.count == 1) }
        #expect(recorder.failure == .noSpace)
        #expect(recorder.size <= 2000)
        recorder.finish()
        #expect(try NetlinkRecording(path: path).entries.count >= 1)
    }

    @Test func `a disk that is full stops the recording without harm`() async throws {
        func refusal(_ path: String, _ reason: Errno) -> FileRefusal { FileRefusal(path: path, cause: .failed(reason)) }
        #expect(throws: refusal("/dev/full", .noSpace)) { try NetlinkRecorder(path: "/dev/full") }
        #expect(throws: refusal("/nowhere/at", .noEntry)) { try NetlinkRecorder(path: "/nowhere/at/all") }
    }

    @Test func `a link that lies in wait is refused, and what it leads to stays whole`() throws {
        let scratch = try Scratch()
        try Command.run(["install", "-d", "-m", "1777", scratch.file("tmp")])
        let marker = try scratch.write("marker", to: "marker")
        try Command.run(["ln", "-s", marker, scratch.file("tmp/recording")])
        let refusal = FileRefusal(path: scratch.file("tmp/recording"), cause: .link)
        #expect(throws: refusal) { try NetlinkRecorder(path: scratch.file("tmp/recording")) }
        #expect(try scratch.text("marker") == "marker")
        // An earlier recording of our own is emptied.
        try scratch.write(String(repeating: "old", count: 1000), to: "tmp/own")
        try NetlinkRecorder(path: scratch.file("tmp/own")).finish()
        #expect(try !scratch.text("tmp/own").contains("old"))
    }
}

@Suite struct RecordingFormatTests {
    private static let start = "nwpath-recording 1\nstart 1000 1795176000000000000 Linux 6.18.44 x\n"

    private func recording(_ text: String) throws(RecordingError) -> NetlinkRecording {
        try NetlinkRecording(bytes: Array((Self.start + text).utf8))
    }

    @Test func `reads every kind of frame`() throws {
        let recording = try recording(
            "# a comment\n\nevent 2000 00fF10\nlost 3000\nask 4000 18:768:0a00 ok 100001,1100\nask 5000 26:0: torn \n"
                + "ask 6000 26:0: stopped 1000\nask 7000 26:0: error=101 \nend 8000\n"
        )
        let question = Question(type: 26, flags: 0, body: [])
        let frames: [RecordedFrame] = [
            .start(wall: 1_795_176_000_000_000_000, kernel: "Linux 6.18.44 x"), .event([0, 255, 16]), .lost,
            .exchange(
                Question(type: 18, flags: 768, body: [10, 0]),
                [RecordedMessage(type: 16, body: [1]), RecordedMessage(type: 17, body: [])],
                .completed(.done(isConsistent: true))
            ),
            .exchange(question, [], .completed(.done(isConsistent: false))),
            .exchange(question, [RecordedMessage(type: 16, body: [])], .completed(.stopped)),
            .exchange(question, [], .failed(101)), .end,
        ]
        #expect(recording.entries.map(\.frame) == frames)
        #expect(recording.entries.map { $0.boot.nanoseconds } == (1...8).map { $0 * 1000 })
        #expect(recording.wall(at: .nanoseconds(1500)).nanoseconds == 1_795_176_000_000_000_500)
    }

    @Test(arguments: ["event 2000 00", "ask 4000 18:768:0a00 ok 10", "lo"])
    func `a torn tail is left out`(tail: String) throws {
        let recording = try recording("lost 1500\n" + tail)
        #expect(recording.isTorn)
        #expect(recording.entries.count == 2)
    }

    @Test(arguments: [
        "event 2000 0", "event 2000 0g", "event x 00", "event -5 00", "event 2000", "event", "lost", "lost 1 2",
        "start 1000", "start 1000 x", "ask 1 18:0:00 ok", "ask 1 18:0 ok 10", "ask 1 99999:0: ok ", "ask 1 18:0:0 ok ",
        "ask 1 18:0: well ", "ask 1 18:0: error=x ", "ask 1 18:0: ok 10", "ask 1 18:0: ok 1000,1", "other 1", "end 1 2",
        "end 99999999999999999999",
    ])
    func `a line that is no frame is told with its place`(line: String) {
        let offset = Self.start.utf8.count + "lost 1\n".utf8.count
        #expect(throws: RecordingError.malformed(line: 4, offset: offset)) {
            try recording("lost 1\n\(line)\nlost 2\n")
        }
    }

    @Test(arguments: ["", "nwpath-recording 2\n", "{\"seq\":1}\n", "nwpath-recording 1"])
    func `another file is told as such`(text: String) {
        #expect(throws: RecordingError.foreign) { try NetlinkRecording(bytes: Array(text.utf8)) }
    }

    @Test func `a file that is not there or too large is told`() {
        #expect(throws: RecordingError.unreadable(.noEntry)) { try NetlinkRecording(path: "/nowhere/at/all") }
        #expect(throws: RecordingError.tooLarge(limit: 1000)) { try NetlinkRecording(path: "/dev/zero", limit: 1000) }
    }

    @Test(arguments: [[], [0], [255, 1, 16, 160]] as [[UInt8]])
    func `hexadecimal goes round trip`(bytes: [UInt8]) {
        var line: [UInt8] = []
        RecordingFormat.append(bytes.span, to: &line)
        #expect(line.count == 2 * bytes.count)
        #expect(RecordingFormat.bytes(line) == bytes)
    }
}

@Suite struct RecordedKernelTests {
    private static func lookup(_ seconds: Int, error: Int32) -> String {
        let question = Question.lookup(RouteQuery(.of("1.1.1.1"), kind: .entry))
        var body: [UInt8] = []
        RecordingFormat.append(question.body.span, to: &body)
        let time = "\(seconds)000000000"
        return
            "ask \(time) \(question.type):\(question.flags):\(String(decoding: body, as: UTF8.self)) error=\(error) \n"
    }

    private func kernel(_ frames: String) throws -> RecordedKernel {
        RecordedKernel(try NetlinkRecording(bytes: Array("nwpath-recording 1\nstart 0 0 Linux\n\(frames)".utf8)))
    }

    private func failure(of kernel: RecordedKernel) -> RouteFailure? {
        if case .failure(let failure) = kernel.lookup(RouteQuery(.of("1.1.1.1"), kind: .entry)) { failure } else { nil }
    }

    @Test func `answers come in their order, and the last one stays`() throws {
        let kernel = try kernel(
            Self.lookup(0, error: 101) + Self.lookup(0, error: 13) + "lost 5000000000\nend 9000000000\n"
        )
        #expect(failure(of: kernel) == .noRoute)
        #expect(failure(of: kernel) == .prohibited)
        #expect(failure(of: kernel) == .prohibited)
        #expect(kernel.next() == .resync(boot: .seconds(5)))
        #expect(failure(of: kernel) == .prohibited)
    }

    @Test func `an answer of the future is not given yet`() throws {
        let kernel = try kernel(Self.lookup(0, error: 101) + Self.lookup(30, error: 13))
        #expect(failure(of: kernel) == .noRoute)
        #expect(failure(of: kernel) == .noRoute)
        kernel.now = .seconds(30)
        #expect(failure(of: kernel) == .prohibited)
    }

    @Test func `an answer from before an event is history after it`() throws {
        let kernel = try kernel(
            Self.lookup(0, error: 101) + Self.lookup(1, error: 22) + "lost 5000000000\n" + Self.lookup(5, error: 13)
        )
        #expect(failure(of: kernel) == .noRoute)
        #expect(kernel.next() == .resync(boot: .seconds(5)))
        #expect(kernel.now == .seconds(5))
        #expect(failure(of: kernel) == .prohibited)
    }

    @Test func `datagrams read together come together, and what says nothing has its time`() throws {
        var link: [UInt8] = []
        let message = Builder.link(index: 2).attribute(3, "v0").attribute(4, 0).message(type: 16)
        RecordingFormat.append(message.span, to: &link)
        let event = String(decoding: link, as: UTF8.self)
        let kernel = try kernel(
            "event 7000 \(event)\nevent 7000 \(event)\nevent 8000 \nevent 9000 \(event)\nend 9500\n"
        )
        let notice = KernelNotice(
            type: MessageType(rawValue: 16),
            event: .link(Link(index: 2, name: "v0", mtu: 0))
        )
        let batch = { (time: Int64, count: Int) in
            RecordedKernel.Step.events(
                EventBatch(
                    notices: [KernelNotice](repeating: notice, count: count),
                    boot: .nanoseconds(time),
                    wall: WallTime(nanoseconds: time)
                )
            )
        }
        #expect(kernel.nextTime == .nanoseconds(7000))
        #expect(kernel.next() == batch(7000, 2))
        #expect(kernel.nextTime == .nanoseconds(8000))
        #expect(kernel.advance() == batch(8000, 0))
        #expect(kernel.next() == batch(9000, 1))
        #expect(kernel.nextTime == .nanoseconds(9500))
        #expect(kernel.next() == .end(boot: .nanoseconds(9500)))
        #expect(kernel.next() == nil)
        #expect(kernel.nextTime == nil)
    }
}
