// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON
internal import Traffic

/// What this machine's own connections show, for people.
struct TrafficText {
    private let renderer: TextRenderer

    init(_ screen: Screen, now: WallTime) { renderer = TextRenderer(screen, now: now) }

    /// What to say where connections are not read.
    static let off = """
        traffic.enabled is off; set `traffic: {enabled: true}` in nwpath.yaml, then run `nwpath reload`
        """

    static let missing = "the service does not report traffic: it is older than this program; restart or upgrade it"

    /// A line about all connections, then each path with its destinations.
    func report(_ document: JSONValue) -> String {
        let paths = document.list("paths")
        var text = summary(document) + "\n"
        for path in paths {
            text += renderer.indent(heading(path, among: paths) + "\n" + destinations(path.list("groups")))
        }
        if document.isTrue("limited"), let interval = document["interval_seconds"]?.double {
            text += styled("Many connections: they are read every \(Self.time(interval)).", .faint) + "\n"
        }
        return text
    }

    /// Such as `✓ 212 connections answered within 40 ms, 0.2 % sent again`.
    func summary(_ document: JSONValue) -> String {
        let state = Self.state(document)
        let marks: [TrafficState: String] = [.proved: "✓", .stalled: "✗", .unknown: "?"]
        return styled("\(marks[state] ?? "!") \(Self.sentence(document))", Self.tone(state))
    }

    /// The time, and all connections.
    func line(_ document: JSONValue) -> String {
        let words = document.isTrue("enabled") ? summary(document) : Self.off
        return styled(AgeText.dayAndTime(document["time"]?.string), .faint) + " \(words)\n"
    }

    private func styled(_ text: String, _ tone: Palette.Tone? = nil) -> String { renderer.style(text, tone) }

    /// Such as `through 192.0.2.1 on eth0: proved, for 4 h (since 10:00)`.
    private func heading(_ path: JSONValue, among paths: [JSONValue]) -> String {
        let state = path.text("state")
        var text = styled(Self.direction(path, among: paths), .strong) + ": "
        text += styled(state, Self.tone(Self.state(path)))
        guard let age = AgeText.since(path["since"]?.string, now: renderer.now) else { return text }
        return text + ", for \(age)"
            + styled(" (since \(AgeText.minute(path["since"]?.string, now: renderer.now)))", .faint)
    }

    /// Those in trouble first.
    private func destinations(_ groups: [JSONValue]) -> String {
        guard !groups.isEmpty else { return "" }
        var table = TextTable([
            .init("DESTINATION"), .init("STATE"), .init("CONN", isTrailing: true),
            .init("UNANSWERED", isTrailing: true), .init("RTT", isTrailing: true), .init("LOSS", isTrailing: true),
            .init("LAST ANSWER", isTrailing: true),
        ])
        let isTroubled = { (group: JSONValue) in ![.proved, .unknown].contains(Self.state(group)) }
        for group in groups.filter(isTroubled) + groups.filter({ !isTroubled($0) }) {
            let figures = Figures(group)
            table.add([
                .init(group.text("destination"), .strong), .init(group.text("state"), Self.tone(Self.state(group))),
                .init("\(figures.connections)"), .init("\(figures.unanswered)"),
                .init(group["rtt_seconds"]?["p50"]?.double.map(Self.time) ?? ""),
                .init(figures.loss.map(Self.percent) ?? ""),
                .init(figures.lastAnswer.map { "\(Self.time($0)) ago" } ?? "none"),
            ])
            let addresses = group.texts("addresses")
            if !addresses.isEmpty { table.addNote(.init(addresses.joined(separator: " "), .faint)) }
        }
        return renderer.table(table, isIndented: true)
    }

    // MARK: - Words

    /// What a service of today says; one that is older has no such document.
    static func isKnown(_ document: JSONValue) -> Bool { document["enabled"]?.bool != nil }

    static func state(_ value: JSONValue) -> TrafficState { TrafficState(rawValue: value.text("state")) ?? .unknown }

    static func tone(_ state: TrafficState) -> Palette.Tone? {
        switch state {
        case .proved: .good
        case .lossy, .slow, .unanswered: .warning
        case .stalled: .bad
        case .unknown: nil
        }
    }

    /// All connections in one line; where only some paths are in trouble, their connections.
    static func sentence(_ document: JSONValue) -> String {
        if let problem = document["problem"]?.string { return problem }
        let (state, paths) = (state(document), document.list("paths"))
        let concerned = paths.filter { Self.state($0) == state }
        guard ![.proved, .unknown].contains(state), !concerned.isEmpty, concerned.count < paths.count else {
            return sentence(state, Figures(document), "") + (state == .proved ? exception(paths) : "")
        }
        let scope =
            concerned.count == 1
            ? direction(concerned[0], among: paths) : "on \(concerned.count) of \(paths.count) paths"
        return sentence(state, Figures(worstOf: concerned), " \(scope)")
    }

