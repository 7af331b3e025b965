// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import EventHub
internal import Glibc

/// Sends events to systemd's journal by its native protocol.
///
/// libsystemd's own call waits for a journal that is stuck; this one drops the entry instead, which is in the event
/// log all the same.
struct JournalSocket {
    var path = "/run/systemd/journal/socket"

    /// Whether standard error leads to the journal, so that its readers look there (`JOURNAL_STREAM`, systemd.exec(5)).
    static func isStandardError(_ environment: [String: String]) -> Bool {
        var status = stat()
        guard let stream = environment["JOURNAL_STREAM"], unsafe fstat(STDERR_FILENO, &status) == 0 else {
            return false
        }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends an event; those for debugging stay in the event log.
    func take(_ event: Event) {
        guard event.severity > .debug else { return }
        send(JournalRecord(event))
    }

    /// Sends one entry without waiting.
    /// - Returns: Whether the journal took it; a stuck or absent one does not.
    @discardableResult
    func send(_ record: JournalRecord) -> Bool {
        let bytes = record.bytes
        return unsafe nwp_unix_send_datagram(path, bytes, bytes.count) == 0
    }
}
