// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

/// Two connected ends; both close with the value.
private final class Ends {
    let first: FileDescriptor
    let second: FileDescriptor

    init(socket: Bool = false) throws {
        var ends: [Int32] = [-1, -1]
        if socket {
            try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        } else {
            try #require(unsafe pipe(&ends) == 0)
        }
        first = FileDescriptor(owning: ends[0])
        second = FileDescriptor(owning: ends[1])
        try first.setNonBlocking()
        try second.setNonBlocking()
    }

    func fillSecond() {
        let chunk = [UInt8](repeating: 0, count: 65_536)
        while (try? second.write(chunk.span)) != nil {}
    }

    func drainFirst() {
        while let bytes = try? first.read(upTo: 65_536), !bytes.isEmpty {}
    }
}

@Suite(.inNamespace) struct WatchTests {
    private let loop = Namespace.current.loop

    /// Lets the loop look at its descriptors a few times.
    private func turn() async {
        for _ in 0..<3 { await loop.sleep(for: .microseconds(100)) }
    }

    @Test func `a handler that leaves bytes unread is called again`() async throws {
        let ends = try Ends()
        var read: [UInt8] = []
        let watch = try loop.register(ends.first.rawValue, for: .readable) { readiness in
            #expect(readiness.contains(.readable))
            read += (try? ends.first.read(upTo: 1)) ?? []
        }
        try ends.second.writeAll([1, 2, 3].span)
        await loop.eventually { read == [1, 2, 3] }
        loop.unregister(watch)
    }

    @Test func `of what is ready in one turn, what is urgent comes first`() async throws {
        let plain = try (0..<10).map { _ in try Ends() }
        let urgent = try [Ends(), Ends()]
        var order: [String] = []
        func watch(_ ends: Ends, _ name: String, urgent: Bool) throws -> EventLoop.Registration {
            try loop.register(ends.first.rawValue, for: .readable, urgent: urgent) { _ in
                order.append(name)
                ends.drainFirst()
            }
        }
        var watches = try plain.map { try watch($0, "plain", urgent: false) }
        watches += try urgent.map { try watch($0, "urgent", urgent: true) }
        for round in 1...3 {
            order = []
            // All are ready before the loop looks again, the urgent ones last.
            for ends in plain + urgent { try ends.second.writeAll([1].span) }
            await loop.eventually { order.count == 12 }
            #expect(order == ["urgent", "urgent"] + Array(repeating: "plain", count: 10), "round \(round)")
        }
        // A descriptor that is urgent is paused and ended as any other.
        try loop.change(watches[10], to: [])
        loop.unregister(watches[11])
        for ends in urgent { try ends.second.writeAll([1].span) }
        await turn()
        #expect(order.count == 12)
        for watch in watches { loop.unregister(watch) }
    }

    @Test func `a full pipe is writable again when it was read`() async throws {
        let ends = try Ends()
        ends.fillSecond()
        var calls = 0
        let watch = try loop.register(ends.second.rawValue, for: .writable) { readiness in
            #expect(readiness == .writable)
            calls += 1
            ends.fillSecond()
        }
        await turn()
        #expect(calls == 0)
        ends.drainFirst()
        await loop.eventually { calls == 1 }
        loop.unregister(watch)
    }

    @Test func `an empty interest pauses, and another goes on`() async throws {
        let ends = try Ends(socket: true)
        var heard: [EventLoop.Readiness] = []
        let watch = try loop.register(ends.first.rawValue, for: .readable) { readiness in
            heard.append(readiness)
            ends.drainFirst()
        }
        try loop.change(watch, to: [])
        try ends.second.writeAll([1].span)
        await turn()
        #expect(heard.isEmpty)
        try loop.change(watch, to: .readable)
        await loop.eventually { heard == [.readable] }
        try loop.change(watch, to: [.readable, .writable])
        await loop.eventually { heard.last == .writable }
        loop.unregister(watch)
    }

