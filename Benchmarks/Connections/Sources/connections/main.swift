// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// connections sends|receives PORT MEGABYTES    64 KiB at a time: seconds
// connections setup|waits|latency PORT COUNT   one after another: microseconds each
// connections open PORT COUNT                  all at once: seconds, KiB each
// connections cycles PORT COUNT                MiB after a tenth and after all, descriptors before and after
//
// What NWConnection does against generators/peer.c, which does the same with blocking sockets.

import Foundation
import Network
import Synchronization

/// Runs at most `most` of `count` jobs at once, each of which calls back, and returns when all have.
func perform(_ count: Int, atOnce most: Int, _ job: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
    let places = DispatchSemaphore(value: most)
    let group = DispatchGroup()
    for _ in 0..<count {
        places.wait()
        group.enter()
        job {
            places.signal()
            group.leave()
        }
    }
    group.wait()
}

func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("connections: \(text)\n".utf8))
    exit(2)
}

/// Seconds that something takes.
func seconds(_ work: () -> Void) -> Double {
    let elapsed = ContinuousClock().measure(work).components
    return Double(elapsed.seconds) + Double(elapsed.attoseconds) * 1e-18
}

/// The resident memory of this process, in KiB.
func resident() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
}

func descriptors() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

let queue = DispatchQueue(label: "connections")

func connection(_ port: NWEndpoint.Port) -> NWConnection { NWConnection(host: "127.0.0.1", port: port, using: .tcp) }

/// A connection that is ready.
func ready(_ port: NWEndpoint.Port) -> NWConnection {
    let connection = connection(port)
    let semaphore = DispatchSemaphore(value: 0)
    connection.stateUpdateHandler = { state in
        switch state {
        case .ready: semaphore.signal()
        case .failed(let error), .waiting(let error): fail("\(error)")
        default: break
        }
    }
    connection.start(queue: queue)
    semaphore.wait()
    connection.stateUpdateHandler = nil
    return connection
}

/// Sends, a few at once, and waits for the peer's word that it has all.
func sends(_ port: NWEndpoint.Port, _ megabytes: Int) {
    let connection = ready(port)
    let content = Data(repeating: 7, count: 65_536)
    let elapsed = seconds {
        perform(megabytes * 16, atOnce: 8) { done in
            connection.send(content: content, completion: .contentProcessed { error in
                if let error { fail("send: \(error)") }
                done()
            })
        }
        let heard = DispatchSemaphore(value: 0)
        connection.send(content: nil, contentContext: .finalMessage, completion: .contentProcessed { _ in })
        connection.receive(minimumIncompleteLength: 1, maximumLength: 1) { content, _, _, _ in
            if content?.count != 1 { fail("the peer did not say that it has all") }
            heard.signal()
        }
        heard.wait()
    }
    print(elapsed)
}

/// Receives until there are so many bytes.
func receives(_ port: NWEndpoint.Port, _ megabytes: Int) {
    let connection = ready(port)
    let over = DispatchSemaphore(value: 0)
    let left = Mutex(megabytes << 20)
    @Sendable func next() {
        connection.receive(minimumIncompleteLength: 1, maximumLength: 65_536) { content, _, _, error in
            guard let content else { fail("receive: \(String(describing: error))") }
            let rest = left.withLock { left in
                left -= content.count
                return left
            }
            if rest > 0 { next() } else { over.signal() }
        }
    }
    print(seconds {
        next()
        over.wait()
    })
    connection.forceCancel()
}

/// One connection after another: the handler that hears that one is ready cancels it and starts the next.
func setup(_ port: NWEndpoint.Port, _ count: Int) {
    let over = DispatchSemaphore(value: 0)
    let left = Mutex(count)
    @Sendable func next() {
        let connection = connection(port)
        connection.stateUpdateHandler = { state in
            switch state {
            case .ready:
                connection.cancel()
                let rest = left.withLock { left in
                    left -= 1
                    return left
                }
                if rest > 0 { next() } else { over.signal() }
            case .failed(let error), .waiting(let error): fail("\(error)")
            default: break
            }
        }
        connection.start(queue: queue)
    }
    print(seconds {
        queue.async { next() }
        over.wait()
    } / Double(count) * 1e6)
}

/// The same from a thread of its own, which waits for each.
func waits(_ port: NWEndpoint.Port, _ count: Int) {
    print(seconds { for _ in 0..<count { ready(port).cancel() } } / Double(count) * 1e6)
}

/// A message of 64 bytes and its echo, again and again.
func latency(_ port: NWEndpoint.Port, _ count: Int) {
    let connection = ready(port)
    let content = Data(repeating: 7, count: 64)
    let over = DispatchSemaphore(value: 0)
    let left = Mutex(count)
    @Sendable func next() {
        connection.send(content: content, completion: .idempotent)
        connection.receive(minimumIncompleteLength: 64, maximumLength: 64) { content, _, _, error in
            if content?.count != 64 { fail("receive: \(String(describing: error))") }
            let rest = left.withLock { left in
                left -= 1
                return left
            }
            if rest > 0 { next() } else { over.signal() }
        }
    }
    print(seconds {
        next()
        over.wait()
    } / Double(count) * 1e6)
}

func open(_ port: NWEndpoint.Port, _ count: Int) {
    // What the first connection brings along is not counted.
    let first = ready(port)
    let before = resident()
    let all = Mutex<[NWConnection]>([])
    let elapsed = seconds {
        perform(count, atOnce: 256) { done in
            let connection = connection(port)
            connection.stateUpdateHandler = { state in
                switch state {
                case .ready: done()
                case .failed(let error), .waiting(let error): fail("\(error)")
                default: break
                }
            }
            connection.start(queue: queue)
            all.withLock { $0.append(connection) }
        }
    }
    let each = Double(resident() - before) / Double(count)
    // Every one of them is of use.
    let content = Data("hello".utf8)
    let connections = Mutex(all.withLock { $0 })
    perform(count, atOnce: 256) { done in
        guard let connection = connections.withLock({ $0.popLast() }) else { fail("a connection is missing") }
        connection.send(content: content, completion: .idempotent)
        connection.receive(minimumIncompleteLength: 5, maximumLength: 5) { answer, _, _, _ in
            if answer != content { fail("an echo is missing") }
            done()
        }
    }
    print(elapsed, each)
    withExtendedLifetime(first) {}
}

func cycles(_ port: NWEndpoint.Port, _ count: Int) {
    _ = ready(port)
    var early = (resident: 0, descriptors: 0)
    for part in 0..<10 {
        perform(count / 10, atOnce: 32) { done in
            let connection = connection(port)
            connection.stateUpdateHandler = { state in
                switch state {
                case .ready: connection.cancel()
                case .cancelled: done()
                case .failed(let error), .waiting(let error): fail("\(error)")
                default: break
                }
            }
            connection.start(queue: queue)
        }
        // The last ones close their sockets just after they said so.
        if part == 0 || part == 9 { usleep(200_000) }
        if part == 0 { early = (resident(), descriptors()) }
    }
    print(Double(early.resident) / 1024, Double(resident()) / 1024, early.descriptors, descriptors())
}

let actions = [
    "sends": sends, "receives": receives, "setup": setup, "waits": waits, "latency": latency, "open": open, "cycles": cycles,
]
let words = CommandLine.arguments
guard words.count == 4, let action = actions[words[1]], let port = NWEndpoint.Port(words[2]),
    let count = Int(words[3]), (1...1_000_000).contains(count)
else { fail("usage: connections \(actions.keys.sorted().joined(separator: "|")) PORT COUNT") }
action(port, count)
