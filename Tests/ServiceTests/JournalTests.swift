// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import Glibc
import LinuxIO
import OrderedJSON
import PathModel
import TestSupport
import Testing

@testable import PathService

/// An event with a message of our choice.
private struct Note: EventBody {
    var name = EventName.pathChanged
    var severity = Severity.info
    var message = "Path default is satisfied"
    var interface: Interface?
    var monitor: String?

    struct Interface: JSONObjectWritable {
        var name: String
        func write(to object: inout JSONObjectWriter) { object.write("name", name) }
    }

    func write(to object: inout JSONObjectWriter) {
        object.writeIfPresent("interface", interface)
        object.writeIfPresent("monitor", monitor)
    }
}

/// Events in systemd's journal, by its native protocol.
@Suite(.inNamespace) struct JournalTests {
    private func event(_ note: Note) throws -> Event {
        let hub = EventHub(.init(host: "h"), after: EventPosition(stream: try #require(StreamID("7f3a")), sequence: 41))
        hub.minimumSeverity = .debug
        return try #require(hub.publish(note))
    }

    private func text(_ note: Note) throws -> String {
        String(decoding: JournalRecord(try event(note)).bytes, as: UTF8.self)
    }

    @Test func `an event has its fields`() throws {
        #expect(
            try text(Note(interface: .init(name: "eth0"), monitor: "default")) == """
                MESSAGE=Path default is satisfied
                MESSAGE_ID=\(JournalRecord.identifier(of: .pathChanged))
                PRIORITY=6
                SYSLOG_IDENTIFIER=nwpath
                NWPATH_EVENT=path.changed
                NWPATH_SEQ=42
                NWPATH_STREAM=7f3a
                NWPATH_INTERFACE=eth0
                NWPATH_MONITOR=default

                """
        )
    }

    @Test(arguments: zip(Severity.allCases, ["7", "6", "4", "3"]))
    func `a severity is a priority of syslog`(severity: Severity, priority: String) throws {
        #expect(try text(Note(severity: severity)).contains("\nPRIORITY=\(priority)\n"))
    }

    @Test func `a message of two lines cannot forge a field`() throws {
        let message = "first\nPRIORITY=0"
        let bytes = JournalRecord(try event(Note(message: message))).bytes
        let start = Array("MESSAGE\n".utf8) + [UInt8(message.utf8.count)] + [UInt8](repeating: 0, count: 7)
        #expect(bytes.starts(with: start + Array(message.utf8) + [0x0A]))
    }

    @Test func `each kind of event has an identifier of its own that never changes`() {
        let identifiers = EventName.allCases.map(JournalRecord.identifier)
        #expect(Set(identifiers).count == EventName.allCases.count)
        for identifier in identifiers {
            #expect(identifier.utf8.count == 32 && identifier.allSatisfy { $0.isHexDigit && !$0.isUppercase })
            let digits = Array(identifier)
            // The form of a random UUID, sd-id128(3).
            #expect(digits[12] == "4" && "89ab".contains(digits[16]))
        }
        #expect(JournalRecord.identifier(of: .pathChanged) == "fa98ade64a024a13a18ed9b1449a9030")
    }

    @Test func `the journal hears events, but not those for debugging`() async throws {
        let scratch = try Scratch()
        let path = scratch.file("journal")
        let file = "OPEN:\(scratch.file("heard")),creat,append"
        let listener = try RunningCommand(["socat", "-u", "UNIX-RECV:" + path, file])
        let loop = Namespace.current.loop
        await loop.eventually(within: .seconds(20), "the socket") { scratch.exists("journal") }
        let journal = JournalSocket(path: path)
        journal.take(try event(Note(severity: .debug, message: "not this")))
        journal.take(try event(Note(message: "but this")))
        await loop.eventually(within: .seconds(20), "the event") {
            ((try? scratch.text("heard")) ?? "").contains("MESSAGE=but this\n")
        }
        #expect(try !scratch.text("heard").contains("not this"))
        withExtendedLifetime(listener) {}
    }

    @Test func `a journal that is absent or does not read costs entries, not time`() async throws {
        let scratch = try Scratch()
        let record = JournalRecord(try event(Note()))
        #expect(!JournalSocket(path: scratch.file("journal")).send(record))
        #expect(!JournalSocket(path: String(repeating: "x", count: 200)).send(record))
        let listener = try RunningCommand(["socat", "-u", "UNIX-RECV:" + scratch.file("journal"), "STDOUT"])
        let loop = Namespace.current.loop
        let journal = JournalSocket(path: scratch.file("journal"))
        await loop.eventually(within: .seconds(20), "the socket") { journal.send(record) }
        listener.signal(SIGSTOP)
        // The queue of a datagram socket is short (net.unix.max_dgram_qlen).
        await loop.eventually(within: .seconds(20), "a full queue") { !journal.send(record) }
        listener.signal(SIGCONT)
        await loop.eventually(within: .seconds(20), "room") { journal.send(record) }
    }

    @Test func `only a standard error that leads to the journal counts`() throws {
        var status = stat()
        try #require(unsafe fstat(STDERR_FILENO, &status) == 0)
        let mine = "\(status.st_dev):\(status.st_ino)"
        #expect(JournalSocket.isStandardError(["JOURNAL_STREAM": mine]))
        #expect(!JournalSocket.isStandardError(["JOURNAL_STREAM": mine + "1"]))
        #expect(!JournalSocket.isStandardError([:]))
    }
}