    @Test func `the end of the other side is told`() async throws {
        let ends = try Ends(socket: true)
        var heard: EventLoop.Readiness = []
        let watch = try loop.register(ends.first.rawValue, for: [.readable, .peerClosed]) { heard.formUnion($0) }
        #expect(shutdown(ends.second.rawValue, Int32(SHUT_WR)) == 0)
        await loop.eventually { heard.isSuperset(of: .readable) && !heard.isDisjoint(with: .peerClosed) }
        #expect(!heard.contains(.failed))
        loop.unregister(watch)
    }

    @Test func `an error is told even to a watch that is paused`() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        let writer = FileDescriptor(owning: ends[1])
        var heard: EventLoop.Readiness = []
        var watch: EventLoop.Registration?
        watch = try loop.register(writer.rawValue, for: []) { [loop] readiness in
            heard = readiness
            if let watch { loop.unregister(watch) }
        }
        close(ends[0])
        await loop.eventually { heard.contains(.failed) }
        _ = writer.rawValue
    }

    @Test func `a handler may end another's watch in the same turn`() async throws {
        let pairs = [try Ends(), try Ends()]
        var watches: [EventLoop.Registration] = []
        var calls = 0
        for pair in pairs {
            watches.append(
                try loop.register(pair.first.rawValue, for: .readable) { [loop] _ in
                    calls += 1
                    for watch in watches { loop.unregister(watch) }
                }
            )
        }
        for pair in pairs { try pair.second.writeAll([1].span) }
        await loop.eventually { calls > 0 }
        await turn()
        #expect(calls == 1)
    }

    @Test func `more descriptors than one wait returns are all served`() async throws {
        let pairs = try (0..<200).map { _ in try Ends() }
        var heard: Set<Int> = []
        var watches: [EventLoop.Registration] = []
        for (number, pair) in pairs.enumerated() {
            watches.append(
                try loop.register(pair.first.rawValue, for: .readable) { _ in
                    pair.drainFirst()
                    heard.insert(number)
                }
            )
        }
        for pair in pairs { try pair.second.writeAll([1].span) }
        await loop.eventually { heard.count == 200 }
        for watch in watches { loop.unregister(watch) }
    }

    @Test func `a number that is used again does not reach the old handler`() async throws {
        var old = 0
        var new = 0
        var number: Int32 = -1
        do {
            let ends = try Ends()
            number = ends.first.rawValue
            let watch = try loop.register(number, for: .readable) { _ in old += 1 }
            loop.unregister(watch)
            loop.unregister(watch)
        }
        let ends = try Ends()
        let watch = try loop.register(ends.first.rawValue, for: .readable) { _ in
            new += 1
            ends.drainFirst()
        }
        try ends.second.writeAll([1].span)
        await loop.eventually { new == 1 }
        #expect(old == 0)
        loop.unregister(watch)
    }

    @Test func `what epoll cannot watch is refused with its reason`() throws {
        let file = try FileDescriptor(opening: "/proc/self/status", flags: O_RDONLY)
        let regular = try FileDescriptor(opening: "/etc/hosts", flags: O_RDONLY)
        #expect(throws: Errno(EBADF)) { try loop.register(-1, for: .readable) { _ in } }
        #expect(throws: Errno.notPermitted) { try loop.register(regular.rawValue, for: .readable) { _ in } }
        let ends = try Ends()
        let watch = try loop.register(ends.first.rawValue, for: .readable) { _ in }
        #expect(throws: Errno.exists) { try loop.register(ends.first.rawValue, for: .readable) { _ in } }
        loop.unregister(watch)
        #expect(throws: Errno.noEntry) { try loop.change(watch, to: .writable) }
        _ = file.rawValue
    }

    @Test func `a readable socket does not keep timers waiting`() async throws {
        let ends = try Ends()
        try ends.second.writeAll([1].span)
        var calls = 0
        // Never read: ready at every look.
        let watch = try loop.register(ends.first.rawValue, for: .readable) { _ in calls += 1 }
        var fired = 0
        for delay in 1...5 { loop.schedule(after: .milliseconds(Int64(delay))) { fired += 1 } }
        await loop.eventually { fired == 5 }
        #expect(calls > 1)
        loop.unregister(watch)
    }
}
