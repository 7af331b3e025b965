// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import OrderedJSON
internal import Traffic

/// Something that `nwpath wait` waits for.
enum WaitCondition: Hashable, Sendable, CustomStringConvertible {
    /// Nothing is known to be wrong with the Internet connection, and no test is about to decide.
    case connected
    case satisfied
    case unsatisfied
    /// Something beyond the gateway answered.
    case online
    case ipv4
    case ipv6
    case dns
    case notExpensive
    /// This machine's own connections are answered.
    case traffic
    /// The interface can carry traffic.
    case interface(String)
    case service(type: String, name: String?)

    /// What a reader is told when a text is not a condition.
    static let expectation = """
        connected, online, path, satisfied, unsatisfied, ipv4, ipv6, dns, not-expensive, traffic, interface=NAME or \
        service=TYPE[/NAME]
        """
    /// The words that stand for themselves.
    static let words: [(word: String, condition: WaitCondition)] = [
        ("connected", .connected), ("online", .online), ("satisfied", .satisfied), ("path", .satisfied),
        ("unsatisfied", .unsatisfied), ("ipv4", .ipv4), ("ipv6", .ipv6), ("dns", .dns),
        ("not-expensive", .notExpensive), ("traffic", .traffic),
    ]

    init?(_ text: String) {
        if let known = Self.words.first(where: { $0.word == text }) {
            self = known.condition
            return
        }
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { return nil }
        switch parts[0] {
        case "interface": self = .interface(String(parts[1]))
        case "service":
            let names = parts[1].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard names[0].hasPrefix("_"), names[0].split(separator: ".").count == 2,
                names.count == 1 || !names[1].isEmpty
            else { return nil }
            self = .service(type: names[0], name: names.count == 2 ? names[1] : nil)
        default: return nil
        }
    }

    var description: String {
        switch self {
        case .interface(let name): "interface=\(name)"
        case .service(let type, let name): "service=\(type)" + (name.map { "/\($0)" } ?? "")
        default: Self.words.first { $0.condition == self }?.word ?? ""
        }
    }

    var interface: String? { if case .interface(let name) = self { name } else { nil } }

    var needsServices: Bool { if case .service = self { true } else { false } }

    /// Why it does not hold.
    ///
    /// - Parameters:
    ///   - status: What `/api/v1/status` says.
    ///   - services: What `/api/v1/services` lists.
    ///   - traffic: What `/api/v1/traffic` says.
    ///   - ignored: The interfaces that exist and are left out of the status.
    /// - Returns: The reason in words; `nil` when it holds.
    func missing(
        in status: JSONValue,
        services: [JSONValue],
        traffic: JSONValue = .null,
        ignored: Set<String> = []
    ) -> String? {
        let path = status["path"] ?? .null
        let isSatisfied = path.text("status") == "satisfied"
        let sentence = status.text("message")
        switch self {
        case .satisfied: return isSatisfied ? nil : sentence
        case .unsatisfied: return isSatisfied ? sentence : nil
        case .connected: return Self.missing(status) { $0.isGood && $0 != .checking }
        case .online: return Self.missing(status) { $0 == .online }
        case .ipv4: return Self.support("IPv4", "supports_ipv4", path, sentence)
        case .ipv6: return Self.support("IPv6", "supports_ipv6", path, sentence)
        case .dns:
            return Self.missingNames(status) ?? Self.support("DNS", "supports_dns", path, sentence)
        case .notExpensive:
            guard isSatisfied else { return sentence }
            return path.isTrue("is_expensive") ? "the path is expensive" : nil
        case .traffic: return Self.missing(traffic)
        case .interface(let name):
            guard let found = status.list("interfaces").first(where: { InterfaceText.isNamed($0, name) }) else {
                guard ignored.contains(name) else { return "there is no interface \(name)" }
                return "\(name) is ignored, so it is not reported; see 'nwpath interfaces --all'"
            }
            return found.isTrue("usable") ? nil : "\(name): \(InterfaceText.state(found).text)"
        case .service(let type, let name):
            let isThere = services.contains { $0.text("type") == type && (name ?? $0.text("name")) == $0.text("name") }
            if isThere { return nil }
            if status["services"] == nil { return "service discovery is off (mdns.enabled)" }
            return name.map { "no \(type) named \($0) was found" } ?? "no \(type) was found"
        }
    }

    private static func missing(_ status: JSONValue, unless holds: (Headline.State) -> Bool) -> String? {
        let headline = status["headline"] ?? .null
        guard let state = Headline.State(rawValue: headline.text("state")) else {
            return "the service reports no headline"
        }
        return holds(state) ? nil : "\(state.word): \(headline.text("message"))"
    }

    private static func missing(_ traffic: JSONValue) -> String? {
        guard TrafficText.isKnown(traffic) else { return TrafficText.missing }
        guard traffic.isTrue("enabled") else { return TrafficText.off }
        return TrafficText.state(traffic) == .proved ? nil : TrafficText.sentence(traffic)
    }

    /// Why no name server answers; `nil` when one does, or nothing tests it.
    private static func missingNames(_ status: JSONValue) -> String? {
        let isSatisfied = status["path"]?.text("status") == "satisfied"
        switch status.list("chain").last?.text("condition") {
        case "good", "degraded": return nil
        case nil, "not_asked": return status["headline"] == nil ? nil : missing(status) { $0 != .checking }
        // The kernel may send to name servers all the same, such as where a filter refuses the port of pages.
        case "not_reached" where !isSatisfied: return nil
        default: return missing(status, unless: \.isGood) ?? "no name server answers"
        }
    }

    private static func support(_ name: String, _ member: String, _ path: JSONValue, _ sentence: String) -> String? {
        if path.isTrue(member) { return nil }
        return path.text("status") == "satisfied" ? "the path has no \(name)" : sentence
    }
}
