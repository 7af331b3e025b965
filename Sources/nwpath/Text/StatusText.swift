// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import LinuxIO
internal import OrderedJSON
internal import Spelling

/// The state of the path for people: the verdict first, then why, then what it is made of.
struct StatusText {
    let renderer: TextRenderer

    /// Everything that `/api/v1/status` has.
    ///
    /// - Parameters:
    ///   - status: `/api/v1/status`.
    ///   - traffic: `/api/v1/traffic`; `nil` where connections are not read.
    /// - Returns: Lines.
    func overview(_ status: JSONValue, traffic: JSONValue? = nil) -> String {
        // The headline has judged what the path alone cannot tell.
        var text = headline(status) ?? verdict(status) + "\n"
        text += facts(status, hasHeadline: status["headline"]?["state"]?.string != nil, traffic: traffic)
        let others = status.list("monitors").dropFirst()
        text += renderer.section("Monitors", others.map { verdict($0) + "\n" }.joined())
        let interfaces = InterfaceText(renderer: renderer).list(status.list("interfaces"), isIndented: true)
        text += renderer.section("Interfaces", interfaces)
        let gateways = GatewayText(renderer: renderer).gateways(status.list("gateways"), isIndented: true)
        text += renderer.section("Gateways", gateways)
        text += renderer.section("DNS", dns(status["dns"] ?? .null))
        text += renderer.section("Services", services(status["services"] ?? .null))
        let problems = status.list("problems").map { problem in
            renderer.style("! \(problem.text("part")): \(problem.text("message"))", .warning) + "\n"
        }
        text += renderer.section("Problems", problems.joined())
        return text
    }

    /// The five lines that answer without a question: the way out, its cause, the chain, the last day, this machine.
    ///
    /// - Parameters:
    ///   - status: `/api/v1/status`.
    ///   - history: `/api/v1/history` of the last day; `nil` where nobody remembers.
    /// - Returns: Lines that fit; five where the terminal is wide enough.
    func brief(_ status: JSONValue, history: JSONValue?) -> String {
        let headline = status["headline"] ?? .null
        let hint = headline["hint"]?.string.map { " → \($0)" } ?? ""
        var lines = wrapped(headline.text("message") + hint) + wrapped(chain(status))
        if let history, let row = AvailabilityRow(history) {
            let percent = history["availability_percent"]?.double.map(HistoryText.percent) ?? "nothing recorded"
            let outages = history.list("outages")
            let sum = outages.isEmpty ? "no outages" : HistoryText.sum(outages)
            lines.append("24 h \(row.text(cells: 24)) \(percent), \(sum)")
        }
        let services = status["services"]?["count"]?.int.map { [Plural.of($0, "service") + " nearby"] } ?? []
        let addresses = status.list("interfaces").filter { $0.isTrue("usable") }.flatMap { InterfaceText.addresses($0) }
        let parts = [addresses.joined(separator: ", ")].filter { !$0.isEmpty } + services
        lines += wrapped(parts.joined(separator: " · "))
        return judgement(status) + "\n" + lines.map { "  " + renderer.style($0) + "\n" }.joined()
    }

    private func wrapped(_ text: String) -> [String] {
        let text = PrintableText.escape(text)
        guard !text.isEmpty else { return [] }
        return renderer.screen.width.map { DisplayWidth.wrap(text, to: max(1, $0 - 2)) } ?? [text]
    }

    /// Such as `office ── eth0 ── 192.0.2.1 0.4 ms ─✗ Internet ┄ DNS`.
    private func chain(_ status: JSONValue) -> String {
        var text = ""
        for element in status.list("chain") {
            let condition = element.text("condition")
            let link = ["good": "──", "degraded": "─!", "broken": "─✗"][condition] ?? "┄"
            let titles = ["internet": "Internet", "dns": "DNS"]
            let name = titles[element.text("element")] ?? element["name"]?.string ?? "no \(element.text("element"))"
            let figure = element["round_trip_seconds"]?.double.map { " \(ProbeText.time($0))" } ?? ""
            text += (text.isEmpty ? "" : " \(link) ") + name + figure
        }
        return text
    }

    /// The way out as a whole: a word and since when, the cause, what to do; `nil` from a service that does not judge it.
    private func headline(_ status: JSONValue) -> String? {
        guard let headline = status["headline"], headline["state"]?.string != nil else { return nil }
        var text = judgement(status) + "\n"
        text += renderer.indent(renderer.style(headline.text("message")) + "\n")
        if let hint = headline["hint"]?.string { text += renderer.indent(renderer.style("→ \(hint)") + "\n") }
        return text
    }

    /// The answer in one line: the way out as a whole, else the verdict of the path.
    func judgement(_ status: JSONValue) -> String {
        guard let word = signedWord(status) else { return verdict(status) }
        return word + age(since: status["headline"]?["since"]?.string)
    }

    /// The answer in one line with its cause, else the verdict of the path.
    func sentence(_ status: JSONValue) -> String {
        guard let word = signedWord(status), let message = status["headline"]?.text("message") else {
            return verdict(status)
        }
        return word + PrintableText.escape(message.isEmpty ? "" : ": \(message)")
    }

