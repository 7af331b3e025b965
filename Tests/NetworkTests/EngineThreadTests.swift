// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import LinuxIO
@testable import Network
import PathEngine
import PathModel
import TestSupport
import Testing

/// The file of the calling thread's network namespace, namespaces(7).
private func namespaceName() -> String {
    var bytes = [CChar](repeating: 0, count: 64)
    let count = unsafe readlink("/proc/thread-self/ns/net", &bytes, 63)
    return String(decoding: bytes.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

@Suite(.inNamespace) struct EngineThreadTests {
    private let loop = Namespace.current.loop

    @Test func `is the same for everybody in a namespace, while somebody holds it`() throws {
        let one = try EngineThread.current()
        let two = try EngineThread.current()
        #expect(one === two)
    }

    @Test func `is another one in another namespace`() async throws {
        let here = try EngineThread.current()
        let other = try Namespace()
        let found = Record<EngineThread>()
        other.loop.perform { if let thread = try? EngineThread.current() { found.append(thread) } }
        await loop.eventually { found.values.count == 1 }
        #expect(found.values.first !== here)
    }

    @Test func `works in the namespace of the thread that asked for it`() async throws {
        let names = Record<String>()
        try EngineThread.current().perform { _ in names.append(namespaceName()) }
        await loop.eventually { names.values.count == 1 }
        #expect(names.values == [namespaceName()])
        #expect(names.values.first?.hasPrefix("net:[") == true)
    }

    @Test func `does its work in order, on one thread, with the same engines`() async throws {
        let thread = try EngineThread.current()
        let order = Record<Int>()
        let identities = Record<ObjectIdentifier>()
        for number in 1...100 {
            thread.perform { engines in
                order.append(number)
                identities.append(ObjectIdentifier(engines))
            }
        }
        await loop.eventually { order.values.count == 100 }
        #expect(order.values == Array(1...100))
        #expect(Set(identities.values).count == 1)
    }

    @Test func `lends its engines once they follow the path, and in no other way before`() async throws {
        let thread = try EngineThread.current()
        #expect(!thread.performNow { _ in Issue.record("there are no engines") })
        thread.perform { engines in _ = engines.followPath() }
        let names = Record<String>()
        await loop.eventually { thread.performNow { _ in names.append(namespaceName()) } }
        #expect(names.values == [namespaceName()])
    }

    @Test func `is told from others by a socket as well`() throws {
        let thread = try EngineThread.current()
        let socket = SharedDescriptor(owning: Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0))
        let number = try #require(socket.current)
        #expect(try EngineThread.current(by: number) === thread)
        #expect(try EngineThread.current(by: number) === thread)
        #expect(socket.release() == number && socket.release() == nil)
        _ = Glibc.close(number)
    }

    @Test func `stays a moment longer than the last connection, and goes then`() async throws {
        weak var gone: EngineThread?
        do {
            let connection = NWConnection(host: "127.0.0.1", port: 9, using: .udp)
            let states = Record<NWConnection.State>()
            connection.stateUpdateHandler = { states.append($0) }
            connection.start(queue: DispatchQueue(label: "test"))
            gone = try EngineThread.current()
            await loop.eventually { states.values == [.preparing, .ready] }
            connection.cancel()
            await loop.eventually { states.values.last == .cancelled }
        }
        #expect(gone != nil)
        await loop.eventually { gone == nil }
    }

    @Test func `takes no signals, and has a name`() async throws {
        let names = Record<String>()
        let isBlocked = Record<Bool>()
        var before = sigset_t()
        _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &before)
        try EngineThread.current().perform { _ in
            var mask = sigset_t()
            _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
            isBlocked.append(unsafe sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1)
            let comm = try? FileDescriptor(opening: "/proc/thread-self/comm", flags: O_RDONLY).read(upTo: 16)
            names.append(String(decoding: comm ?? [], as: UTF8.self))
        }
        await loop.eventually { names.values.count == 1 }
        #expect(names.values == ["network\n"])
        #expect(isBlocked.values == [true])
        var mask = sigset_t()
        _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
        for signal in [SIGTERM, SIGINT, SIGUSR1] {
            let (now, then) = unsafe (sigismember(&mask, signal), sigismember(&before, signal))
            #expect(now == then, "the program's own threads are left as they were")
        }
    }

    @Test func `ends with the last object, and closes what it opened`() async throws {
        final class Witness: Sendable {}
        weak var gone: EngineThread?
        weak var kept: Witness?
        do {
            let thread = try EngineThread.current()
            let witness = Witness()
            gone = thread
            kept = witness
            thread.perform { engines in engines.paths.subscribe(1, to: PathQuestion()) { _ in _ = witness } }
        }
        await loop.eventually { gone == nil && kept == nil }
        #expect(try EngineThread.current() !== gone)
    }
}

@Suite(.inNamespace) struct PathHubTests {
    private let hub = PathHub(loop: Namespace.current.loop)

    @Test func `starts with the first subscriber and stops after the last one`() {
        #expect(hub.core == nil && hub.starts == 0)
        for id in 1...3 as ClosedRange<UInt64> { hub.subscribe(id, to: PathQuestion()) { _ in } }
        #expect(hub.core != nil && hub.starts == 1)
        hub.unsubscribe(1)
        hub.unsubscribe(1)
        hub.unsubscribe(3)
        #expect(hub.core != nil)
        hub.unsubscribe(2)
        #expect(hub.core == nil)
        hub.subscribe(4, to: PathQuestion()) { _ in }
        #expect(hub.starts == 2)
        hub.stop()
    }

    @Test func `asks the engine each question once, as long as somebody wants to know`() {
        let wifi = PathQuestion(requiredType: .wifi)
        func questions() -> [String] { hub.core?.settings.policy.monitors.map(\.name) ?? [] }
        hub.subscribe(1, to: PathQuestion()) { _ in }
        #expect(questions().isEmpty)
        hub.subscribe(2, to: wifi) { _ in }
        hub.subscribe(3, to: wifi) { _ in }
        hub.subscribe(4, to: PathQuestion(interface: "v0")) { _ in }
        #expect(questions() == ["bound to v0", "required wifi"])
        hub.unsubscribe(2)
        #expect(questions() == ["bound to v0", "required wifi"])
        hub.unsubscribe(3)
        #expect(questions() == ["bound to v0"])
        hub.stop()
    }

    @Test func `answers within the call, then with every change`() async throws {
        let router = try Namespace()
        try Namespace.current.connectToRouter(router)
        var told: [UInt64: [String?]] = [:]
        for (id, name) in [(1, nil), (2, "v0"), (3, "nosuch0")] as [(UInt64, String?)] {
            hub.subscribe(id, to: PathQuestion(interface: name)) { path in
                told[id, default: []].append(path.reason?.rawValue)
            }
        }
        #expect(told == [1: [nil], 2: [nil], 3: ["no_interface"]])
        try router.set("r1", isUp: false)
        await Namespace.current.loop.eventually { told[1]?.last == "no_carrier" && told[2]?.last == "no_carrier" }
        #expect(told[3]?.allSatisfy { $0 == "no_interface" } == true)
        hub.stop()
    }
}
