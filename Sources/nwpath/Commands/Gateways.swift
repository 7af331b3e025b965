// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// `nwpath gateways`: the routers in use.
struct Gateways: Command {
    static let specification = Specification<Gateways>(
        "gateways",
        "Lists the routers in use.",
        examples: [
            CommandExample("nwpath gateways", "addresses, interfaces, and whether they answer"),
            CommandExample("nwpath gateways --json", "the same as JSON"),
        ],
        exits: ServiceExits.all
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var connection = try ServiceConnection(common)
            let answer = try connection.get("/api/v1/gateways")
            let screen = Screen(common)
            let text = GatewayText(sheet: Sheet(screen, now: KernelClock().wall))
            let gateways = answer.value.list("gateways")
            common.isJSON ? try screen.print(answer) : Terminal.print(text.gateways(gateways))
            return .success
        }
    }
}

/// `nwpath dns`: the name servers that programs end up asking.
struct NameServers: Command {
    static let specification = Specification<NameServers>(
        "dns",
        "Shows the name servers in use, and whether they can be reached and answer.",
        examples: [
            CommandExample("nwpath dns", "servers, search domains, and where they were read"),
            CommandExample("nwpath dns --json", "the same as JSON"),
        ],
        exits: ServiceExits.all
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var connection = try ServiceConnection(common)
            let answer = try connection.get("/api/v1/dns")
            let screen = Screen(common)
            let text = GatewayText(sheet: Sheet(screen, now: KernelClock().wall))
            if common.isJSON {
                try screen.print(answer)
            } else {
                let chain = try connection.get("/api/v1/status").value.list("chain")
                Terminal.print(text.dns(answer.value, condition: chain.last?.text("condition")))
            }
            return .success
        }
    }
}
