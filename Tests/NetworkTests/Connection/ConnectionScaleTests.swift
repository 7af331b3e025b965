// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import LinuxIO
@testable import Network
import Synchronization
import TestSupport
import Testing

/// Many connections, many threads, and nothing left behind.
@Suite(.inNamespace) struct ConnectionScaleTests {
    private let loop = Namespace.current.loop

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    /// How many sockets this namespace has, of whatever process.
    private func sockets() throws -> Int {
        let text = try Namespace.current.run("cat /proc/net/sockstat /proc/net/sockstat6")
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("TCP:") || $0.hasPrefix("TCP6:") }
        #expect(lines.count == 2)
        return lines.compactMap { Int($0.split(separator: " ")[2]) }.reduce(0, +)
    }

    @Test func `a hundred connections are open at once, and closed again`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let clients = (0..<100).map { _ in Watched(to: "127.0.0.1", port).start() }
        await eventually("all ready") {
            clients.allSatisfy { $0.state == .ready } && listener.accepted.values.count == clients.count
        }
        for (number, client) in clients.enumerated() { client.send("\(number)", .finalMessage) }
        let servers = listener.accepted.values
        for server in servers { server.receiveMessage() }
        await eventually("all heard") { servers.allSatisfy { $0.received.values.count == 1 } }
        #expect(Set(servers.compactMap { $0.received.values.first?.text }) == Set((0..<100).map { "\($0)" }))
        #expect(try sockets() >= 200)
        for one in clients + servers { one.connection.cancel() }
        await eventually("all cancelled") { (clients + servers).allSatisfy { $0.states.values.last == .cancelled } }
        listener.listener.cancel()
        await eventually("no socket") { (try? sockets()) == 0 }
    }

    @Test func `connections that come and go leave nothing`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        for round in 0..<50 {
            let clients = (0..<10).map { _ in Watched(to: "127.0.0.1", port).start() }
            // Some are cancelled before they are ready, some after, some are dropped.
            if round % 2 == 0 { await eventually("ready") { clients.allSatisfy { $0.state == .ready } } }
            for client in clients.prefix(round % 5 == 0 ? 0 : 10) { client.connection.cancel() }
            for server in listener.accepted.values { server.connection.cancel() }
        }
        listener.listener.cancel()
        await eventually("no socket") {
            for server in listener.accepted.values { server.connection.cancel() }
            return (try? sockets()) == 0
        }
    }

    @Test func `an object that is cancelled goes`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        weak var gone: NWConnection?
        let states = Record<NWConnection.State>()
        do {
            let connection = NWConnection(host: "127.0.0.1", port: port, using: .tcp)
            gone = connection
            // A cycle, as programs have it: the handler holds the connection, until the last call.
            connection.stateUpdateHandler = { state in
                states.append(state)
                withExtendedLifetime(connection) {}
            }
            connection.start(queue: .apart)
            await eventually("ready") { states.values.last == .ready }
            connection.cancel()
        }
        await eventually("gone") { gone == nil }
        #expect(states.values == [.preparing, .ready, .cancelled])
    }

    @Test func `what one thread sends stays in order, whatever others do`() async throws {
        let listener = try WatchedListener()
        let client = Watched(to: "127.0.0.1", await listener.start()).start()
        await eventually("ready") { client.state == .ready && !listener.accepted.values.isEmpty }
        let server = try #require(listener.accepted.values.first)
        server.receiveMessage()
        let (threads, count) = (4, 200)
        let group = DispatchGroup()
        for thread in 0..<threads {
            DispatchQueue.apart.async(group: group) {
                for number in 0..<count { client.send("\(thread):\(number);") }
            }
        }
        group.notify(queue: .apart) { client.send(nil, .finalMessage) }
        await eventually("all") { server.received.values.count == 1 }
        let words = (server.received.values.first?.text ?? "").split(separator: ";")
        #expect(words.count == threads * count)
        for thread in 0..<threads {
            let own = words.filter { $0.hasPrefix("\(thread):") }.map { String($0.dropFirst(2)) }
            #expect(own == (0..<count).map { "\($0)" })
        }
    }

    @Test func `handlers are called one after another, on the queue, also when that is concurrent`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let queue = DispatchQueue(label: "test.concurrent", qos: .userInitiated, attributes: .concurrent)
        let inside = Atomic<Int>(0)
        let most = Atomic<Int>(0)
        let received = Record<Data>()
        let connection = NWConnection(host: "127.0.0.1", port: port, using: .tcp)
        connection.start(queue: queue)
        await eventually("ready") { connection.state == .ready && !listener.accepted.values.isEmpty }
        let server = try #require(listener.accepted.values.first)
        for _ in 0..<100 {
            connection.receive(minimumIncompleteLength: 1, maximumLength: 1) { content, _, _, _ in
                dispatchPrecondition(condition: .onQueue(queue))
                let now = inside.add(1, ordering: .sequentiallyConsistent).newValue
                _ = most.max(now, ordering: .sequentiallyConsistent)
                if let content { received.append(content) }
                inside.subtract(1, ordering: .sequentiallyConsistent)
            }
        }
        let text = String((0..<100).map { Character(UnicodeScalar(UInt8(33 + $0 % 90))) })
        server.send(text)
        await eventually("all") { received.values.count == 100 }
        #expect(String(decoding: received.values.joined(), as: UTF8.self) == text)
        #expect(most.load(ordering: .sequentiallyConsistent) == 1)
    }

    @Test func `a handler that blocks its queue holds nobody else up`() async throws {
        let listener = try WatchedListener()
        let port = await listener.start()
        let (blocked, free) = (Watched(to: "127.0.0.1", port), Watched(to: "127.0.0.1", port))
        let semaphore = DispatchSemaphore(value: 0)
        blocked.connection.stateUpdateHandler = { _ in semaphore.wait() }
        blocked.start()
        free.start()
        await eventually("the free one") { free.states.values.last == .ready }
        await eventually("the state of the other") { blocked.state == .ready }
        for _ in 0..<4 { semaphore.signal() }
    }
}
