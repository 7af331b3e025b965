// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Probes

/// One active probe: what it tests, how, and how often.
public struct ActiveProbeSettings: Hashable, Sendable {
    /// `nil` derives it from the target.
    public var method: ProbeMethod?
    public var target: String?
    public var interval = Duration.seconds(30)
    /// From one attempt to the next while failures are few; `nil` is a second, or the interval where that is shorter.
    public var retryInterval: Duration?
    /// How long an answer may take; `nil` is two seconds, or the interval where that is shorter.
    public var timeout: Duration?
    /// Consecutive failures before a report.
    public var threshold = 3
    /// The family that a name is resolved to; `nil` takes what the system prefers.
    public var family: AddressFamily?
    /// The interface its packets leave by; `nil` leaves that to the routes.
    public var interface: String?
    /// The firewall mark of its packets.
    public var mark: UInt32?
    /// The user its packets count as.
    public var userID: UInt32?
    /// The HTTP statuses that are right; `nil` is 200 and 204.
    public var statuses: [Int]?
    /// A file of certificates that the server's must verify against; `nil` is the system's.
    public var authorities: String?
    /// The name server to query; `nil` is the first one of the system.
    public var server: SocketAddress?
    /// The record to query; `nil` is A.
    public var record: ServerQuestion.Record?
    /// What carries the query; `nil` is a datagram.
    public var transport: ServerQuestion.Transport?
}

extension ActiveProbeSettings: ConfigurationEntry {
    static let settings: [Setting<ActiveProbeSettings>] = [
        Setting(
            "method",
            \.method,
            ValueForm.choice.optional,
            "The method; derived from the target by default."
        ),
        Setting(
            "target",
            \.target,
            ValueForm.probeTarget.optional,
            "The target: a host or gateway (icmp), HOST:PORT (tcp), a URL (http), a domain name (dns)."
        ),
        Setting(
            "interval",
            \.interval,
            .duration(.seconds(1)...(.seconds(86_400))),
            "From the start of one attempt to that of the next; up to a tenth less, so that machines do not probe in step."
        ),
        Setting(
            "retry_interval",
            \.retryInterval,
            ValueForm.duration(.milliseconds(100)...(.seconds(3600))).optional,
            "The same after a first failure, until as many as the threshold failed in a row, then doubling up to the "
                + "interval; 1s by default."
        ),
        Setting(
            "timeout",
            \.timeout,
            ValueForm.duration(.milliseconds(10)...(.seconds(60))).optional,
            "How long an answer may take, looking up a name included; 2s by default, or the interval if that is shorter."
        ),
        Setting(
            "threshold",
            \.threshold,
            .integer(1...100),
            "Consecutive failures before probe.failed is published."
        ),
        Setting(
            "family",
            \.family,
            ValueForm.choice.optional,
            "Resolve names to addresses of this family only."
        ),
        Setting(
            "interface",
            \.interface,
            ValueForm.interface.optional,
            "Send through this interface, whatever the routes are."
        ),
        Setting(
            "mark",
            \.mark,
            ValueForm.word(upTo: .max, isHexadecimal: true).optional,
            "Firewall mark of its packets; needs CAP_NET_ADMIN."
        ),
        Setting(
            "uid",
            \.userID,
            ValueForm.word(upTo: .max - 1, isHexadecimal: false).optional,
            "User its packets count as in routing rules; needs CAP_CHOWN."
        ),
        Setting(
            "expect_status",
            \.statuses,
            ValueForm.integer(100...599).list(upTo: 16).optional,
            "HTTP statuses that are right, 200 and 204 by default; with [204] any page is a captive portal's."
        ),
        Setting(
            "ca",
            \.authorities,
            ValueForm.path.optional,
            "Certificates that an HTTPS server's must verify against."
        ),
        Setting(
            "server",
            \.server,
            ValueForm.nameServer.optional,
            "Name server to query instead of the system's first one."
        ),
        Setting("record", \.record, ValueForm.choice.optional, "Record type to query, A by default."),
        Setting(
            "transport",
            \.transport,
            ValueForm.choice.optional,
            "What carries the question, udp by default."
        ),
    ]
}

extension ActiveProbeSettings {
    var effectiveMethod: ProbeMethod { method ?? ProbeTarget.likelyMethod(of: target ?? "") }

    /// What is wrong although every value is right alone: the key concerned, and a sentence.
    var conflicts: [(key: String, sentence: String)] {
        guard let target else { return [("", "needs a target")] }
        let method = effectiveMethod
        guard ProbeTarget(target, method: method) != nil else {
            return [
                (
                    "target",
                    "is '\(target)', expected \(method.targetForm) for \(method.rawValue)"
                )
            ]
        }
        var found: [(key: String, sentence: String)] = []
        for (key, duration) in [("timeout", timeout), ("retry_interval", retryInterval)] {
            guard let duration, duration > interval else { continue }
            found.append((key, "must not be longer than the interval"))
        }
        let given = [
            ("expect_status", statuses != nil), ("ca", authorities != nil), ("server", server != nil),
            ("record", record != nil), ("transport", transport != nil),
        ]
        for (key, isSet) in given where isSet && !method.keys.contains(key) {
            guard let owner = ProbeMethod.allCases.first(where: { $0.keys.contains(key) }) else { continue }
            found.append((key, "is for probes of method \(owner.rawValue), this one is \(method.rawValue)"))
        }
        if statuses?.isEmpty == true { found.append(("expect_status", "needs at least one status")) }
        return found
    }

    /// The probe as it is run; `nil` when something contradicts.
    func definition(named name: String) -> ProbeDefinition? {
        let method = effectiveMethod
        guard let target = ProbeTarget(target ?? "", method: method) else { return nil }
        return ProbeDefinition(
            name: name,
            method: method,
            target: target,
            family: family,
            route: ProbeRoute(interface: interface, mark: mark, userID: userID),
            page: PageExpectation(
                statuses: statuses ?? PageExpectation().statuses,
                authorities: authorities
            ),
            question: ServerQuestion(server: server, record: record ?? .a, transport: transport ?? .udp),
            interval: interval,
            retryInterval: retryInterval ?? min(.seconds(1), interval),
            timeout: timeout ?? min(.seconds(2), interval),
            threshold: threshold
        )
    }
}

extension Configuration {
    /// The active probes, in the order of the file; none unless the configuration names some.
    public var probeDefinitions: [ProbeDefinition] {
        probes.active.compactMap { $0.value.definition(named: $0.name) }
    }
}

extension ValueForm where Value == String {
    /// What a probe tests; whether it fits the method is checked once that is known.
    static let probeTarget = ValueForm(
        scalar: "a host, HOST:PORT, a URL or a domain name",
        schema: ["type": "string", "minLength": 1, "maxLength": 2048],
        parse: { (text) throws(Refusal) in
            guard (1...2048).contains(text.utf8.count) else { throw .malformed }
            return text
        },
        write: { .text($0) }
    )
}

extension ValueForm where Value == SocketAddress {
    /// A name server: an address, with a port where it is not 53.
    static let nameServer = ValueForm(
        scalar: "an address such as 192.0.2.53 or [2001:db8::53]:5353",
        schema: ["type": "string", "minLength": 2, "maxLength": 80],
        parse: { (text) throws(Refusal) in
            guard let address = SocketAddress(text, standardPort: 53) else { throw .malformed }
            return address
        },
        write: { .text($0.description) }
    )
}
