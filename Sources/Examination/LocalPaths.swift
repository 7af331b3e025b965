// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Glibc
internal import LinuxIO
internal import Netlink
internal import PathEngine
internal import PathModel

/// What this machine does with packets to an address, as `nwpath why` shows it, and its packet filters with those to a port.
///
/// It sends nothing that leaves the machine.
struct LocalPaths {
    private let explainer: Explainer<KernelTable>
    private let table: KernelTable
    private let links: [Int: Link]

    /// Reads rules, routes and neighbours.
    /// - Throws: ``NetlinkError`` when links, addresses or rules cannot be read.
    init(
        _ kernel: some KernelSource,
        _ policy: PathPolicy,
        filter: PacketFilter?,
        at now: Duration
    ) throws(NetlinkError) {
        let facts = try ExplanationReader.facts(
            of: kernel,
            policy: policy,
            dns: DNSConfiguration(),
            uid: geteuid(),
            at: now
        )
        table = KernelTable(kernel, filter: filter)
        links = facts.classifier.state.links
        explainer = Explainer(facts, table: table, transport: nil)
    }

    /// What keeps packets of a kind from leaving; `nil` where nothing is known to.
    ///
    /// A link, a carrier or a neighbour that does not work has rules of its own.
    func obstacle(to address: ScopedAddress, _ kind: QueryProtocol) -> LocalObstacle? {
        let explanation = explainer.explain(address.address, by: address.scope)
        if let step = explanation.broken, let fault = step.fault {
            switch step.element {
            case .rule, .table, .route, .nexthop, .source:
                return LocalObstacle(.path(step.element), fault, hint: step.hint)
            case .link, .carrier, .firewall, .neighbour, .dns: return nil
            }
        }
        guard let transport = Transport(kind),
            let link = links.values.first(where: { $0.name == explanation.interface })
        else { return nil }
        let answer = table.output(of: transport, from: nil, to: address.address, by: link.index)
        guard case .refused(let obstacle) = answer else { return nil }
        return LocalObstacle(.outputFilter, obstacle.fullName, hint: obstacle.hint)
    }
}

extension Transport {
    /// `nil` for ICMP echo.
    init?(_ kind: QueryProtocol) {
        switch kind {
        case .echo: return nil
        case .tcp(let port): self.init(number: 6, port: port)
        case .udp(let port): self.init(number: 17, port: port)
        }
    }
}

/// Why replies that arrive do not reach the socket that they are for.
enum InputObstacle {
    /// What drops them: the reverse path filter, where its counter rose, else the packet filters of the input hooks.
    static func find(_ family: AddressFamily, reversePathDrops: Int) -> LocalObstacle {
        if reversePathDrops > 0 {
            return LocalObstacle(
                .reversePath,
                "the reverse path filter of this machine",
                hint: "`sysctl net.ipv4.conf.all.rp_filter`: 2 (loose) where replies come by another interface"
            )
        }
        let chains = (try? PacketFilter.inputChains(family)) ?? []
        guard (1...3).contains(chains.count) else {
            return LocalObstacle(
                .inputFilter,
                "a packet filter of this machine",
                hint: "`nft list ruleset`, `iptables-save`: check the input hook"
            )
        }
        let names = chains.map { "\($0)" }.joined(separator: " or ")
        let commands = chains.map { "`nft list chain \($0)`" }.joined(separator: ", ")
        return LocalObstacle(.inputFilter, "the packet filter \(names) of this machine", hint: commands)
    }

    /// How many packets the reverse path filter dropped since boot (`IPReversePathFilter`).
    static func reversePathDrops() -> Int {
        let lines = (ProcFile.text("/proc/thread-self/net/netstat") ?? "").split(separator: "\n")
        for (names, values) in zip(lines, lines.dropFirst())
        where names.hasPrefix("TcpExt:") && values.hasPrefix("TcpExt:") {
            let index = names.split(separator: " ").firstIndex(of: "IPReversePathFilter")
            let numbers = values.split(separator: " ")
            return index.flatMap { numbers.indices.contains($0) ? Int(numbers[$0]) : nil } ?? 0
        }
        return 0
    }
}
