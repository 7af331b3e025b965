// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import PathModel

/// The sentences of the headline that no path reason and no verdict has; without full stops.
struct HeadlineText {
    let path: Path

    // MARK: - Something is wrong

    /// Such as `192.0.2.1 and fe80::1 on eth0 do not answer`, each gateway with its own interface.
    func silent(_ gateways: [Gateway]) -> String {
        var interfaces: [String] = []
        for gateway in gateways where !interfaces.contains(gateway.interface) { interfaces.append(gateway.interface) }
        let names = interfaces.map { interface in
            let addresses = gateways.filter { $0.interface == interface }.map { "\($0.address.address)" }
            return "\(addresses.joined(separator: " and ")) on \(interface)"
        }
        return "\(names.joined(separator: " and ")) \(gateways.count == 1 ? "does" : "do") not answer"
    }

    static func unanswered(on interface: String) -> String {
        "the default route via \(interface) has no gateway, and no destination answers on the link"
    }
    static let unansweredHint = "`ip route show default`, then add the gateway: `ip route replace default via GATEWAY`"

    static func linkLocal(_ source: IPAddress, on interface: String) -> String {
        "\(interface) has only the link-local address \(source), which routers do not forward"
    }
    static func linkLocalHint(_ interface: String) -> String {
        "check the DHCP server and the cable: `ip address show dev \(interface)`"
    }

    func portal(_ probe: ProbeObservation) -> String { "a login page answers the test \(probe.name)" }
    static let portalHint = "open a web page and log in"

    /// Such as `nothing beyond 192.0.2.1 answers (2 of 2 tests fail: far (timeout), page (timeout))`.
    func nothingAnswers(_ failing: [ProbeObservation]) -> String {
        let families = Set(failing.compactMap(\.family))
        let gateways = path.gateways.filter { families.isEmpty || families.contains($0.family) }
        let isOneLink = Set(gateways.map(\.interface)).count == 1
        let gateway = isOneLink ? "\(gateways[0].address)" : "the gateways"
        let subject = gateways.isEmpty ? "no test gets an answer" : "nothing beyond \(gateway) answers"
        return "\(subject) (\(tally(failing, of: failing)))"
    }
    /// Such as `nothing beyond fe80::1 answers over IPv6 (1 of 1 tests fails: six (timeout))`.
    func nothingAnswers(over family: AddressFamily, _ failing: [ProbeObservation]) -> String {
        let gateway = path.gateways.first { $0.family == family }.map { "beyond \($0.address)" } ?? "tested"
        return "nothing \(gateway) answers over \(family == .ipv4 ? "IPv4" : "IPv6") (\(tally(failing, of: failing)))"
    }
    static let nothingAnswersHint = "run `nwpath diagnose` to locate the break"

    /// Such as `192.0.2.53 refuses queries`, of name servers whose tests all fail.
    /// - Parameters:
    ///   - failing: The tests.
    ///   - areAlone: Whether nothing else beyond the gateway is tested, so that it may be more than the server.
    /// - Returns: The sentence.
    func namesFail(_ failing: [ProbeObservation], areAlone: Bool) -> String {
        var seen: Set<String> = []
        let servers = failing.filter { seen.insert($0.address ?? $0.name).inserted }
        guard servers.count == 1, let server = servers.first else {
            return "no name server answers (\(tally(failing, of: failing)))"
        }
        let name = server.address ?? "the name server"
        guard server.failure != "refused" else { return "\(name) refuses queries" }
        guard server.failure == "dns", let detail = server.failureDetail else {
            let gateway = path.gateways.first.map { "\($0.address)" } ?? "the gateway"
            let remark = areAlone && !server.bypassesGateway ? "; nothing else beyond \(gateway) is tested" : ""
            return "\(name) does not answer queries\(remark)"
        }
        // Such as `the server refused the query (REFUSED)`.
        let code = detail.split(separator: "(").last?.split(separator: ")").first.map(String.init)
        switch code {
        case "REFUSED": return "\(name) refuses queries"
        case "SERVFAIL":
            return "\(name) answers SERVFAIL: it cannot reach other name servers, or DNSSEC validation fails"
        default: return "\(name) returns no address for the tested name: \(detail)"
        }
    }
    static let namesFailHint = "run `nwpath diagnose` to find out why"

