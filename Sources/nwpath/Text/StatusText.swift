// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CommandLineKit
internal import Judgement
internal import LinuxIO
internal import OrderedJSON

/// The state of the path for people: the verdict first, then why, then what it is made of.
struct StatusText {
    let sheet: Sheet

    /// Everything that `/api/v1/status` has.
    func overview(_ status: JSONValue) -> String {
        var text = headline(status) ?? ""
        text += monitor(status)
        let others = status.list("monitors").dropFirst()
        text += sheet.section("Monitors", others.map { verdict($0) + "\n" }.joined())
        let interfaces = InterfaceText(sheet: sheet).list(status.list("interfaces"), isIndented: true)
        text += sheet.section("Interfaces", interfaces)
        let gateways = GatewayText(sheet: sheet).gateways(status.list("gateways"), isIndented: true)
        text += sheet.section("Gateways", gateways)
        text += sheet.section("DNS", dns(status["dns"] ?? .null))
        text += sheet.section("Services", services(status["services"] ?? .null))
        let problems = status.list("problems").map { problem in
            sheet.paint("! \(problem.text("part")): \(problem.text("message"))", .warning) + "\n"
        }
        text += sheet.section("Problems", problems.joined())
        return text
    }

    /// The way out as a whole: a word and since when, the cause, what to do; `nil` from a service that does not judge it.
    private func headline(_ status: JSONValue) -> String? {
        guard let headline = status["headline"], headline["state"]?.string != nil else { return nil }
        var text = judgement(status) + "\n"
        text += sheet.indent(sheet.paint(headline.text("message")) + "\n")
        if let hint = headline["hint"]?.string { text += sheet.indent(sheet.paint("→ \(hint)") + "\n") }
        return text
    }

    /// The answer in one line: the way out as a whole, else the verdict of the path.
    func judgement(_ status: JSONValue) -> String {
        guard let headline = status["headline"], let state = headline["state"]?.string else { return verdict(status) }
        let known = Headline.State(rawValue: state)
        let level = known?.level ?? .bad
        let tones: [Headline.Level: Palette.Tone] = [.good: .good, .worse: .warning, .bad: .bad]
        let word = "\(level.sign) \(known?.word ?? state)"
        return sheet.paint(word, tones[level]) + age(since: headline["since"]?.string)
    }

    private func age(since: String?) -> String {
        guard let age = AgeText.since(since, now: sheet.now) else { return "" }
        return sheet.paint(", for \(age)") + sheet.paint(" (since \(AgeText.moment(since)))", .faint)
    }

    /// One monitor: the verdict with its age, why and what to do, what the path can do.
    func monitor(_ monitor: JSONValue) -> String {
        let path = monitor["path"] ?? .null
        var table = TextTable([.init(""), .init("")])
        func add(_ name: String, _ value: String, _ tone: Palette.Tone? = nil) {
            if !value.isEmpty { table.add([.init(name, .faint), .init(value, tone)]) }
        }
        if let why = path["why"]?.string {
            add("why", "\(why) (\(path.text("unsatisfied_reason")))")
        } else {
            add("why", path.text("unsatisfied_reason"))
        }
        add("hint", path.text("hint"))
        add("supports", Self.abilities(path))
        add("via", path.list("interfaces").map { "\($0.text("name")) (\($0.text("type")))" }.joined(separator: ", "))
        add("from", path.texts("sources").joined(separator: ", "))
        add("traits", Self.traits(path))
        add("warnings", path.texts("warnings").joined(separator: ", "), .warning)
        return verdict(monitor) + "\n" + sheet.indent(sheet.table(table, isIndented: true))
    }

    /// The sign, the sentence, and for how long it has been so.
    func verdict(_ monitor: JSONValue) -> String {
        let status = (monitor["path"] ?? .null).text("status")
        let sentence = monitor.text("sentence")
        let words = sentence.isEmpty ? "Path is \(status)" : sentence
        return sheet.paint("\(Self.sign(status)) \(words)", Self.tone(status)) + age(since: monitor["since"]?.string)
    }

    /// `✓`, `✗`, or `!` for a path that needs somebody to connect it.
    static func sign(_ status: String) -> String {
        switch status {
        case "satisfied": "✓"
        case "requiresConnection": "!"
        default: "✗"
        }
    }

    private static func tone(_ status: String) -> Palette.Tone {
        switch status {
        case "satisfied": .good
        case "requiresConnection": .warning
        default: .bad
        }
    }

    private static func abilities(_ path: JSONValue) -> String {
        let all = [("IPv4", "supports_ipv4"), ("IPv6", "supports_ipv6"), ("DNS", "supports_dns")]
        let has = all.filter { path.isTrue($0.1) }.map(\.0)
        let lacks = all.filter { !path.isTrue($0.1) }.map { "no \($0.0)" }
        return (has + lacks).joined(separator: ", ")
    }

    private static func traits(_ path: JSONValue) -> String {
        var traits: [String] = []
        if path.isTrue("is_expensive") { traits.append("expensive") }
        if path.isTrue("is_ultra_constrained") {
            traits.append("ultra-constrained")
        } else if path.isTrue("is_constrained") {
            traits.append("constrained")
        }
        let quality = path.text("link_quality")
        if !quality.isEmpty && quality != "unknown" { traits.append("\(quality) link quality") }
        let under = path.texts("underlying_types")
        if !under.isEmpty { traits.append("over \(under.joined(separator: ", "))") }
        return traits.joined(separator: ", ")
    }

    private func dns(_ dns: JSONValue) -> String {
        let servers = dns.texts("servers")
        guard !servers.isEmpty else { return sheet.paint("no name server", .warning) + "\n" }
        let list = sheet.paint(servers.joined(separator: ", "))
        let source = dns.text("source").isEmpty ? "" : sheet.paint(" (\(dns.text("source")))", .faint)
        return list + source + (dns.isTrue("usable") ? "" : sheet.paint(", none can be reached", .warning)) + "\n"
    }

    private func services(_ services: JSONValue) -> String {
        guard let count = services["count"]?.int, let types = services["types"]?.int else { return "" }
        let census = AgeText.since(services["last_census"]?.string, now: sheet.now).map { "last census \($0) ago" }
        let found = "\(Plural.of(count, "service")) of \(Plural.of(types, "type"))"
        return sheet.paint("\(found), \(census ?? "first census under way")") + "\n"
    }
}

enum Plural {
    /// Such as `1 service` or `2 services`.
    static func of(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
