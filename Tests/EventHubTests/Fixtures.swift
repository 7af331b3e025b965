// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import OrderedJSON
import TestSupport

/// An event with a value of its own.
struct Sample: EventBody {
    var name = EventName.pathChanged
    var severity = Severity.info
    var message = "Sample"
    var value: Double? = 1

    func write(to object: inout JSONObjectWriter) { object.writeIfPresent("value", value) }
}

/// Remembers what it was given, and may put records of its own first.
final class FakeJournal: EventJournal {
    var appended: [Event] = []
    var owed: [Sample] = []
    var commits = true

    func prepare(for hub: EventHub) {
        while let body = owed.first {
            let event = hub.draft(body)
            guard commits else { return }
            owed.removeFirst()
            appended.append(event)
            hub.commit(event)
        }
    }

    func append(_ event: Event) { appended.append(event) }
}

extension EventHub {
    /// A hub on a clock that stands, in stream 7f3a.
    static func sample(after sequence: UInt64 = 39, _ change: (inout Options) -> Void = { _ in }) throws -> EventHub {
        var options = Options(host: "edge-17")
        change(&options)
        return EventHub(options, after: try EventPosition("7f3a.\(sequence)"), clock: ManualClock())
    }
}

extension Event {
    var value: JSONValue? { try? JSONValue(parsing: json) }
}
