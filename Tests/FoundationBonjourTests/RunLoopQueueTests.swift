// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import FoundationBonjour
import LinuxIO
import TestSupport
import Testing

@Suite(.inNamespace) struct RunLoopQueueTests {
    private let loop = Namespace.current.loop

    @Test func `delivers on the thread of the run loop, in order`() async {
        let host = await Host(in: Namespace.current)
        host.perform { host in
            let thread = Thread.current
            let mailbox = RunLoopQueue<Int> { [log = host.log] events in
                for event in events { log.write("\(event) \(Thread.current === thread)") }
            }
            mailbox.schedule(in: .current, forMode: .default)
            host.keep(mailbox, as: "mailbox")
            Thread.detachNewThread { for number in 1...50 { mailbox.post(number) } }
        }
        await loop.eventually("all") { host.log.lines.count == 50 }
        #expect(host.log.lines == (1...50).map { "\($0) true" })
        host.end()
    }

    @Test func `gathers what comes while the run loop is busy`() async {
        let host = await Host(in: Namespace.current)
        host.perform { host in
            let mailbox = RunLoopQueue<Int> { [log = host.log] events in log.write("\(events)") }
            mailbox.schedule(in: .current, forMode: .default)
            host.keep(mailbox, as: "mailbox")
            for number in 1...3 { mailbox.post(number) }
        }
        await loop.eventually("the delivery") { host.log.lines == ["[1, 2, 3]"] }
        host.end()
    }

    @Test func `what comes while it is scheduled nowhere is delivered later`() async {
        let host = await Host(in: Namespace.current)
        host.perform { host in
            let mailbox = RunLoopQueue<Int> { [log = host.log] events in log.write("\(events)") }
            host.keep(mailbox, as: "mailbox")
            mailbox.schedule(in: .current, forMode: .default)
            mailbox.schedule(in: .current, forMode: .default)
            mailbox.remove(from: .current, forMode: .default)
            mailbox.remove(from: .current, forMode: .default)
            mailbox.post(1)
            host.log.write("posted")
        }
        await loop.eventually("the post") { host.log.lines == ["posted"] }
        host.perform { host in
            host.log.write("scheduled")
            (unsafe host.objects["mailbox"] as? RunLoopQueue<Int>)?.schedule(in: .current, forMode: .default)
        }
        await loop.eventually("the delivery") { host.log.lines == ["posted", "scheduled", "[1]"] }
        host.end()
    }

    @Test func `a run loop waits for it, and ends without it`() {
        var mailbox: RunLoopQueue<Int>? = RunLoopQueue { _ in }
        mailbox?.schedule(in: .current, forMode: .init("test"))
        let soon = Date(timeIntervalSinceNow: 0.01)
        #expect(RunLoop.current.run(mode: .init("test"), before: soon))
        mailbox = nil
        #expect(!RunLoop.current.run(mode: .init("test"), before: .distantFuture))
    }
}
