// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Providers

@Suite(.inNamespace) struct BusConnectionTests {
    private let loop = Namespace.current.loop

    /// Makes one call and waits for its result.
    private func answer(
        _ connection: BusConnection,
        _ method: BusMethod,
        _ words: [String] = []
    ) async
        -> Result<[BusValue], ProviderError>?
    {
        var result: Result<[BusValue], ProviderError>?
        connection.call(method, words) { result = $0 }
        await loop.eventually { result != nil }
        return result
    }

    @Test func `connects without blocking and calls the bus`() async throws {
        let bus = try PrivateBus()
        let connection = bus.connect(loop)
        #expect(!connection.isReady)
        await loop.eventually { connection.isReady }
        let names = try #require(try await answer(connection, .broker("ListNames"))?.get().first?.list)
        #expect(names.contains(.text("org.freedesktop.DBus")))
        connection.stop()
    }

    @Test func `reports a refusal by its name`() async throws {
        let bus = try PrivateBus()
        let connection = bus.connect(loop)
        await loop.eventually { connection.isReady }
        let result = await answer(connection, .broker("GetNameOwner"), ["org.example.Nobody"])
        #expect(result == .failure(.refused(name: "org.freedesktop.DBus.Error.NameHasNoOwner")))
        connection.stop()
    }

    @Test func `fails calls at once while there is no bus`() async throws {
        let connection = try PrivateBus(running: false).connect(loop)
        #expect(await answer(connection, .broker("ListNames")) == .failure(.disconnected))
        #expect(!connection.isReady)
        await loop.eventually { connection.lastError != nil }
        connection.stop()
    }

    @Test func `connects when the bus comes, and again when it comes back`() async throws {
        let bus = try PrivateBus(running: false)
        let connection = bus.connect(loop)
        for _ in 0..<3 {
            try bus.start()
            await loop.eventually { connection.isReady }
            bus.kill()
            await loop.eventually { !connection.isReady }
        }
        #expect(connection.lastError != nil)
        connection.stop()
    }

    @Test func `fails pending calls exactly once when the bus dies or the connection stops`() async throws {
        let bus = try PrivateBus()
        let fake = try bus.fake("org.nwpath.Slow")
        let connection = bus.connect(loop, limit: .seconds(30))
        let method = BusMethod("org.nwpath.Slow", "/org/nwpath/Test", "org.nwpath.Test", "Do")
        for isKilled in [false, true] {
            await loop.eventually { connection.isReady }
            fake.signal(SIGSTOP)
            var results: [Result<[BusValue], ProviderError>] = []
            connection.call(method, ["pass"]) { results.append($0) }
            if isKilled { bus.kill() } else { connection.stop() }
            await loop.eventually { results.count == 1 }
            #expect(throws: ProviderError.self) { try results[0].get() }
            if !isKilled { connection.start() }
        }
        connection.stop()
    }

    @Test func `gives up on a service that hangs, and on a bus that hangs`() async throws {
        let bus = try PrivateBus()
        let fake = try bus.fake("org.nwpath.Slow")
        let connection = bus.connect(loop)
        await loop.eventually { connection.isReady }
        let method = BusMethod("org.nwpath.Slow", "/org/nwpath/Test", "org.nwpath.Test", "Do")
        await loop.eventually { (try? bus.tell("org.nwpath.Slow", "pass")) != nil }
        fake.signal(SIGSTOP)
        #expect(await answer(connection, method, ["pass"]) == .failure(.timedOut))
        fake.signal(SIGCONT)
        #expect(await answer(connection, method, ["pass"]) == .success([]))
        bus.daemon?.signal(SIGSTOP)
        #expect(await answer(connection, .broker("ListNames")) == .failure(.timedOut))
        let late = bus.connect(loop)
        await loop.eventually { late.lastError == .timedOut }
        bus.daemon?.signal(SIGCONT)
        await loop.eventually { late.isReady }
        late.stop()
        connection.stop()
    }

    @Test func `does not start a service by calling it`() async throws {
        let bus = try PrivateBus()
        let connection = bus.connect(loop)
        await loop.eventually { connection.isReady }
        let method = BusMethod("org.example.Nobody", "/", "org.example", "Hello")
        let result = await answer(connection, method)
        guard case .failure(.refused(let name)) = result else {
            Issue.record("unexpected: \(String(describing: result))")
            return
        }
        #expect(name.hasPrefix("org.freedesktop.DBus.Error."))
        connection.stop()
    }

