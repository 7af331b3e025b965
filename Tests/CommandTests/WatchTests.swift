// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

@Suite(.inNamespace) struct WatchCommandTests {
    private var loop: EventLoop { Namespace.current.loop }

    private func started() async throws -> Service {
        let service = try Service()
        try service.connect()
        try await service.start()
        return service
    }

    @Test func `begins with the state and goes on with every event`() async throws {
        let service = try await started()
        let watch = try service.tool.launch("watch", "--json", "--socket", service.socket)
        await loop.eventually("the snapshot") { watch.lines.count == 1 }
        try Namespace.current.ip("route del default")
        await loop.eventually("the change") { watch.output.contains("\"path.changed\"") }
        let objects = try watch.objects
        #expect(objects[0]["schema"]?.string == "nwpath.status/1")
        let numbers = objects.compactMap { $0["seq"]?.uint64 }
        #expect(numbers == Array(numbers[0]..<(numbers[0] + UInt64(numbers.count))))
        let change = objects.first { $0["event"]?.string == "path.changed" }
        #expect(change?["path"]?["unsatisfied_reason"]?.string == "no_default_route")
        #expect(objects.dropFirst().allSatisfy { $0["schema"]?.string == "nwpath.event/1" })
    }

    @Test func `tells each event in a line`() async throws {
        let service = try await started()
        let watch = try service.tool.launch("watch", "--socket", service.socket, "--event", "path.*")
        await loop.eventually("the snapshot") { watch.lines.count == 1 }
        #expect(watch.output.hasPrefix("? Connected: "))
        try Namespace.current.ip("route del default")
        await loop.eventually("the loss") { watch.lines.count == 2 }
        #expect(watch.lines[1].hasSuffix(" ✗ path.changed       Path default is unsatisfied: no default route"))
        try Namespace.current.ip("route add default via 192.0.2.1")
        await loop.eventually("the recovery") { watch.lines.count == 3 }
        let recovery = "Path default is satisfied via eth0 (was: no default route)"
        #expect(watch.lines[2].hasSuffix(" ✓ path.changed       \(recovery)"))
        #expect(watch.messages == "")
    }

    @Test func `folds what one cause brings about into one line, told at once`() async throws {
        let service = try await started()
        let watch = try service.tool.launch("watch", "--socket", service.socket)
        await loop.eventually("the snapshot") { watch.lines.count == 1 }
        try Namespace.current.set("far", isUp: false)
        let cause = " ✗ path.changed       Path default is unsatisfied: eth0 has no carrier"
        await loop.eventually("the cause") { watch.output.contains(cause) }
        await loop.eventually("the rest") { watch.output.hasSuffix("\n") && watch.lines.count == 2 }
        #expect(watch.lines[1].hasSuffix("eth0 has no carrier: offline (1 gateway and DNS)"), "\(watch.output)")
        let past = try await service.ask("watch", "--since", "1", "--no-follow")
        #expect(past.output.split(separator: "\n").last == watch.lines[1], "\(past.output)")
        let all = try await service.ask("watch", "--since", "1", "--no-follow", "--all")
        #expect(all.output.contains(" ✗ headline.changed   Offline: eth0 has no carrier\n"), "\(all.output)")
        #expect(!all.output.contains("gateway.changed") && !all.output.contains("interface.changed"))
    }

    @Test func `outlives a daemon that is killed, and misses nothing`() async throws {
        let service = try await started()
        let watch = try service.tool.launch("watch", "--json", "--socket", service.socket)
        await loop.eventually("the snapshot") { watch.lines.count == 1 }
        try Namespace.current.ip("route del default")
        await loop.eventually("the change") { watch.output.contains("\"path.changed\"") }
        service.kill()
        await loop.eventually("the loss") { watch.messages.contains("connection to the service lost") }
        try await service.start()
        await loop.eventually(within: .seconds(10), "the return") { watch.messages.contains("reconnected") }
        try Namespace.current.ip("route add default via 192.0.2.1")
        await loop.eventually("the recovery") {
            watch.output.contains("is satisfied via eth0 (was: no default route)\",\"monitor\"")
        }
        let objects = try watch.objects.dropFirst()
        let numbers = objects.compactMap { $0["seq"]?.uint64 }
        let first = try #require(numbers.first)
        #expect(numbers == Array(first..<(first + UInt64(numbers.count))))
        #expect(Set(objects.map { $0.text("stream") }).count == 1)
        #expect(objects.contains { $0.text("event") == "daemon.started" })
        #expect(watch.messages.split(separator: "\n").count == 2)
    }

    @Test func `says so when the log was lost with the daemon`() async throws {
        let service = try await started()
        let watch = try service.tool.launch("watch", "--socket", service.socket)
        await loop.eventually("the snapshot") { watch.lines.count == 1 }
        service.kill()
        unsafe unlink(service.log)
        try Command.run(["sh", "-c", "rm -f \(service.scratch.path)/events* \(service.scratch.path)/stream*"])
        try await service.start()
        await loop.eventually(within: .seconds(10), "the reset") { watch.output.contains("! stream.reset") }
        #expect(watch.output.contains("A new log was started; this is the current state\n? Connected: "))
    }

    @Test func `stops after a number of events`() async throws {
        let service = try await started()
        let result = try await service.ask("watch", "--since", "1h", "-n", "2", "--json")
        #expect(result.status == 0)
        let events = try result.output.split(separator: "\n").map { try JSONValue(parsing: String($0)).text("event") }
        #expect(events == ["log.opened", "daemon.started"])
    }

    @Test func `shows the past and ends, from an age, a number or an id`() async throws {
        let service = try await started()
        let all = try await service.ask("watch", "--since", "1h", "--no-follow", "--json")
        #expect(all.status == 0)
        let stream = try JSONValue(parsing: all.firstLine).text("stream")
        let count = all.output.split(separator: "\n").count
        for since in ["1", "\(stream).1"] {
            let rest = try await service.ask("watch", "--since", since, "--no-follow", "--json")
            #expect(rest.output.split(separator: "\n").count == count - 1)
        }
        let filtered = try await service.ask("watch", "--since", "1h", "--no-follow", "--event", "d?emon.*")
        #expect(filtered.output.split(separator: "\n").count == 1)
        #expect(filtered.output.contains("• daemon.started"))
        let now = try await service.ask("watch", "--no-follow")
        #expect(now.output.split(separator: "\n").count == 1)
        let future = try await service.ask("watch", "--since", "4711", "--no-follow")
        #expect(future.status == 1)
        #expect(future.messages.contains("no longer available, or were never in this log"))
    }

    @Test func `ends quietly as soon as its reader is gone`() async throws {
        let service = try await started()
        let result = try await service.tool.pipe("\"$@\" | head -n 1", "watch", "--socket", service.socket)
        #expect(result.status == 0)
        #expect(result.output.hasPrefix("? Connected: "))
        #expect(result.messages == "")
        let closed = try await service.tool.pipe("\"$@\" | true", "status", "--socket", service.socket)
        #expect(closed.messages == "")
    }

    @Test func `ends at once with 130 on Ctrl-C`() async throws {
        let service = try await started()
        let watch = try service.tool.launch("watch", "--socket", service.socket)
        await loop.eventually("the snapshot") { watch.lines.count == 1 }
        watch.command.signal(SIGINT)
        #expect(watch.command.wait() == 130)
        #expect(watch.messages == "")
    }
}
