// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import TestSupport
import Testing

/// The sample of the article about MultipeerConnectivity: each peer a process of its own in a namespace of its own.
@Suite(.inNamespace) struct PeerArticleTests {
    private let bridge: Bridge
    private let loop = Namespace.current.loop

    init() throws { bridge = try Bridge(hosts: 3) }

    private func expect(_ program: Program, line: String, times: Int = 1) async {
        await loop.eventually("\(times) times '\(line)'", found: program.lines) {
            program.lines.count { $0 == line } >= times
        }
    }

    private func join(_ names: [String]) async throws -> [Program] {
        let programs = try zip(names, bridge.hosts).map { try Program("ArticlePrograms", "join-room", $0, in: $1) }
        for (name, program) in zip(names, programs) {
            for other in names where other != name { await expect(program, line: "nearby: \(other)") }
        }
        return programs
    }

    @Test func `three peers meet in a room, talk, and send a picture`() async throws {
        let programs = try await join(["iPad", "iPhone", "iMac"])
        programs[0].type("/invite iPhone")
        await expect(programs[0], line: "room: iPhone")
        programs[0].type("/invite iMac")
        await expect(programs[0], line: "room: iMac,iPhone")
        await expect(programs[1], line: "room: iMac,iPad")
        await expect(programs[2], line: "room: iPad,iPhone")
        #expect(programs[1].lines.contains("invited by iPad"))
        programs[1].type("hello, everybody")
        await expect(programs[0], line: "iPhone: hello, everybody")
        await expect(programs[2], line: "iPhone: hello, everybody")
        let scratch = try Scratch()
        let picture = scratch.file("picture.jpg")
        try Command.run(["dd", "if=/dev/urandom", "of=\(picture)", "bs=1000", "count=2500"])
        let name = (picture as NSString).lastPathComponent
        programs[2].type("/picture iPad \(picture)")
        await expect(programs[0], line: "receiving \(name) of 2500000 bytes")
        await expect(programs[0], line: "picture \(name) of 2500000 bytes from iMac")
        await expect(programs[2], line: "sent \(name)")
        #expect(!programs[1].lines.contains { $0.contains(name) })
        programs[0].type("/leave")
        await expect(programs[1], line: "room: iMac")
        await expect(programs[2], line: "room: iPhone")
    }

    @Test func `who is not wanted stays outside, and who is killed is gone`() async throws {
        let programs = try await join(["iPad", "iPhone", "Stranger"])
        programs[2].type("/invite iPad")
        await expect(programs[0], line: "invited by Stranger")
        await expect(programs[2], line: "room: ")
        #expect(!programs[0].lines.contains { $0.hasPrefix("room: S") })
        programs[1].type("/invite iPad")
        await expect(programs[0], line: "room: iPhone")
        programs[1].kill()
        await expect(programs[0], line: "room: ")
        await expect(programs[0], line: "gone: iPhone")
    }
}
