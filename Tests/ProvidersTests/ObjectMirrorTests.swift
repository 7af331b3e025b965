// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Providers

/// A service that restarts, hangs, lies or changes hands.
@Suite(.inNamespace) struct ObjectMirrorTests {
    private let loop = Namespace.current.loop
    private let bus: PrivateBus
    private let connection: BusConnection
    private let name = "org.freedesktop.ModemManager1"
    private let interface = "org.nwpath.Thing"

    init() throws {
        bus = try PrivateBus()
        connection = bus.connect(Namespace.current.loop)
    }

    private func mirror(_ timing: ServiceTiming = .quick) -> ObjectMirror {
        let mirror = ObjectMirror(
            connection: connection,
            name: name,
            source: .objects(
                manager: "/org/freedesktop",
                checkPath: "/t/1",
                checkInterface: interface,
                checkProperty: "State"
            ),
            interfaces: [interface],
            timing: timing
        )
        mirror.start()
        return mirror
    }

    private func fake(_ state: Int) async throws -> RunningCommand {
        let fake = try bus.fake(name)
        await loop.eventually(within: .seconds(15)) { (try? bus.tell(name, "pass")) != nil }
        try bus.tell(name, adding(state))
        return fake
    }

    private func adding(_ state: Int) -> String {
        "add('/t/1', org_nwpath_Thing={'State': dbus.UInt32(\(state))})"
    }

    private func state(_ mirror: ObjectMirror) -> Int? { mirror.objects["/t/1", interface]?["State"]?.number }

    @Test func `begins with what is there, and follows it`() async throws {
        let fake = try await fake(1)
        let mirror = mirror()
        await loop.eventually { state(mirror) == 1 && mirror.health.state == .active }
        try bus.tell(name, "put('/t/1', '\(interface)', 'State', dbus.UInt32(2))")
        await loop.eventually { state(mirror) == 2 }
        try bus.tell(name, "remove('/t/1')")
        await loop.eventually { mirror.objects.objects.isEmpty }
        connection.stop()
        _ = fake.processID
    }

    @Test func `finds a service that comes later`() async throws {
        let mirror = mirror()
        await loop.eventually { connection.isReady }
        #expect(mirror.health == ProviderHealth())
        let fake = try await fake(1)
        await loop.eventually { state(mirror) == 1 }
        connection.stop()
        _ = fake.processID
    }

    @Test func `keeps the facts through a restart, marked as stale`() async throws {
        var fake = try await fake(1)
        let mirror = mirror(ServiceTiming(grace: .seconds(60), check: .milliseconds(100), retry: .milliseconds(20)))
        await loop.eventually { state(mirror) == 1 }
        var seen: [Int?] = []
        mirror.onChange = { [weak mirror] in seen.append(mirror.flatMap(state)) }
        fake.signal(SIGKILL)
        await loop.eventually { mirror.health.isStale }
        #expect(state(mirror) == 1)
        // With its name but without its object, it would be a service that lacks the object.
        fake = try bus.fake(name, having: adding(2))
        await loop.eventually { state(mirror) == 2 && mirror.health.state == .active }
        #expect(seen.contains(2) && seen.filter { $0 == nil }.count <= 1)
        connection.stop()
        _ = fake.processID
    }

    @Test func `gives up the facts when the service stays away`() async throws {
        let fake = try await fake(1)
        let mirror = mirror()
        await loop.eventually { state(mirror) == 1 }
        fake.signal(SIGKILL)
        await loop.eventually { mirror.health.state == .absent }
        #expect(mirror.objects.objects.isEmpty)
        #expect(mirror.health.lastError != nil)
        connection.stop()
    }

    @Test func `learns after a hang what it missed`() async throws {
        let fake = try await fake(1)
        let mirror = mirror()
        await loop.eventually { mirror.health.state == .active }
        fake.signal(SIGSTOP)
        await loop.eventually { mirror.health.isStale }
        #expect(mirror.health.lastError == .timedOut)
        #expect(state(mirror) == 1)
        fake.signal(SIGCONT)
        await loop.eventually { mirror.health.state == .active }
        try bus.tell(name, "put('/t/1', '\(interface)', 'State', dbus.UInt32(3))")
        await loop.eventually { state(mirror) == 3 }
        connection.stop()
    }

    @Test func `survives the bus being restarted with the service on it`() async throws {
        var fake = try await fake(1)
        let mirror = mirror(ServiceTiming(grace: .seconds(60), check: .milliseconds(100), retry: .milliseconds(20)))
        await loop.eventually { state(mirror) == 1 }
        bus.kill()
        await loop.eventually { mirror.health.isStale }
        #expect(state(mirror) == 1)
        try bus.start()
        await loop.eventually { connection.isReady }
        fake = try await self.fake(2)
        await loop.eventually { state(mirror) == 2 && mirror.health.state == .active }
        connection.stop()
        _ = fake.processID
    }

