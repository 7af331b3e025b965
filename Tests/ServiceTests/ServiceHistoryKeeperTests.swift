// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
@testable import MulticastDNS
import TestSupport
import Testing

@testable import PathService

@Suite(.inNamespace) struct ServiceHistoryKeeperTests {
    private var loop: EventLoop { Namespace.current.loop }

    private func keeper(_ scratch: Scratch) -> ServiceHistoryKeeper {
        ServiceHistoryKeeper(loop: loop, clock: loop.clock, directory: scratch.path)
    }

    private func summary() -> CensusSummary {
        CensusSummary(
            duration: .zero,
            types: 0,
            services: 0,
            added: 0,
            changed: 0,
            removed: 0,
            unresolved: 0,
            interfaces: []
        )
    }

    @Test func `what is learnt is on the disk soon, without an end`() async throws {
        let scratch = try Scratch()
        let first = keeper(scratch)
        first.open()
        first.take(.added(try made("Lamp")), services: [])
        first.take(.added(try made("Other")), services: [])
        await loop.eventually("the file") { scratch.exists("services.jsonl") }
        #expect(try scratch.text("services.jsonl").lines.count == 3)
        #expect(try scratch.mode("services.jsonl").hasPrefix("640"))
        let second = keeper(scratch)
        second.open()
        #expect(second.history.entries.count == 2)
        #expect(try second.history.firstSeen(made("Lamp")) == first.history.firstSeen(made("Lamp")))
        #expect(first.problem == nil && second.problem == nil)
    }

    @Test func `the end writes at once what there is, in one go`() async throws {
        let scratch = try Scratch()
        let first = keeper(scratch)
        first.open()
        for number in 0..<300 { first.take(.added(try made("n\(number)")), services: []) }
        first.close(services: [])
        #expect(!scratch.exists("services.jsonl.new"))
        let second = keeper(scratch)
        second.open()
        #expect(second.history.entries.count == 300)
        second.close(services: [])
        #expect(try scratch.text("services.jsonl").lines.count == 301)
    }

    @Test func `a census alone writes nothing but once in ten minutes`() async throws {
        let scratch = try Scratch()
        let first = keeper(scratch)
        let lamp = try made("Lamp")
        first.take(.added(lamp), services: [])
        first.close(services: [lamp])
        let before = try Command.run(["stat", "-c", "%i", scratch.file("services.jsonl")])
        first.take(.censusCompleted(summary()), services: [lamp])
        #expect(!first.history.hasNews)
        #expect(try Command.run(["stat", "-c", "%i", scratch.file("services.jsonl")]) == before)
    }

    @Test(arguments: ["", "hello\n", "{\"schema\":\"other/1\"}\n"])
    func `a foreign file is kept beside`(text: String) async throws {
        let scratch = try Scratch()
        try scratch.write(text, to: "services.jsonl")
        let first = keeper(scratch)
        first.open()
        #expect(try scratch.text("services.jsonl.foreign") == text)
        #expect(first.problem?.hasSuffix("services.jsonl.foreign") == true)
        first.take(.added(try made("Lamp")), services: [])
        first.close(services: [])
        #expect(try scratch.text("services.jsonl").lines.count == 2)
        #expect(first.problem == nil)
    }

    @Test(arguments: ["mkfifo", "mkdir", "ln -s /etc/passwd", "ln -s /dev/zero", "cp /bin/bash"])
    func `nothing that stands in its place stops or misleads it`(command: String) async throws {
        let scratch = try Scratch()
        try Command.run(command.split(separator: " ").map(String.init) + [scratch.file("services.jsonl")])
        let first = keeper(scratch)
        first.open()
        #expect(first.history.entries.isEmpty)
        #expect(first.problem != nil)
        first.take(.added(try made("Lamp")), services: [])
        first.close(services: [])
        #expect(try Command.run(["head", "-c", "5", "/etc/passwd"]) == "root:")
        let second = keeper(scratch)
        second.open()
        #expect(second.history.entries.count == 1, "\(second.problem ?? "")")
    }

    @Test func `a directory that is gone is told, and mended when it is back`() async throws {
        let scratch = try Scratch()
        let first = ServiceHistoryKeeper(loop: loop, clock: loop.clock, directory: scratch.file("state"))
        first.open()
        #expect(first.problem == nil)
        first.take(.added(try made("Lamp")), services: [])
        first.close(services: [])
        #expect(first.problem?.contains("cannot be written") == true)
        #expect(first.history.hasNews)
        try Command.run(["mkdir", scratch.file("state")])
        first.close(services: [])
        #expect(first.problem == nil && scratch.exists("state/services.jsonl"))
    }

    @Test func `a file that is not allowed to be read stays, and is told`() async throws {
        // Root reads everything, so a file of endless length stands for it: what is too long is not ours.
        let scratch = try Scratch()
        try Command.run(["truncate", "-s", "9M", scratch.file("services.jsonl")])
        let first = keeper(scratch)
        first.open()
        #expect(first.problem?.contains("was not a service history") == true)
        #expect(scratch.exists("services.jsonl.foreign"))
    }
}
