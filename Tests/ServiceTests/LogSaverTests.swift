// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import Glibc
import LinuxIO
import Synchronization
import TestSupport
import Testing

@testable import PathService

@Suite(.inNamespace) struct LogSaverTests {
    private let loop = Namespace.current.loop
    private let scratch: Scratch
    private let log: EventLog
    private let hub: EventHub

    init() throws {
        scratch = try Scratch()
        let identity = DaemonIdentity(version: "0", revision: "r", processID: 1, bootID: nil)
        log = try EventLog(path: scratch.file("events.jsonl"), options: .init(identity: identity))
        hub = EventHub(.init(host: "h"))
        hub.attach(log)
    }

    private func publish() { hub.publish(DaemonStopping(signal: nil, uptime: .zero)) }

    @Test func `a disk that is slow holds up one save and nothing else`() async throws {
        let saves = Atomic(0)
        let running = Atomic(0)
        let isDiskStuck = Atomic(true)
        let loop = loop
        let saver = LogSaver(loop: loop, log: log) { unsaved in
            #expect(!loop.isCurrent)
            #expect(running.add(1, ordering: .relaxed).newValue == 1)
            while isDiskStuck.load(ordering: .acquiring) { usleep(1000) }
            unsaved.save()
            running.subtract(1, ordering: .relaxed)
            saves.add(1, ordering: .releasing)
        }
        publish()
        saver.schedule()
        await loop.eventually("the save begins") { saver.isSaving && !log.hasUnsaved }
        publish()
        saver.schedule()
        let index = HistoryIndex(loop: loop)
        index.read(log: scratch.file("events.jsonl"), upTo: hub.position)
        await loop.eventually("the log is read meanwhile") { index.reading == .complete }
        #expect(saver.isSaving && log.hasUnsaved && saves.load(ordering: .acquiring) == 0)
        isDiskStuck.store(false, ordering: .releasing)
        await loop.eventually("both are saved") { saves.load(ordering: .acquiring) == 2 && !saver.isSaving }
        #expect(!log.hasUnsaved)
    }
}
