// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import Glibc
import LinuxIO

/// Publishes events until it is killed, for the tests of the log.
///
/// Arguments: the log; a file whose first eight bytes are the last number whose publication returned; the size at which
/// the log rotates (0: never); how many events to publish (0: no end). SIGUSR1 reopens the log, SIGTERM ends it.
/// Without an end it publishes about a thousand a second, and rests two seconds after its start or after SIGUSR1: while a
/// test waits for its turn the log would become so long that reading it is most of what the suite does.
@main enum EventLogWriter {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 4, let size = Int(arguments[3]), let count = UInt64(arguments[4]) else {
            print("usage: EventLogWriter LOG ACKNOWLEDGED ROTATION-SIZE COUNT")
            exit(2)
        }
        do {
            try run(log: arguments[1], acknowledged: arguments[2], size: size, count: count)
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    private static func run(log path: String, acknowledged: String, size: Int, count: UInt64) throws {
        let loop = try EventLoop()
        let identity = DaemonIdentity(version: "0.1.0", revision: "test", processID: getpid(), bootID: nil)
        var options = EventLog.Options(identity: identity)
        options.rotation = size > 0 ? RotationPolicy(size: size, keep: 1000) : .external
        options.checkInterval = .milliseconds(50)
        let log = try EventLog(path: path, options: options)
        let hub = EventHub(EventHub.Options(host: "writer"), after: log.recovered)
        hub.attach(log)
        let side = try FileDescriptor(opening: acknowledged, flags: O_RDWR | O_CREAT).release()
        let publisher = Publisher(hub, loop: loop, side: side)
        try loop.handleSignals([SIGUSR1, SIGTERM]) { signal in
            guard signal == SIGUSR1 else { return loop.stop() }
            log.reopen()
            hub.prepareJournal()
            publisher.resume()
        }
        if count == 0 { publisher.resume() } else { publisher.publish(count) }
        loop.run()
        print(hub.position.sequence, log.status.rotations, log.status.reopenings, log.status.errors)
    }
}

private final class Publisher {
    private let hub: EventHub
    private let loop: EventLoop
    private let side: Int32
    private var left: UInt64 = 0

    init(_ hub: EventHub, loop: EventLoop, side: Int32) {
        self.hub = hub
        self.loop = loop
        self.side = side
    }

    /// Publishes about a thousand a second, for two seconds.
    func resume() {
        defer { left = 2000 }
        if left == 0 { loop.schedule(after: .zero) { self.publishSome(pause: .milliseconds(10)) {} } }
    }

    func publish(_ count: UInt64) {
        left = count
        publishSome(pause: .zero) { self.loop.stop() }
    }

    private func publishSome(pause: Duration, end: @escaping () -> Void) {
        for _ in 0..<10 where left > 0 {
            left -= 1
            let event = hub.publish(NetlinkOverrun(total: left, resync: .milliseconds(12), changesFound: 4))
            var number = event?.sequence ?? 0
            _ = unsafe pwrite(side, &number, 8, 0)
        }
        guard left > 0 else { return end() }
        loop.schedule(after: pause) { self.publishSome(pause: pause, end: end) }
    }
}
