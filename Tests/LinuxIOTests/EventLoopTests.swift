// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.inNamespace) struct EventLoopTests {
    @Test func `runs a test body on the thread of its own namespace`() async throws {
        let namespace = Namespace.current
        #expect(namespace.loop.isCurrent)
        await namespace.loop.sleep(for: .milliseconds(1))
        #expect(namespace.loop.isCurrent)
        let links = try namespace.ip("-o link")
        #expect(links.split(separator: "\n").count == 1)
    }

    @Test func `fires timers in the order of their deadlines`() async throws {
        let loop = Namespace.current.loop
        var fired: [Int] = []
        loop.schedule(after: .milliseconds(6)) { fired.append(3) }
        let cancelled = loop.schedule(after: .milliseconds(4)) { fired.append(2) }
        loop.schedule(after: .milliseconds(2)) { fired.append(1) }
        loop.cancel(cancelled)
        await loop.eventually { fired.count == 2 }
        #expect(fired == [1, 3])
    }

    @Test func `a handler that schedules itself without delay does not starve descriptors`() async throws {
        let loop = Namespace.current.loop
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        let writer = FileDescriptor(owning: ends[1])
        var rounds = 0
        var isHeard = false
        func again() {
            rounds += 1
            if !isHeard && rounds < 100_000 { loop.schedule(after: .zero, handler: again) }
        }
        let watch = try loop.register(reader.rawValue, for: .readable) { _ in isHeard = true }
        again()
        try writer.writeAll([1].span)
        await loop.eventually { isHeard }
        #expect(rounds < 100_000)
        loop.unregister(watch)
    }

    @Test func `tells when a descriptor is readable, until it is unwatched`() async throws {
        let loop = Namespace.current.loop
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        let writer = FileDescriptor(owning: ends[1])
        var heard: [UInt8] = []
        let watch = try loop.register(reader.rawValue, for: .readable) { _ in
            heard += (try? FileDescriptor(owning: dup(ends[0])).read(upTo: 16)) ?? []
        }
        try writer.writeAll([1, 2].span)
        await loop.eventually { heard == [1, 2] }
        loop.unregister(watch)
        try writer.writeAll([3].span)
        await loop.sleep(for: .milliseconds(3))
        #expect(heard == [1, 2])
        _ = reader.rawValue
    }

    @Test func `two namespaces reach each other over a veth pair`() throws {
        let here = Namespace.current
        let peer = try Namespace()
        try here.connect("v0", to: peer, as: "v1")
        try here.ip("address add 192.0.2.1/24 dev v0")
        try peer.ip("address add 192.0.2.2/24 dev v1")
        let answer = try here.run("ping -c 1 -W 60 192.0.2.2")
        #expect(answer.contains("1 received"))
    }
}
