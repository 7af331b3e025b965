// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// Folds the events of one cause into one line: what happened first, and what went or came with it.
///
/// Pure: events and moments in, text out. The line of the first event is told at once, without its end.
struct EventFolder {
    enum Output: Equatable {
        /// An event that stands alone: a whole line.
        case line(JSONValue)
        /// The first event of a cause: a line that goes on.
        case opening(JSONValue)
        /// The rest of the line that was opened, empty when nothing followed.
        case rest(String)
    }

    private struct Group {
        let first: JSONValue
        let sequence: UInt64
        let interface: String
        let began: Duration
        var followers: [JSONValue] = []
    }

    private var group: Group?

    /// For how long events join the first one: the headline is told after a second, services are found again after two.
    static let window = Duration.milliseconds(2500)

    /// Takes the next event.
    ///
    /// `now` is when it came, or when it happened if all are of the past; only differences count.
    mutating func add(_ event: JSONValue, at now: Duration) -> [Output] {
        var outputs = settle(at: now)
        if belongs(event) {
            group?.followers.append(event)
            return outputs
        }
        outputs += finish()
        guard let cause = event["cause"], cause["seq"] == nil, let sequence = event["seq"]?.uint64 else {
            return outputs + [.line(event)]
        }
        let path = event["path"]?.list("interfaces").first ?? event["previous"]?.list("interfaces").first
        let interface = path?.text("name") ?? event.interfaceName
        group = Group(first: event, sequence: sequence, interface: interface, began: now)
        return outputs + [.opening(event)]
    }

    /// Ends the line once nothing can join it any more.
    mutating func settle(at now: Duration) -> [Output] {
        guard let group, now - group.began >= Self.window || now < group.began else { return [] }
        return finish()
    }

    /// Ends the line.
    mutating func finish() -> [Output] {
        guard let done = group else { return [] }
        group = nil
        return [.rest(Self.summary(of: done.followers, after: done.first))]
    }

    private func belongs(_ event: JSONValue) -> Bool {
        guard let group else { return false }
        if let sequence = event["cause"]?["seq"]?.uint64 { return sequence == group.sequence }
        switch event.text("event") {
        case "headline.changed": return !group.followers.contains { $0.text("event") == "headline.changed" }
        case "services.lost", "services.found": return event.interfaceName == group.interface
        case "service.added", "service.changed", "service.removed":
            return event["service"]?.interfaceName == group.interface
        case "service_type.added", "service_type.removed": return !group.interface.isEmpty
        default: return false
        }
    }

    /// Such as `: offline (2 gateways, DNS and 200 services)`.
    private static func summary(of events: [JSONValue], after first: JSONValue) -> String {
        let outcome = outcome(of: events).map { ": \($0)" } ?? ""
        var parts: [String] = []
        let path = ([first] + events).first { $0.text("event") == "path.changed" }
        for kind in ["address", "gateway", "dns", "service"] {
            var things = Set(events.filter { $0.text("event").hasPrefix("\(kind).") }.map(identity))
            if let path { things.formUnion(differences(of: kind, in: path)) }
            let groups = events.filter { $0.text("event").hasPrefix("\(kind)s.") }
            let count = groups.reduce(things.count) { $0 + ($1["count"]?.int ?? 0) }
            guard count > 0 else { continue }
            parts.append(kind == "dns" ? "DNS" : Plural.of(count, kind))
        }
        guard let last = parts.last else { return outcome }
        let list = parts.count == 1 ? last : parts.dropLast().joined(separator: ", ") + " and " + last
        return "\(outcome) (\(list))"
    }

    /// What tells one thing from another of its kind.
    private static func identity(_ event: JSONValue) -> JSONValue {
        let thing = event["service"] ?? event["gateway"].flatMap { $0 == .null ? nil : $0 } ?? event["previous"]
        let names = [thing?["name"], thing?["type"], thing?["address"], event["address"]?["address"]]
        return .array(names.map { $0 ?? .null })
    }

    /// The gateways that a path gained or lost, or whether names resolve now and did not, as identities.
    private static func differences(of kind: String, in event: JSONValue) -> Set<JSONValue> {
        guard let path = event["path"], let previous = event["previous"] else { return [] }
        switch kind {
        case "gateway":
            let changed = Set(path.texts("gateways")).symmetricDifference(previous.texts("gateways"))
            return Set(changed.map { .array([.null, .null, .string($0), .null]) })
        case "dns": return path.isTrue("supports_dns") == previous.isTrue("supports_dns") ? [] : [.string(kind)]
        default: return []
        }
    }

    /// The way out as a whole where that changed, else what became of the path.
    private static func outcome(of events: [JSONValue]) -> String? {
        if let state = events.last(where: { $0["headline"] != nil })?["headline"]?.text("state") {
            return state == "no_internet" ? "no Internet" : state.split(separator: "_").joined(separator: " ")
        }
        let start = "Path default "
        let paths = events.filter { $0.text("event") == "path.changed" }.map { $0.text("message") }
        let own = paths.last { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
        return own ?? paths.last
    }
}
