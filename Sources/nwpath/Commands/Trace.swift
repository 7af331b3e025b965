// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import OrderedJSON
internal import PathModel
internal import Probes

/// `nwpath trace`: the path to a host, hop by hop, with loss and round trips.
struct Trace: Command {
    var host = ""
    var isTCP = false
    var isICMP = false
    var port: Int?
    var isIPv4 = false
    var isIPv6 = false
    var rounds = 5
    var hops = 30
    var interface: String?
    var showsNames = false
    var limit: Duration?

    static let specification = Specification<Trace>(
        "trace",
        "Shows the path to a host hop by hop, with loss and round trips.",
        discussion: """
            Sends packets with growing hop limits, and reports which routers drop them, how often and how fast: by UDP \
            datagrams, with --tcp by connections, with --icmp by echo requests. No privilege is needed, except for \
            --icmp where net.ipv4.ping_group_range does not allow it; routers answer --tcp visibly from Linux 6.3 on.

            The first line says how far packets get. Each round may go by other routers, so a hop can have several \
            addresses, the most frequent one first. The first round ends after five hops in a row without an answer.

            Loss at a hop in the middle alone is no problem: routers limit ICMP errors. Loss that goes on to the last \
            hop is.
            """,
        examples: [
            CommandExample("nwpath trace 192.0.2.1", "the path to an address"),
            CommandExample("nwpath trace example.test --tcp", "as connections to port 443 go"),
            CommandExample("nwpath trace example.test --names --rounds 10", "ten rounds, with the names of routers"),
            CommandExample("nwpath trace 192.0.2.1 --json", "the same for programs"),
        ],
        arguments: [
            .positional("HOST", into: \.host, .text, help: "An address or a name."),
            .flag("--tcp", into: \.isTCP, help: "Make TCP connections."),
            .flag("--icmp", into: \.isICMP, help: "Send ICMP echo requests."),
            .option(
                "--port",
                value: "N",
                into: \.port,
                .integer(1...65535),
                help: "Port of --tcp (443) or of UDP (from 33434 on, another one for each round)."
            ),
            .flag("-4", "--ipv4", into: \.isIPv4, help: "IPv4 only."),
            .flag("-6", "--ipv6", into: \.isIPv6, help: "IPv6 only."),
            .option("--rounds", value: "N", into: \.rounds, .integer(1...100), help: "Packets for each hop."),
            .option("--hops", value: "N", into: \.hops, .integer(1...64), help: "The largest hop limit."),
            .interface(into: \.interface, help: "Send through this interface."),
            .flag("--names", into: \.showsNames, help: "Also show the names of addresses; 2 s longer at most."),
            .option("--timeout", value: "DUR", into: \.limit, .duration, help: "Time limit, including the lookup."),
        ],
        common: [.output, .messages],
        exits: [
            ExitNote(.success, "the host answered"),
            ExitNote(.negative, "it did not, or its name has no address"),
            ExitNote(.usage),
            ExitNote(.timedOut, "the time limit was reached, or the name servers did not answer in time"),
            ExitNote(.refused, "this process may not send such packets"), ExitNote(.interrupted),
        ],
        check: { $0.complaint }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            guard let target else { return .usage }
            let run = try TraceRun(family, ProbeRoute(interface: interface), plan, limit: limit)
            let (address, result) = try run.run(to: target)
            if case .notAssessed(let advice)? = result.failure { throw CommandFailure(advice, .refused) }
            var document = TraceDocument(host, address, plan, result, own: TraceRun.source(of: address, interface))
            if showsNames { document.name(by: ReverseNames.find(document.addresses, limit: .seconds(2))) }
            try show(document, Screen(common), isJSON: common.isJSON)
            if result.isArrived { return .success }
            return result.isCut ? .timedOut : .negative
        }
    }

    private func show(_ document: TraceDocument, _ screen: Screen, isJSON: Bool) throws(CommandFailure) {
        guard isJSON else { return Terminal.print(TraceText(screen).render(document)) }
        try screen.print(TraceDocument.members.value(of: document))
    }

    // MARK: - What was given

    private var target: ProbeHost? { ProbeHost(host) }

    private var family: AddressFamily? { isIPv4 ? .ipv4 : isIPv6 ? .ipv6 : nil }

    private var plan: TraceroutePlan {
        var plan = TraceroutePlan()
        let port = port.map { UInt16(truncatingIfNeeded: $0) }
        plan.method = isTCP ? .tcp(port: port ?? 443) : isICMP ? .icmp : .udp(port: port)
        plan.rounds = rounds
        plan.hops = hops
        return plan
    }

    /// What is wrong with the command line; `nil` when nothing is.
    private var complaint: String? {
        if isTCP && isICMP { return "--tcp and --icmp exclude each other" }
        if isICMP && port != nil { return "--port is not for --icmp" }
        if isIPv4 && isIPv6 { return "-4 and -6 exclude each other" }
        if let limit, limit < .milliseconds(100) { return "--timeout must be 100ms or longer" }
        guard let target else { return "HOST is neither an address nor a name" }
        if case .address(let address) = target, let family, address.address.family != family {
            return "HOST is no \(family.label) address"
        }
        return nil
    }
}
