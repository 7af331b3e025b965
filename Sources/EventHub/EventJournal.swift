// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The durable first reader of a hub: the event log.
///
/// Before each event the hub lets the journal put records of its own first (a new file's `log.opened`, a `log.gap`),
/// so that what opens a file is always its first line.
public protocol EventJournal: AnyObject {
    /// Called before the next sequence number is given out.
    ///
    /// The journal may ``EventHub/draft(_:)`` a record with that number, write it, and ``EventHub/commit(_:)`` it
    /// when it is safe; a draft that is not committed leaves no trace. It must not publish.
    func prepare(for hub: EventHub)

    /// Appends a published event; errors are counted as a log gap, never thrown.
    func append(_ event: Event)
}