    @Test func `leaves nothing behind over many connections`() async throws {
        let bus = try PrivateBus()
        let before = try Command.run(["sh", "-c", "ls /proc/\(getpid())/fd | wc -l"])
        weak var last: BusConnection?
        for _ in 0..<20 {
            let connection = bus.connect(loop)
            last = connection
            await loop.eventually { connection.isReady }
            connection.stop()
        }
        #expect(last == nil)
        // Other tests run beside this one: only a leak of one descriptor a round is beyond doubt.
        let after = try Command.run(["sh", "-c", "ls /proc/\(getpid())/fd | wc -l"])
        #expect(before.isEmpty == after.isEmpty)
    }
}

@Suite struct BusObjectsTests {
    private let interface = "org.example.Device"

    private func signal(_ member: String, _ arguments: [BusValue], path: String = "/d/1") -> BusSignal {
        let properties = "org.freedesktop.DBus.Properties"
        let manager = "org.freedesktop.DBus.ObjectManager"
        return BusSignal(
            sender: ":1.1",
            path: path,
            interface: member == "PropertiesChanged" ? properties : manager,
            member: member,
            arguments: arguments
        )
    }

    private func filled() throws -> BusObjects {
        var objects = BusObjects(interfaces: [interface])
        let device: BusValue = .table(["State": .unsigned(30)])
        try objects.replace(with: [.table(["/d/1": .table([interface: device, "org.example.Other": .table([:])])])])
        return objects
    }

    @Test func `keeps the interfaces in question`() throws {
        let objects = try filled()
        #expect(objects["/d/1", interface] == ["State": .unsigned(30)])
        #expect(objects["/d/1", "org.example.Other"] == nil)
        #expect(objects.all(interface).map(\.path) == ["/d/1"])
    }

    @Test func `follows properties`() throws {
        var objects = try filled()
        let change: [BusValue] = [.text(interface), .table(["State": .unsigned(100)]), .list([])]
        #expect(objects.apply(signal("PropertiesChanged", change)) == .changed)
        #expect(objects.apply(signal("PropertiesChanged", change)) == .unchanged)
        #expect(objects["/d/1", interface]?["State"] == .unsigned(100))
    }

    @Test func `asks anew when something was invalidated, missed or garbled`() throws {
        var objects = try filled()
        let invalidated: [BusValue] = [.text(interface), .table([:]), .list([.text("State")])]
        #expect(objects.apply(signal("PropertiesChanged", invalidated)) == .reload)
        let change: [BusValue] = [.text(interface), .table(["State": .unsigned(100)]), .list([])]
        #expect(objects.apply(signal("PropertiesChanged", change, path: "/d/9")) == .reload)
        #expect(objects.apply(signal("PropertiesChanged", [.unsigned(1)])) == .reload)
        #expect(objects.apply(signal("InterfacesAdded", [.unsigned(1)])) == .reload)
        #expect(objects.apply(signal("InterfacesRemoved", [])) == .reload)
        #expect(objects.apply(signal("Elsewhere", [])) == .unchanged)
    }

    @Test func `follows objects`() throws {
        var objects = try filled()
        let added: [BusValue] = [.text("/d/2"), .table([interface: .table([:])])]
        #expect(objects.apply(signal("InterfacesAdded", added)) == .changed)
        #expect(objects.all(interface).count == 2)
        let removed: [BusValue] = [.text("/d/1"), .list([.text(interface)])]
        #expect(objects.apply(signal("InterfacesRemoved", removed)) == .changed)
        #expect(objects.apply(signal("InterfacesRemoved", removed)) == .unchanged)
        #expect(objects.all(interface).map(\.path) == ["/d/2"])
    }

    @Test(arguments: [[], [.unsigned(1)], [.table(["/d/1": .text("no")])]] as [[BusValue]])
    func `refuses a malformed answer`(answer: [BusValue]) throws {
        var objects = try filled()
        #expect(throws: ProviderError.self) { try objects.replace(with: answer) }
    }

    @Test func `does not believe in more objects than its limit`() {
        var objects = BusObjects(interfaces: [interface])
        for index in 0..<(BusObjects.limit + 10) {
            _ = objects.apply(signal("InterfacesAdded", [.text("/d/\(index)"), .table([interface: .table([:])])]))
        }
        #expect(objects.objects.count == BusObjects.limit)
    }
}