    @Test func `stays quiet after it is stopped`() async throws {
        let fake = try await fake(1)
        let mirror = mirror()
        await loop.eventually { mirror.health.state == .active }
        mirror.stop()
        connection.stop()
        var changes = 0
        mirror.onChange = { changes += 1 }
        fake.signal(SIGKILL)
        await loop.sleep(for: .milliseconds(150))
        #expect(changes == 0)
    }
}

@Suite struct ProviderHealthTests {
    @Test func `goes stale once, and recovers`() {
        var health = ProviderHealth()
        health.fail(.timedOut, at: .seconds(1))
        #expect(health == ProviderHealth(state: .absent, lastError: .timedOut))
        health.succeed()
        #expect(health == ProviderHealth(state: .active, lastError: .timedOut))
        health.fail(.disconnected, at: .seconds(2))
        health.fail(.timedOut, at: .seconds(3))
        #expect(health == ProviderHealth(state: .stale(since: .seconds(2)), lastError: .timedOut))
        #expect(health.isStale)
        health.succeed()
        #expect(!health.isStale)
    }

    @Test(
        arguments: [
            (.disconnected, "no connection to the bus"), (.timedOut, "no answer in time"),
            (.refused(name: "org.example.No"), "refused with org.example.No"),
            (.malformed(what: "a text"), "a malformed answer: a text"),
            (.system(call: "open /x", code: .noEntry), "open /x: No such file or directory (ENOENT)"),
        ] as [(ProviderError, String)]
    )
    func `says what is wrong in one line`(error: ProviderError, text: String) {
        #expect(error.description == text)
    }
}

@Suite(.inNamespace) struct InterfaceNamesTests {
    @Test func `asks the kernel of its own namespace`() throws {
        let names = InterfaceNames.kernel
        #expect(names.index("lo") == 1 && names.name(1) == "lo")
        #expect(names.index("v0") == nil)
        try Namespace.current.ip("link add v0 type veth peer name a-name-of-15byt")
        let index = try #require(names.index("a-name-of-15byt"))
        #expect(names.name(index) == "a-name-of-15byt")
        for nonsense in [0, -1, 999_999, Int.max] { #expect(names.name(nonsense) == nil) }
        #expect(names.index("") == nil && names.index(String(repeating: "x", count: 500)) == nil)
    }
}

@Suite(.inNamespace) struct DebouncerTests {
    private let loop = Namespace.current.loop

    @Test func `acts once after a burst`() async {
        var count = 0
        let debouncer = Debouncer(loop: loop, quiet: .milliseconds(10)) { count += 1 }
        for _ in 0..<5 { debouncer.trigger() }
        #expect(count == 0)
        await loop.eventually { count == 1 }
        debouncer.trigger()
        await loop.eventually { count == 2 }
    }

    @Test func `acts during a burst that does not end`() async {
        var count = 0
        let debouncer = Debouncer(loop: loop, quiet: .seconds(60), cap: .milliseconds(20)) { count += 1 }
        await loop.eventually {
            debouncer.trigger()
            return count == 2
        }
        debouncer.cancel()
    }

    @Test func `forgets what was cancelled`() async {
        var count = 0
        let debouncer = Debouncer(loop: loop, quiet: .milliseconds(1)) { count += 1 }
        debouncer.trigger()
        debouncer.cancel()
        await loop.sleep(for: .milliseconds(5))
        #expect(count == 0)
    }
}

@Suite(.inNamespace) struct FileWatchTests {
    private let loop = Namespace.current.loop

    @Test func `hears of the names it follows, and of no others`() async throws {
        let scratch = try Scratch()
        let watch = FileMonitor(loop: loop)
        var events = 0
        watch.onEvent = { events += 1 }
        watch.start()
        watch.follow(files: [scratch("a"), scratch("b")], directories: [])
        try scratch.write("x", to: "other")
        await loop.sleep(for: .milliseconds(5))
        #expect(events == 0)
        for name in ["a", "b"] {
            let before = events
            try scratch.write("x", to: name)
            await loop.eventually { events > before }
        }
        watch.follow(files: [scratch("b")], directories: [])
        await loop.sleep(for: .milliseconds(5))
        let before = events
        try scratch.write("y", to: "a")
        await loop.sleep(for: .milliseconds(5))
        #expect(events == before)
        try Command.run(["rm", scratch("b")])
        await loop.eventually { events > before }
        #expect(watch.lastError == nil)
        watch.stop()
    }

    @Test func `hears of everything in a directory, even one that is removed and made again`() async throws {
        let scratch = try Scratch()
        let watch = FileMonitor(loop: loop)
        var events = 0
        watch.onEvent = {
            events += 1
            watch.follow(files: [], directories: [scratch("d")])
        }
        watch.start()
        watch.follow(files: [], directories: [scratch("d")])
        for _ in 0..<3 {
            var before = events
            try Command.run(["mkdir", scratch("d")])
            await loop.eventually { events > before }
            before = events
            try scratch.write("x", to: "d/any")
            await loop.eventually { events > before }
            before = events
            try Command.run(["rm", "-r", scratch("d")])
            await loop.eventually { events > before }
        }
        watch.onEvent = {}
        watch.stop()
    }
}
