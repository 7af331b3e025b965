// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import LinuxIO
internal import Netlink
internal import OrderedJSON
internal import PathEngine
internal import PathModel
internal import Probes

/// `nwpath why`: what keeps packets from leaving; asks the kernel, needs no service.
struct Why: Command {
    var host: String?
    var config: String?
    var timeout = Duration.seconds(5)

    static let specification = Specification<Why>(
        "why",
        "Shows the kernel's path to the Internet or to a host, and the first broken element.",
        discussion:
            "Follows the rule, table, route, nexthop, link, carrier, source address, packet filters, neighbour and name "
            + "servers. Queries the kernel of this machine and sends nothing beyond the first router, except for "
            + "the lookup of a name. Probe results of the local service are shown as well.",
        examples: [
            CommandExample("nwpath why", "why the Internet connection is down"),
            CommandExample("nwpath why 192.0.2.1", "the kernel's path to an address"),
            CommandExample("nwpath why example.com", "to a host name, over IPv4 and IPv6"),
        ],
        arguments: [
            .positional("HOST", into: \.host, .text, help: "An address or a name; default: the Internet."),
            .option("--config", value: "FILE", into: \.config, .path, help: "The configuration file."),
            .option("--timeout", value: "DUR", into: \.timeout, .duration, help: "Timeout of the lookup."),
        ],
        common: [.output, .messages],
        exits: [
            ExitNote(.success, "the kernel would send the packets"),
            ExitNote(.negative, "an element is broken, or may be"),
            ExitNote(.usage),
            ExitNote(.timedOut, "the name servers did not answer in time"),
        ]
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        guard let settings = CommandConfiguration.load(config) else { return .usage }
        guard let target = Self.target(host) else {
            Terminal.complain("\(host ?? "") is neither an address nor a name")
            return .usage
        }
        let answer: Answer
        do {
            answer = try explain(target, settings)
        } catch {
            Terminal.complain("cannot query the kernel: \(error)")
            return .negative
        }
        let document = WhyDocument(target: host ?? Self.internet, answer.explanations, BeyondKernel(common))
        print(document, common)
        if answer.isTimedOut { return .timedOut }
        return document.verdict == "ok" ? .success : .negative
    }

    // MARK: - Target

    /// What is explained without a host.
    static let internet = "the Internet"

    private enum Target {
        case internet
        case address(IPAddress, interface: String?)
        case name(String)
    }

    private static func target(_ host: String?) -> Target? {
        guard let host else { return .internet }
        let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        if let address = IPAddress(parts[0]) {
            return .address(address, interface: parts.count > 1 ? String(parts[1]) : nil)
        }
        let allowed = host.utf8.allSatisfy { $0 > 32 && $0 != 127 && $0 != UInt8(ascii: "/") }
        guard allowed, host.utf8.count <= 253, !host.hasPrefix("-") else { return nil }
        return .name(host)
    }

    // MARK: - Asking

    private struct Answer {
        var explanations: [Explanation]
        /// Whether name servers that could be reached did not answer in time.
        var isTimedOut = false
    }

    private func explain(_ target: Target, _ settings: CommandConfiguration) throws(NetlinkError) -> Answer {
        let kernel = try LiveKernel()
        let facts = try facts(of: kernel, settings, for: target)
        let explainer = Explainer(facts, table: KernelTable(kernel))
        switch target {
        case .internet: return Answer(explanations: Self.explainInternet(explainer, names: .general))
        case .address(let address, let interface):
            return Answer(explanations: [explainer.explain(address, by: interface)])
        case .name(let name): return explain(name, explainer)
        }
    }

    /// How long the kernel solicits a router before it calls it failed, three times a second apart, and some room.
    private static let resolution = Duration.milliseconds(3_500)

    /// Reads what explanations rest on, again while a router is being resolved, as a silent one is with each packet.
    private func facts(
        of kernel: LiveKernel,
        _ settings: CommandConfiguration,
        for target: Target
    ) throws(NetlinkError) -> ExplanationFacts {
        let dns = ExplanationReader.nameServers(at: settings.resolverFile)
        let end = KernelClock().boot + Self.resolution
        // What sends to a router all the time makes it incomplete again before it is seen to have failed.
        var unanswered: Set<NeighborKey>?
        while true {
            let now = KernelClock().boot
            var facts = try ExplanationReader.facts(
                of: kernel,
                policy: settings.engine.policy,
                dns: dns,
                uid: geteuid(),
                at: now,
                hasRadios: true
            )
            unanswered = unanswered?.intersection(facts.incomplete) ?? facts.incomplete
            guard Self.isResolvingRouter(of: target, facts, kernel) else { return facts }
            guard now < end else {
                facts.unanswered = unanswered ?? []
                return facts
            }
            usleep(100_000)
        }
    }

    /// Whether a router is being resolved that packets to the target pass.
    private static func isResolvingRouter(
        of target: Target,
        _ facts: ExplanationFacts,
        _ kernel: LiveKernel
    ) -> Bool {
        guard case .address(let address, _) = target else { return facts.isResolvingRouter }
        guard let answer = try? kernel.lookup(RouteQuery(address, kind: .decision)).get() else { return false }
        let routers = [answer].compactMap { answer in
            answer.onlyGateway.flatMap { gateway in
                answer.onlyInterface.map { NeighborKey(index: $0, address: gateway) }
            }
        }
        return routers.contains { facts.neighbors[$0]?.state == .incomplete }
    }

    private static func explainInternet(
        _ explainer: Explainer<KernelTable>,
        names: NameQuestion
    ) -> [Explanation] {
        AddressFamily.allCases.compactMap { explainer.explainInternet($0, names: names) }
    }

    /// Why nothing leaves this machine, as the kernel tells; `nil` where something does.
    static func blockade(_ explainer: Explainer<KernelTable>) -> String? {
        let document = WhyDocument(target: internet, explainInternet(explainer, names: .general), nil)
        return document.verdict == "broken" ? document.broken?.message : nil
    }

    private func explain(_ name: String, _ explainer: Explainer<KernelTable>) -> Answer {
        let isCut = !HostLookup.isResolvedOnLink(name) && Self.blockade(explainer) != nil
        let limit = isCut ? min(timeout, HostLookup.timeoutWithoutRoute) : timeout
        let found = WhyResolver.resolve(name, limit: limit)
        var reason = "the name servers did not answer in time"
        switch found {
        case .addresses(let addresses):
            return Answer(
                explanations: AddressFamily.allCases.compactMap { family in
                    addresses.first { $0.family == family }.map { explainer.explain($0, names: .answered(name)) }
                }
            )
        case .failed(let text): reason = text
        case .timedOut: break
        }
        // Where the Internet is out of reach, that is why.
        return Answer(
            explanations: Self.explainInternet(explainer, names: .failed(name, reason: reason)),
            isTimedOut: found == .timedOut && !isCut
        )
    }

    // MARK: - Printing

    private func print(_ document: WhyDocument, _ common: CommonOptions) {
        if common.isJSON {
            let style: OrderedJSONEncoder.Style = Terminal.isInteractive ? .pretty : .compact
            if let line = try? OrderedJSONEncoder(style: style).encode(document, terminator: 0x0A) {
                Terminal.print(line)
            }
            return
        }
        let palette = Palette(
            environment: Environment.variables,
            isTerminal: Terminal.isInteractive,
            hasNoColour: common.hasNoColour
        )
        Terminal.print(WhyText(palette: palette).render(document))
    }
}
