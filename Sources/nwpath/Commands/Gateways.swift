// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// `nwpath gateways`: the routers in use.
struct Gateways: Command {
    static let specification = Specification<Gateways>(
        "gateways",
        "Lists the routers in use.",
        discussion: """
            ANSWERS is the last result of a probe that pings the gateway, else the state in the neighbour table. \
            Without a service the kernel is read.
            """,
        examples: [
            CommandExample("nwpath gateways", "addresses, interfaces, and whether they answer"),
            CommandExample("nwpath gateways --json", "the same as JSON"),
        ],
        exits: ServiceExits.all
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var source = try StatusReader(common)
            let answer = try source.read("/api/v1/gateways") { kernel throws(CommandFailure) in try kernel.gateways }
            let screen = Screen(common)
            guard !common.isJSON else {
                try screen.print(answer)
                return .success
            }
            let now = KernelClock().wall
            let text = GatewayText(renderer: TextRenderer(screen, now: now), findings: try source.findings(at: now))
            Terminal.print(text.gateways(answer.value.list("gateways")))
            return .success
        }
    }
}

/// `nwpath dns`: the name servers that programs end up asking.
struct NameServers: Command {
    static let specification = Specification<NameServers>(
        "dns",
        "Shows the name servers in use, and whether they are reachable and answer.",
        discussion: """
            The last result of a probe is shown beside each name server. Without a service the kernel is read.
            """,
        examples: [
            CommandExample("nwpath dns", "servers, search domains, and where they were read"),
            CommandExample("nwpath dns --json", "the same as JSON"),
        ],
        exits: ServiceExits.all
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var source = try StatusReader(common)
            let answer = try source.read("/api/v1/dns") { kernel throws(CommandFailure) in try kernel.dns }
            let screen = Screen(common)
            guard !common.isJSON else {
                try screen.print(answer)
                return .success
            }
            let now = KernelClock().wall
            let text = GatewayText(renderer: TextRenderer(screen, now: now), findings: try source.findings(at: now))
            let chain = try source.read("/api/v1/status") { kernel throws(CommandFailure) in try kernel.overview }.value
                .list("chain")
            Terminal.print(text.dns(answer.value, condition: chain.last?.text("condition")))
            return .success
        }
    }
}
