// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
internal import OrderedJSON

/// Numbers events, encodes each once, and hands them to the journal and then to the sinks.
///
/// Confined to one event loop. An event that a sink publishes while it is called reaches the journal at once and the
/// sinks after the event in hand, so everybody sees all events in the order of their numbers.
public final class EventHub {
    public struct Options: Sendable {
        public var host: String
        /// The least severity that is published.
        public var minimumSeverity = Severity.info
        /// How many events are kept for replay.
        public var replayCount = 4096
        /// How many bytes of records are kept for replay.
        public var replayBytes = 1 << 20

        /// Makes options with the default bounds: 4,096 events and 1 MiB.
        public init(host: String) {
            self.host = host
        }
    }

    private let clock: any TimeSource
    private let encoder = OrderedJSONEncoder()
    private var journal: (any EventJournal)?
    private var sinks: [(Event) -> Void] = []
    private var ring: ReplayRing
    private var undelivered: [Event] = []
    private var isDelivering = false
    private var counts: [EventName: UInt64]

    /// The last event that was published: its stream, and its number (0 before the first).
    public private(set) var position: EventPosition
    /// The least severity that is published; may be changed when the configuration is reloaded.
    public var minimumSeverity: Severity
    /// The machine's name in every event from now on; may be changed when the machine gets another one.
    public var host: String
    /// How many bodies could not be encoded and were published without their data.
    public private(set) var encodingFailures: UInt64 = 0

    /// Makes a hub that goes on after `position`.
    ///
    /// - Parameters:
    ///   - options: Its identity and bounds.
    ///   - position: The last record of the log; `nil` begins a new stream.
    ///   - clock: Where the time of records comes from.
    public init(_ options: Options, after position: EventPosition? = nil, clock: any TimeSource = KernelClock()) {
        self.clock = clock
        self.position = position ?? EventPosition(stream: .random(), sequence: 0)
        minimumSeverity = options.minimumSeverity
        host = options.host
        ring = ReplayRing(maximumCount: options.replayCount, maximumBytes: options.replayBytes)
        counts = Dictionary(uniqueKeysWithValues: EventName.allCases.map { ($0, 0) })
    }

    /// Makes `journal` the first reader of every event from now on.
    public func attach(_ journal: any EventJournal) {
        self.journal = journal
    }

    /// Calls `handler` with every event from now on, after the journal and the sinks added before.
    public func addSink(_ handler: @escaping (Event) -> Void) {
        sinks.append(handler)
    }

    /// Publishes an event to the journal and all sinks.
    ///
    /// - Returns: The event; `nil` when its severity is below ``minimumSeverity``.
    @discardableResult
    public func publish(_ body: some EventBody) -> Event? {
        guard body.severity >= minimumSeverity else { return nil }
        journal?.prepare(for: self)
        let event = draft(body)
        journal?.append(event)
        commit(event)
        return event
    }

    /// Lets the journal write what it owes, such as a `log.gap` after a full disk; for the owner's timer.
    public func prepareJournal() {
        journal?.prepare(for: self)
    }
}

// MARK: - For the journal and for streams

extension EventHub {
    /// Encodes an event with the next number, without publishing it.
    public func draft(_ body: some EventBody) -> Event {
        makeEvent(body, sequence: position.sequence + 1)
    }

    /// Encodes an event for one reader alone, with the number of the newest event; it is neither published nor counted.
    public func notice(_ body: some EventBody) -> Event { makeEvent(body, sequence: position.sequence) }

    /// Publishes a draft to all sinks; one that is not the next event any more is dropped.
    ///
    /// - Returns: Whether it was published.
    @discardableResult
    public func commit(_ event: Event) -> Bool {
        guard event.stream == position.stream, event.sequence == position.sequence + 1 else { return false }
        position = event.position
        counts[event.name, default: 0] += 1
        ring.append(event)
        undelivered.append(event)
        deliver()
        return true
    }

    private func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        var index = 0
        while index < undelivered.count {
            let event = undelivered[index]
            for sink in sinks { sink(event) }
            index += 1
        }
        undelivered.removeAll(keepingCapacity: true)
        isDelivering = false
    }

    private func makeEvent(_ body: some EventBody, sequence: UInt64) -> Event {
        let time = clock.wall
        let envelope = EventEnvelope(
            time: time.description,
            seq: sequence,
            stream: position.stream,
            event: body.name,
            severity: body.severity,
            host: host,
            message: body.message
        )
        return Event(
            record: EventRecord(
                position: EventPosition(stream: position.stream, sequence: sequence),
                name: body.name.rawValue,
                line: encode(envelope, body)
            ),
            time: time,
            name: body.name,
            severity: body.severity,
            message: body.message,
            status: body.status
        )
    }

    private func encode(_ envelope: EventEnvelope, _ body: some EventBody) -> [UInt8] {
        do {
            return try encoder.encode(capacity: 1024, terminator: 0x0A) { object in
                envelope.write(to: &object)
                body.write(to: &object)
            }
        } catch {
            encodingFailures += 1
            // Strings and whole numbers alone always encode.
            let line = try? encoder.encode(terminator: 0x0A) { object in
                envelope.write(to: &object)
                object.write("encoding_error", error.description)
            }
            return line ?? []
        }
    }
}

// MARK: - History

extension EventHub {
    public struct Replay: Sendable {
        /// The events still kept, oldest first.
        public let events: [Event]
        /// Whether nothing is missing between the reader's position and these events.
        public let isComplete: Bool
    }

    /// The events after a sequence number of this stream, as far as they are still kept.
    public func events(since sequence: UInt64) -> Replay {
        guard sequence <= position.sequence else { return Replay(events: [], isComplete: false) }
        let events = ring.events(after: sequence)
        let isComplete = events.first.map { $0.sequence == sequence + 1 } ?? (sequence == position.sequence)
        return Replay(events: events, isComplete: isComplete)
    }

    /// How many events of each name were published since the start; every name of the catalogue is there.
    public var publishedCounts: [(name: EventName, count: UInt64)] {
        EventName.allCases.map { ($0, counts[$0] ?? 0) }
    }
}
