// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Synchronization
import TestSupport
import Testing

/// A value that tasks share.
private final class Shared<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    init(_ value: Value) { mutex = Mutex(value) }

    var value: Value { mutex.withLock { $0 } }

    func change(_ body: (inout Value) -> Void) { mutex.withLock { body(&$0) } }
}

/// An actor that lives on a loop, as the daemon does.
private actor Resident {
    nonisolated let loop: EventLoop
    private(set) var count = 0

    init(loop: EventLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    func add() -> Bool {
        count += 1
        return loop.isCurrent
    }

    /// Counts from a handler of the loop, without waiting.
    nonisolated func addNow() { assumeIsolated { $0.count += 1 } }
}

@Suite(.inNamespace) struct ExecutorTests {
    private let loop = Namespace.current.loop

    @Test func `calls from many threads all run on the loop, each thread's in its order`() async {
        let loop = loop
        let heard = Shared<[[Int]]>(Array(repeating: [], count: 8))
        let strays = Shared(0)
        await withTaskGroup { group in
            for thread in 0..<8 {
                group.addTask(executorPreference: globalConcurrentExecutor) {
                    for number in 0..<500 {
                        loop.perform {
                            if !loop.isCurrent { strays.change { $0 += 1 } }
                            heard.change { $0[thread].append(number) }
                        }
                    }
                }
            }
        }
        await loop.eventually { heard.value.allSatisfy { $0.count == 500 } }
        #expect(heard.value.allSatisfy { $0 == Array(0..<500) })
        #expect(strays.value == 0)
    }

    @Test func `an actor on the loop runs there, whoever calls it`() async {
        let resident = Resident(loop: loop)
        let places = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask(executorPreference: globalConcurrentExecutor) { await resident.add() }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(places == Array(repeating: true, count: 50))
        #expect(await resident.count == 50)
    }

    @Test func `handlers of the loop are isolated to its actors`() async throws {
        let resident = Resident(loop: loop)
        loop.schedule(after: .zero) { resident.addNow() }
        loop.perform { resident.addNow() }
        var ends: [Int32] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        let writer = FileDescriptor(owning: ends[1])
        var watch: EventLoop.Registration?
        watch = try loop.register(reader.rawValue, for: .readable) { [loop] _ in
            resident.addNow()
            if let watch { loop.unregister(watch) }
        }
        try writer.writeAll([1].span)
        var count = 0
        while count < 3 { count = await resident.count }
        #expect(count == 3)
        _ = reader.rawValue
    }

    @Test func `elsewhere nobody is isolated to the loop`() async {
        let loop = loop
        #expect(loop.isIsolatingCurrentContext() == true)
        let elsewhere = await withTaskGroup(of: Bool?.self) { group in
            group.addTask(executorPreference: globalConcurrentExecutor) { loop.isIsolatingCurrentContext() }
            return await group.next() ?? nil
        }
        #expect(elsewhere == false)
    }

    @Test func `a task that always yields starves neither timers nor descriptors`() async throws {
        let loop = loop
        let isOver = Shared(false)
        var ends: [Int32] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        let writer = FileDescriptor(owning: ends[1])
        let fired = Shared(0)
        let watch = try loop.register(reader.rawValue, for: .readable) { _ in
            fired.change { $0 += 1 }
            _ = try? FileDescriptor(owning: dup(ends[0])).read(upTo: 1)
        }
        loop.schedule(after: .milliseconds(1)) { fired.change { $0 += 1 } }
        try writer.writeAll([1].span)
        let rounds = await withTaskGroup(of: Int.self) { group in
            group.addTask {
                var rounds = 0
                while rounds < 1_000_000, fired.value < 2 {
                    await Task.yield()
                    rounds += 1
                }
                isOver.change { $0 = true }
                return rounds
            }
            return await group.next() ?? 0
        }
        #expect(rounds < 1_000_000 && isOver.value)
        loop.unregister(watch)
        _ = reader.rawValue
    }

    @Test func `calls that always hand in the next starve no timer`() async {
        let loop = loop
        let rounds = Shared(0)
        let isOver = Shared(false)
        @Sendable func again() {
            rounds.change { $0 += 1 }
            if rounds.value < 1_000_000 && !isOver.value { loop.perform(again) }
        }
        loop.perform(again)
        var hasFired = false
        loop.schedule(after: .milliseconds(1)) { hasFired = true }
        await loop.eventually { hasFired }
        isOver.change { $0 = true }
        #expect(rounds.value < 1_000_000)
    }
}

@Suite struct RunTests {
    @Test func `a loop runs until it is stopped, and stays stopped`() throws {
        let loop = try EventLoop()
        var fired: [String] = []
        loop.schedule(after: .milliseconds(1)) { fired.append("timer") }
        loop.schedule(after: .milliseconds(2)) { loop.stop() }
        loop.schedule(after: .seconds(3600)) { fired.append("never") }
        loop.run()
        #expect(fired == ["timer"])
        loop.perform { Issue.record("ran after the end") }
        loop.run()
        #expect(fired == ["timer"])
    }

    @Test func `a loop that is over lets go of what its handlers hold`() throws {
        final class Engine {
            let loop: EventLoop
            var watch: EventLoop.Registration?
            init(loop: EventLoop) { self.loop = loop }
            deinit { if let watch { loop.unregister(watch) } }
        }
        let loop = try EventLoop()
        var ends: [Int32] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        let writer = FileDescriptor(owning: ends[1])
        var engine: Engine? = Engine(loop: loop)
        weak let remains = engine
        engine?.watch = try loop.register(reader.rawValue, for: .readable) { [engine] _ in _ = engine }
        loop.schedule(after: .seconds(3600)) { [engine] in _ = engine }
        engine = nil
        #expect(remains != nil)
        loop.stop()
        loop.run()
        #expect(remains == nil)
        _ = (reader.rawValue, writer.rawValue)
    }

    @Test func `what was handed in before the start runs at its beginning`() throws {
        let loop = try EventLoop()
        let calls = Shared<[Int]>([])
        for number in 0..<3 { loop.perform { calls.change { $0.append(number) } } }
        loop.perform { loop.perform { loop.stop() } }
        loop.run()
        #expect(calls.value == [0, 1, 2])
    }

    @Test func `a stop before the start ends it at once`() throws {
        let loop = try EventLoop()
        loop.stop()
        loop.run()
        #expect(loop.isCurrent)
    }

    @Test func `signals come to their handler by number`() throws {
        let loop = try EventLoop()
        var heard: [Int32] = []
        try loop.handleSignals([SIGUSR1, SIGUSR2]) { signal in
            heard.append(signal)
            if heard.count == 2 { loop.stop() }
        }
        // To this thread alone, in which they are blocked: the process would end by them.
        #expect(pthread_kill(pthread_self(), SIGUSR2) == 0)
        #expect(pthread_kill(pthread_self(), SIGUSR1) == 0)
        loop.run()
        #expect(heard.sorted() == [SIGUSR1, SIGUSR2].sorted())
    }
}
