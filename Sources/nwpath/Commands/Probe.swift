// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO
internal import OrderedJSON
internal import Probes
internal import Spelling

/// `nwpath probe`: tests a host, a port, a page or a name server, and reports the response times.
struct Probe: Command {
    var request = ProbeRequest()
    var count = 4
    var pause = Duration.seconds(1)

    static let specification = Specification<Probe>(
        "probe",
        "Tests a host, a port, a page or a name server, and reports the response times.",
        discussion: """
            Without TARGET it lists the active probes of the service. With the name of one the service runs it, \
            which needs root or the user of the service. Any other target is tested by the command itself: an \
            address, a host name or gateway by ICMP, HOST:PORT by TCP, a URL by HTTP, and a domain name by --method \
            dns.

            Each result is one line; the summary has the loss and the minimum, mean, maximum and 95th percentile of \
            the duration. With --json there is one object per line (JSON lines), the summary last.
            """,
        examples: [
            CommandExample("nwpath probe", "the probes of the service and their last results"),
            CommandExample("nwpath probe 192.0.2.1", "an address by ICMP, four times"),
            CommandExample("nwpath probe example.test:443 -c 1", "one TCP connection"),
            CommandExample("nwpath probe http://example.test/ -i 5s -c 0", "a page, until Ctrl-C"),
            CommandExample("nwpath probe example.test --method dns --server 192.0.2.53", "a name server"),
        ],
        arguments: [
            .positional(
                "TARGET",
                into: \.request.target,
                .probeName,
                help: "A probe of the service, or a target."
            ),
            .option(
                "-c",
                "--count",
                value: "N",
                into: \.count,
                .integer(0...1_000_000),
                help: "Number of attempts; 0 = unlimited."
            ),
            .option(
                "-i",
                "--interval",
                value: "DUR",
                into: \.pause,
                .duration,
                help: "Time between attempts."
            ),
            .option("--method", value: "WORD", into: \.request.method, .choice, help: "Probe method."),
            .interface(into: \.request.interface, help: "Send through this interface."),
            .option(
                "--family",
                value: "WORD",
                into: \.request.family,
                .choice,
                help: "Resolve names to this family only."
            ),
            .option(
                "--server",
                value: "ADDR",
                into: \.request.server,
                .nameServer,
                help: "The name server to query."
            ),
            .option(
                "--limit",
                value: "DUR",
                into: \.request.limit,
                .duration,
                help: "Timeout of an attempt."
            ),
        ],
        exits: [
            ExitNote(.success, "a probe succeeded, or the list"),
            ExitNote(.negative, "no probe succeeded"),
            ExitNote(.usage), ExitNote(.timedOut, "the service did not answer in time"),
            ExitNote(.unreachable),
            ExitNote(.refused), ExitNote(.interrupted),
        ],
        check: {
            $0.pause < .milliseconds(10) ? "--interval must be 10ms or longer" : $0.request.complaint
        }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            guard request.target != nil else { return try list(common) }
            Terminal.endWithReader()
            let report = ProbeReport(Screen(common), isJSON: common.isJSON)
            if request.mayBeName, let remote = try RemoteProbe(request.target ?? "", common) {
                return try remote.run(count: count, pause: pause, report)
            }
            guard let definition = request.definition else {
                throw CommandFailure(request.explanation, .usage)
            }
            return try DirectProbe(definition).run(count: count, pause: pause, report)
        }
    }

    private func list(_ common: CommonOptions) throws(CommandFailure) -> ExitStatus {
        var connection = try ServiceConnection(common)
        let answer = try connection.get("/api/v1/probes")
        let screen = Screen(common)
        if common.isJSON {
            try screen.print(answer)
        } else {
            Terminal.print(
                ProbeText(renderer: TextRenderer(screen, now: KernelClock().wall)).list(answer.value.list("probes"))
            )
        }
        return .success
    }
}

struct ProbeRequest: Hashable {
    var target: String?
    var method: ProbeMethod?
    var interface: String?
    var family: AddressFamily?
    var server: SocketAddress?
    var limit = Duration.seconds(2)

    /// Whether the target may be the name of a probe of the service: a plain word, and nothing said of how to ask.
    var mayBeName: Bool {
        guard let target, method == nil, interface == nil, family == nil, server == nil else {
            return false
        }
        return target.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 97...122, UInt8(ascii: "_"), UInt8(ascii: "-"): true
            default: false
            }
        }
    }

    private var effectiveMethod: ProbeMethod {
        method ?? (server == nil ? ProbeTarget.likelyMethod(of: target ?? "") : .dns)
    }

    /// The attempt; `nil` when the target is not one of the method.
    var definition: ProbeDefinition? {
        guard let target, let parsed = ProbeTarget(target, method: effectiveMethod) else { return nil }
        return ProbeDefinition(
            name: target,
            method: effectiveMethod,
            target: parsed,
            family: family,
            route: ProbeRoute(interface: interface),
            question: ServerQuestion(
                server: server,
                record: family == .ipv6 && server == nil ? .aaaa : .a
            ),
            timeout: limit
        )
    }

    /// What a right target looks like.
    var explanation: String {
        let target = PrintableText.quote(target ?? "")
        return "TARGET is \(target), expected \(effectiveMethod.targetForm)"
    }

    /// What is wrong with the command line; `nil` when nothing is.
    var complaint: String? {
        if limit < .milliseconds(1) { return "--limit must be 1ms or longer" }
        if server != nil && effectiveMethod != .dns { return "--server is for --method dns" }
        return target == nil || mayBeName || definition != nil ? nil : explanation
    }
}

extension ArgumentForm where Value == SocketAddress {
    static let nameServer = ArgumentForm("an address such as 192.0.2.53 or [2001:db8::53]:5353") {
        SocketAddress($0, standardPort: 53)
    }
}