    /// Such as `✓ Online`; `nil` from a service without a headline.
    private func signedWord(_ status: JSONValue) -> String? {
        guard let state = status["headline"]?["state"]?.string else { return nil }
        let known = Headline.State(rawValue: state)
        let level = known?.level ?? .bad
        let tones: [Headline.Level: Palette.Tone] = [
            .good: .good, .untested: .warning, .worse: .warning, .bad: .bad,
        ]
        return renderer.style("\(level.symbol) \(known?.word ?? state)", tones[level])
    }

    private func age(since: String?) -> String {
        guard let age = AgeText.since(since, now: renderer.now) else { return "" }
        return ", for \(age)" + renderer.style(" (since \(AgeText.minute(since, now: renderer.now)))", .faint)
    }

    /// One monitor: the verdict with its age, why and what to do, what the path can do.
    func monitor(_ monitor: JSONValue) -> String {
        verdict(monitor) + "\n" + facts(monitor)
    }

    /// What makes a path up; where the way out is judged as a whole, the path is one fact of several.
    private func facts(_ monitor: JSONValue, hasHeadline: Bool = false, traffic: JSONValue? = nil) -> String {
        let path = monitor["path"] ?? .null
        var table = TextTable([.init(""), .init("", canShrink: true)])
        func add(_ name: String, _ value: String, _ tone: Palette.Tone? = nil) {
            if !value.isEmpty { table.add([.init(name, .faint), .init(value, tone)]) }
        }
        let reason = path.text("unsatisfied_reason")
        if hasHeadline {
            add("path", Self.word(path.text("status")) + (reason.isEmpty ? "" : " (\(reason))"))
        } else {
            add("why", path["message"]?.string.map { "\($0) (\(reason))" } ?? reason)
            add("hint", path.text("hint"))
        }
        add("supports", Self.abilities(path, names: monitor.list("chain").last?.text("condition")))
        add("via", path.list("interfaces").map { "\($0.text("name")) (\($0.text("type")))" }.joined(separator: ", "))
        add("from", path.texts("sources").joined(separator: ", "))
        add("traits", Self.traits(path))
        if let traffic { add("traffic", TrafficText.sentence(traffic), TrafficText.tone(TrafficText.state(traffic))) }
        add("warnings", path.texts("warnings").joined(separator: ", "), .warning)
        return renderer.indent(renderer.table(table, isIndented: true))
    }

    /// The sign, the sentence, and for how long it has been so.
    func verdict(_ monitor: JSONValue) -> String {
        let status = (monitor["path"] ?? .null).text("status")
        let sentence = monitor.text("message")
        let words = sentence.isEmpty ? "Path is \(status)" : sentence
        return renderer.style("\(Self.symbol(status)) \(words)", Self.tone(status))
            + age(since: monitor["since"]?.string)
    }

    /// `✓`, `✗`, or `!` for a path that needs somebody to connect it.
    static func symbol(_ status: String) -> String {
        switch status {
        case "satisfied": "✓"
        case "requiresConnection": "!"
        default: "✗"
        }
    }

    private static func word(_ status: String) -> String {
        status == "requiresConnection" ? "requires a connection" : status
    }

    private static func tone(_ status: String) -> Palette.Tone {
        switch status {
        case "satisfied": .good
        case "requiresConnection": .warning
        default: .bad
        }
    }

    /// What the kernel and the configuration have; of name servers, also whether one answers.
    private static func abilities(_ path: JSONValue, names condition: String?) -> String {
        let all = [("IPv4", "supports_ipv4"), ("IPv6", "supports_ipv6"), ("DNS", "supports_dns")]
        let qualifiers = [
            "not_asked": " (not tested)", "not_reached": " (unreachable)", "broken": " (does not answer)",
            "degraded": " (partly working)",
        ]
        let has = all.filter { path.isTrue($0.1) }.map {
            $0.0 == "DNS" ? $0.0 + (qualifiers[condition ?? ""] ?? "") : $0.0
        }
        let lacks = all.filter { !path.isTrue($0.1) }.map { "no \($0.0)" }
        return has.isEmpty ? "none" : (has + lacks).joined(separator: ", ")
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
        guard !servers.isEmpty else { return renderer.style("no name server", .warning) + "\n" }
        let list = renderer.style(servers.joined(separator: ", "))
        let source = dns.text("source").isEmpty ? "" : renderer.style(" (\(dns.text("source")))", .faint)
        return list + source + (dns.isTrue("usable") ? "" : renderer.style(", no name server is reachable", .warning))
            + "\n"
    }

    private func services(_ services: JSONValue) -> String {
        guard let count = services["count"]?.int, let types = services["types"]?.int else { return "" }
        let census = AgeText.since(services["last_census"]?.string, now: renderer.now).map { "last census \($0) ago" }
        let found = "\(Plural.of(count, "service")) of \(Plural.of(types, "type"))"
        return renderer.style("\(found), \(census ?? "first census in progress")") + "\n"
    }
}

enum Plural {
    /// Such as `1 service` or `2 services`.
    static func of(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)" + (count == 1 ? "" : noun.hasSuffix("s") ? "es" : "s")
    }
}