    /// Such as `, but none to 198.51.100.0/24`.
    private static func exception(_ paths: [JSONValue]) -> String {
        let silent = paths.flatMap { $0.list("groups") }.filter { state($0) == .stalled }
        guard let first = silent.first else { return "" }
        return ", but none to " + (silent.count == 1 ? first.text("destination") : "\(silent.count) destinations")
    }

    private static func sentence(_ state: TrafficState, _ figures: Figures, _ scope: String) -> String {
        let connections = Plural.of(figures.connections, "connection")
        let within = figures.roundTrip.map { " within \(time($0))" } ?? ""
        let lost = figures.loss.map { "\(percent($0)) sent again" }
        switch state {
        case .proved where figures.connections > 0:
            return "\(connections)\(scope) answered\(within)" + (lost.map { ", \($0)" } ?? "")
        case .lossy: return "\(connections)\(scope) answered\(within)" + (lost.map { ", but \($0)" } ?? "")
        case .slow:
            return "\(connections)\(scope) answered slowly" + (within.isEmpty ? "" : ",\(within)")
                + (lost.map { ", \($0)" } ?? "")
        case .unanswered: return "\(connections)\(scope) attempted, none answered"
        case .stalled:
            let total = max(figures.connections, figures.unanswered)
            let subject = TrafficFinding.subject(figures.unanswered, of: total)
            return "\(subject.prefix(1).lowercased() + subject.dropFirst())\(scope) unanswered"
                + (figures.lastAnswer.map { " for \(time($0))" } ?? "")
        case .proved, .unknown:
            let answer = figures.lastAnswer.map { ", last answer \(time($0)) ago" }
            return figures.connections > 0
                ? connections + (answer ?? ", no answer seen") : "no connections" + (answer ?? "")
        }
    }

    /// Such as `through 192.0.2.1 on eth0`, and what distinguishes it from others by that gateway.
    static func direction(_ path: JSONValue, among paths: [JSONValue]) -> String {
        let gateway = path["gateway"]?.string.map { "through \($0) " } ?? ""
        var words = [gateway + "on \(path.interfaceName)"]
        let others = paths.filter { $0 != path }
        if others.contains(where: { $0.text("family") != path.text("family") }) {
            words.append(path.text("family") == "ipv6" ? "IPv6" : "IPv4")
        }
        let alike = others.filter {
            $0.interfaceName == path.interfaceName && $0["gateway"] == path["gateway"]
                && $0.text("family") == path.text("family")
        }
        if !alike.isEmpty { words.append("\(path.text("range")) addresses") }
        return words.count == 1 ? words[0] : "\(words[0]) (\(words.dropFirst().joined(separator: ", ")))"
    }

    /// Such as `400 µs`, `1.4 ms`, `40 ms`, `1.4 s`, `35 s` or `12 min`.
    static func time(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "?" }
        if seconds < 0.001 { return "\(Int((seconds * 1e6).rounded())) µs" }
        let tenths = Int((seconds * 10_000).rounded())
        if tenths < 100 { return "\(tenths / 10).\(tenths % 10) ms" }
        if seconds < 0.9995 { return "\(Int((seconds * 1000).rounded())) ms" }
        return TrafficFinding.text(.milliseconds(Int64((seconds * 1000).rounded())))
    }

    static func percent(_ ratio: Double) -> String { TrafficFinding.percent(min(max(ratio, 0), 1)) }
}

extension TrafficText {
    /// The figures of all connections, of a path or of a destination.
    struct Figures {
        var connections = 0
        var unanswered = 0
        /// How long ago the last answer came, in seconds.
        var lastAnswer: Double?
        /// In what time nine of ten connections are answered, in seconds.
        var roundTrip: Double?
        /// The share of segments that were sent again.
        var loss: Double?

        init(_ value: JSONValue) {
            connections = max(0, value["connections"]?.int ?? 0)
            unanswered = max(0, value["unanswered"]?.int ?? 0)
            lastAnswer = value["last_answer_seconds"]?.double
            roundTrip = value["rtt_seconds"]?["p90"]?.double
            loss = value["retransmit_ratio"]?.double
        }

        /// All connections of some paths, with the worst of their other figures but for the newest answer.
        init(worstOf paths: [JSONValue]) {
            let all = paths.map(Figures.init)
            connections = all.reduce(0) { $0 &+ $1.connections }
            unanswered = all.reduce(0) { $0 &+ $1.unanswered }
            lastAnswer = all.compactMap(\.lastAnswer).min()
            roundTrip = all.compactMap(\.roundTrip).max()
            loss = all.compactMap(\.loss).max()
        }
    }
}
