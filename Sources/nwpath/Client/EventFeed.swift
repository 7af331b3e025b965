// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON
internal import Spelling

/// What becomes of the lines of an event stream: which are shown, where to go on, when it is enough.
///
/// Pure: lines in, actions out.
struct EventFeed {
    enum Action: Equatable {
        case show(JSONValue)
        /// Nothing: nobody asked for it.
        case skip
        /// The daemon says that it ends the stream, and why.
        case ended(reason: String)
        /// It is not JSON, or not an event.
        case malformed
    }

    /// Which events are wanted; all without patterns.
    let patterns: [Glob]
    /// How many events are wanted; `nil` is without end.
    private let limit: Int?
    private var shown = 0
    /// The id of the last event, such as `7f3a.45`; `nil` before the first.
    private(set) var position: String?

    /// Begins after `position`.
    init(patterns: [Glob] = [], limit: Int? = nil, position: String? = nil) {
        self.patterns = patterns
        self.limit = limit
        self.position = position
    }

    /// Whether as many events were shown as were wanted.
    var isDone: Bool { limit.map { shown >= $0 } ?? false }

    mutating func begin(after position: String?) { self.position = position }

    mutating func receive(_ line: some StringProtocol) -> Action {
        guard let event = try? JSONValue(parsing: Array(line.utf8)) else { return .malformed }
        return receive(event)
    }

    mutating func receive(_ event: JSONValue) -> Action {
        guard let name = event["event"]?.string, let id = Self.id(of: event) else { return .malformed }
        if name == "stream.closed" { return .ended(reason: event["closed"]?.text("reason") ?? "") }
        position = id
        // That events are missing matters whatever was asked for, and counts for nothing.
        if name == "stream.reset" { return .show(event) }
        guard patterns.isEmpty || patterns.contains(where: { $0.matches(name) }) else { return .skip }
        shown += 1
        return .show(event)
    }

    /// The id of an event, or of the event a document is as new as.
    static func id(of value: JSONValue) -> String? {
        guard let stream = value["stream"]?.string, let sequence = value["seq"]?.uint64 else { return nil }
        return "\(stream).\(sequence)"
    }

    /// The patterns as the daemon understands them; `nil` when it must send everything.
    var serverFilter: String? {
        let texts = patterns.map(\.description)
        guard !texts.isEmpty, !texts.contains(where: { $0.contains { "?[],".contains($0) } }) else { return nil }
        return texts.joined(separator: ",")
    }
}