    /// Of tests whose own targets cannot be found, where no name server is tested.
    func namesUnknown(_ failing: [ProbeObservation]) -> String {
        "host names do not resolve (\(tally(failing, of: failing)))"
    }

    static let noNameServerHint = "`nwpath dns` shows them and where they come from"

    static let someFailHint = "run `nwpath probe` for the reasons, `nwpath diagnose` to locate the break"

    // MARK: - Nothing is known to be wrong

    func connected(hasNames: Bool, failing: [ProbeObservation], of all: [ProbeObservation]) -> String {
        guard failing.isEmpty else {
            let known = hasNames ? "the name server answers\(uplink)" : "nothing beyond the gateway has answered yet"
            return "\(known); \(tally(failing, of: all))"
        }
        return hasNames
            ? "the name server answers\(uplink); the Internet has not been tested"
            : "the route\(uplink) looks fine; nothing beyond the gateway has been tested"
    }
    static let connectedHint = "run `nwpath diagnose` to test it once, `nwpath setup --public` to test it continuously"

    /// Such as `connections through 192.0.2.1 are no longer answered`.
    func unanswered(_ stalls: [TrafficObservation]) -> String {
        let paths = stalls.map { stall in stall.gateway.map { "through \($0)" } ?? "on \(stall.interface)" }
        let isOneOfTwo = stalls.count == 1 && path.supportsIPv4 && path.supportsIPv6
        let family = isOneOfTwo ? stalls[0].family == .ipv4 ? "IPv4 " : "IPv6 " : ""
        return "\(family)connections \(paths.joined(separator: " and ")) are no longer answered"
    }

    /// - Parameters:
    ///   - failing: The tests that fail.
    ///   - all: All tests.
    ///   - isTested: Whether a test showed it, and not only this machine's own connections.
    /// - Returns: The sentence.
    func online(failing: [ProbeObservation], of all: [ProbeObservation], isTested: Bool) -> String {
        guard failing.isEmpty else { return "the Internet connection works\(uplink), but \(tally(failing, of: all))" }
        return "\(isTested ? "all tests answer" : "connections are answered")\(uplink)"
    }
    static let onlineHint = "run `nwpath probe` for the reasons"

    // MARK: - Checking

    func failed(_ probe: ProbeObservation) -> String { "\(named(probe)) failed; testing again" }
    func answersAgain(_ probe: ProbeObservation) -> String { "\(probe.name) answers again; testing the others" }
    static let noResultYet = "no test has a result yet"
    static let silentExamination = "nothing answered in the last diagnosis; testing again"

    // MARK: - Parts

    /// Such as `2 of 3 tests fail: far (timeout), page (status)`.
    func tally(_ failing: [ProbeObservation], of all: [ProbeObservation]) -> String {
        let names = failing.prefix(3).map(named)
        let more = failing.count > names.count ? " and others" : ""
        let verb = failing.count == 1 ? "fails" : "fail"
        return "\(failing.count) of \(all.count) tests \(verb): \(names.joined(separator: ", "))\(more)"
    }

    private func named(_ probe: ProbeObservation) -> String { probe.name + (probe.failure.map { " (\($0))" } ?? "") }

    /// Such as ` via eth0 and 192.0.2.1`, the gateway with its own interface.
    private var uplink: String {
        let parts = [path.interfaces.first?.name, path.firstGateway.map { "\($0.address)" }].compactMap(\.self)
        return parts.isEmpty ? "" : " via \(parts.joined(separator: " and "))"
    }
}
