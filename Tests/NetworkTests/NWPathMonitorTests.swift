// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import LinuxIO
@testable import Network
import Synchronization
import TestSupport
import Testing

/// The running kernel's changes, as monitors of the namespace's own thread tell them.
@Suite(.inNamespace) struct NWPathMonitorTests {
    private let namespace = Namespace.current
    private let queue = DispatchQueue(label: "test")

    /// A started monitor, with what it was told.
    private func started(_ monitor: NWPathMonitor) -> Record<NWPath> {
        let paths = Record<NWPath>()
        monitor.pathUpdateHandler = { paths.append($0) }
        monitor.start(queue: queue)
        return paths
    }

    private func eventually(_ what: String = "the path", _ condition: () -> Bool) async {
        await namespace.loop.eventually(what, condition)
    }

    @Test func `tells a first path where there is no network`() async {
        let monitor = NWPathMonitor()
        let paths = started(monitor)
        await eventually { !paths.values.isEmpty }
        #expect(paths.values.first?.status == .unsatisfied)
        #expect(paths.values.first?.linuxReason == "no_interface")
        #expect(monitor.queue === queue)
    }

    @Test func `follows a cable`() async throws {
        let router = try Namespace()
        try namespace.connectToRouter(router)
        let monitor = NWPathMonitor()
        let paths = started(monitor)
        await eventually { paths.values.last?.status == .satisfied }
        let first = try #require(paths.values.last)
        #expect(first.availableInterfaces.map(\.name) == ["v0"])
        #expect(first.supportsIPv4 && !first.supportsIPv6)
        #expect(first.usesInterfaceType(.wiredEthernet))
        #expect(first.gateways == [.hostPort(host: "198.51.1.254", port: 0)])
        try router.set("r1", isUp: false)
        await eventually { paths.values.last?.status == .unsatisfied }
        #expect(paths.values.last?.linuxReason == "no_carrier")
        #expect(monitor.currentPath.status == .unsatisfied)
        try router.set("r1", isUp: true)
        await eventually { paths.values.last?.status == .satisfied }
        for (one, next) in zip(paths.values, paths.values.dropFirst()) { #expect(one != next) }
    }

    @Test func `the current path is true before the start, and after the end`() async throws {
        let router = try Namespace()
        try namespace.connectToRouter(router)
        let monitor = NWPathMonitor()
        #expect(monitor.queue == nil)
        #expect(monitor.currentPath.status == .satisfied)
        monitor.cancel()
        #expect(monitor.currentPath.status == .satisfied)
        #expect(monitor.debugDescription.contains("satisfied (Path is satisfied), interface: v0, ipv4"))
    }

    @Test func `a handler that is set after the start is told the current path`() async {
        let monitor = NWPathMonitor()
        monitor.start(queue: queue)
        #expect(monitor.currentPath.status == .unsatisfied)
        let paths = Record<NWPath>()
        monitor.pathUpdateHandler = { paths.append($0) }
        await eventually { paths.values.count == 1 }
        #expect(monitor.pathUpdateHandler != nil)
    }

    @Test func `a required type counts alone, prohibited types do not count`() async throws {
        let router = try Namespace()
        try namespace.connectToRouter(router)
        let wired = NWPathMonitor(requiredInterfaceType: .wiredEthernet)
        let wifi = NWPathMonitor(requiredInterfaceType: .wifi)
        let other = NWPathMonitor(prohibitedInterfaceTypes: [.wiredEthernet])
        let rest = NWPathMonitor(prohibitedInterfaceTypes: [.cellular, .wifi])
        #expect(wired.currentPath.status == .satisfied)
        #expect(rest.currentPath.status == .satisfied)
        for monitor in [wifi, other] {
            #expect(monitor.currentPath.status == .unsatisfied)
            #expect(monitor.currentPath.availableInterfaces.isEmpty)
        }
        let paths = started(wired)
        await eventually { paths.values.last?.status == .satisfied }
        try namespace.set("v0", isUp: false)
        await eventually { paths.values.last?.status == .unsatisfied }
        await eventually { rest.currentPath.status == .unsatisfied }
    }

    @Test func `a busy queue is told the newest path only`() async throws {
        let monitor = NWPathMonitor()
        let paths = started(monitor)
        await eventually { paths.values.count == 1 }
        let gate = DispatchSemaphore(value: 0)
        queue.block(until: gate)
        let router = try Namespace()
        try namespace.connectToRouter(router)
        await eventually { monitor.currentPath.status == .satisfied }
        try namespace.ip("link set v0 mtu 1400")
        try namespace.ip("addr add 203.0.113.1/24 dev v0")
        try namespace.set("v0", isUp: false)
        await eventually { monitor.currentPath.status == .unsatisfied }
        let last = monitor.currentPath
        gate.signal()
        await eventually { paths.values.last == last }
        #expect(!paths.values.contains { $0.status == .satisfied }, "what came in between is left out")
    }

    @Test func `calls are serial even on a concurrent queue`() async throws {
        let calls = Mutex((now: 0, most: 0, total: 0))
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { _ in
            calls.withLock {
                $0.now += 1
                $0.total += 1
                $0.most = max($0.most, $0.now)
            }
            usleep(1000)
            calls.withLock { $0.now -= 1 }
        }
        monitor.start(queue: .apart)
        let router = try Namespace()
        try namespace.connectToRouter(router)
        for step in 1...3 {
            let before = calls.withLock { $0.total }
            try namespace.ip("link set v0 \(step % 2 == 1 ? "down" : "up")")
            if step % 2 == 0 { try namespace.ip("route replace default via 198.51.1.254") }
            await eventually { calls.withLock { $0.total } > before }
        }
        #expect(calls.withLock { $0.most } == 1)
    }

    @Test func `tells nothing after it was cancelled on its queue`() async throws {
        let monitor = NWPathMonitor()
        let paths = started(monitor)
        await eventually { paths.values.count == 1 }
        queue.sync { monitor.cancel() }
        let witness = NWPathMonitor()
        let router = try Namespace()
        try namespace.connectToRouter(router)
        await eventually { witness.currentPath.status == .satisfied }
        queue.sync {}
        #expect(paths.values.count == 1)
        monitor.start(queue: queue)
        monitor.pathUpdateHandler = { paths.append($0) }
        queue.sync {}
        #expect(paths.values.count == 1 && monitor.pathUpdateHandler == nil)
    }

    @Test func `can be cancelled by its own handler`() async {
        let paths = Record<NWPath>()
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { [weak monitor] path in
            paths.append(path)
            monitor?.cancel()
        }
        monitor.start(queue: queue)
        await eventually { paths.values.count == 1 }
    }

    @Test func `only the first start counts`() async {
        let monitor = NWPathMonitor()
        let paths = started(monitor)
        monitor.start(queue: .main)
        #expect(monitor.queue === queue)
        await eventually { paths.values.count == 1 }
        #expect(paths.values.count == 1)
    }

    @Test func `ends with its last reference, and its handler with it`() async {
        final class Witness: Sendable {}
        weak var witness: Witness?
        weak var gone: NWPathMonitor?
        do {
            let monitor = NWPathMonitor()
            let kept = Witness()
            witness = kept
            gone = monitor
            monitor.pathUpdateHandler = { _ in _ = kept }
            monitor.start(queue: queue)
            _ = monitor.currentPath
        }
        await eventually("the monitor's end") { gone == nil && witness == nil }
    }

    @Test func `a loop starts by itself with the current path, and keeps the monitor`() async throws {
        let router = try Namespace()
        try namespace.connectToRouter(router)
        var seen: [NWPath] = []
        for await path in NWPathMonitor() {
            seen.append(path)
            if seen.count == 1 { try namespace.set("v0", isUp: false) }
            if path.status == .unsatisfied { break }
        }
        #expect(seen.first?.status == .satisfied)
        #expect(seen.last?.linuxReason != nil)
        for (one, next) in zip(seen, seen.dropFirst()) { #expect(one != next) }
    }

    @Test func `two loops see the same, and end with the monitor`() async {
        let monitor = NWPathMonitor()
        var first = monitor.makeAsyncIterator()
        var second = monitor.makeAsyncIterator()
        let one = await first.next()
        let two = await second.next()
        #expect(one != nil && one == two)
        monitor.cancel()
        let end = await first.next()
        #expect(end == nil)
        var late = monitor.makeAsyncIterator()
        let nothing = await late.next()
        #expect(nothing == nil)
    }

    @Test func `a loop ends with its task`() async {
        let paths = Record<NWPath>()
        await withTaskGroup { group in
            group.addTask {
                for await path in NWPathMonitor() { paths.append(path) }
            }
            await eventually { paths.values.count == 1 }
            group.cancelAll()
            await group.waitForAll()
        }
        #expect(paths.values.count == 1)
    }

    @Test func `a thousand monitors share one subscription`() async throws {
        let router = try Namespace()
        let monitors = (0..<1000).map { number in
            number % 2 == 0 ? NWPathMonitor() : NWPathMonitor(prohibitedInterfaceTypes: [.cellular])
        }
        let told = Mutex(0)
        for monitor in monitors {
            monitor.pathUpdateHandler = { path in if path.status == .satisfied { told.withLock { $0 += 1 } } }
            monitor.start(queue: queue)
        }
        try namespace.connectToRouter(router)
        await eventually("everybody") { told.withLock { $0 } >= 1000 }
        let starts = Record<Int>()
        try EngineThread.current().perform { starts.append($0.paths.starts) }
        await eventually { starts.values == [1] }
        for monitor in monitors { monitor.cancel() }
    }

    @Test func `another namespace has another path`() async throws {
        let router = try Namespace()
        try namespace.connectToRouter(router)
        let here = NWPathMonitor()
        #expect(here.currentPath.status == .satisfied)
        let there = Record<NWPath>()
        router.loop.perform { there.append(NWPathMonitor().currentPath) }
        await eventually { there.values.count == 1 }
        #expect(there.values.first?.status == .unsatisfied)
    }
}
