// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

struct GatewayText {
    let renderer: TextRenderer
    /// What probes found; `nil` where that is not known.
    var findings: ProbeFindings?

    func gateways(_ gateways: [JSONValue], isIndented: Bool = false) -> String {
        guard !gateways.isEmpty else { return "no gateway\n" }
        var table = TextTable([
            .init("ADDRESS"), .init("INTERFACE"), .init("FAMILY"), .init("METRIC", isTrailing: true), .init("ANSWERS"),
        ])
        for gateway in gateways {
            table.add([
                .init(gateway.text("address"), .strong), .init(gateway.interfaceName),
                .init(gateway.text("family")),
                .init(gateway["metric"]?.int.map(String.init) ?? ""), answers(gateway),
            ])
        }
        return renderer.table(table, isIndented: isIndented)
    }

    /// Name servers in order, search domains, and where they were read.
    ///
    /// - Parameters:
    ///   - dns: `/api/v1/dns`.
    ///   - condition: Of the element `dns` in the chain of `/api/v1/status`; `nil` where that is not known.
    /// - Returns: A line with a sign, then the rest.
    func dns(_ dns: JSONValue, condition: String? = nil) -> String {
        let servers = dns.texts("servers")
        // One on the link may answer while nothing beyond the gateway does.
        let answers = condition == "not_reached" && servers.contains { findings?.nameServer($0)?.isGood == true }
        let (verdict, tone) = Self.verdict(servers, isUsable: dns.isTrue("usable"), answers ? "good" : condition)
        var text = renderer.style(verdict, tone) + "\n"
        var table = TextTable([.init(""), .init("", canShrink: true), .init("")])
        for (number, server) in servers.enumerated() {
            let finding = findings?.nameServer(server)
            table.add([
                .init(number == 0 ? "servers" : "", .faint), .init(server),
                .init(finding?.sentence ?? (findings == nil ? "" : "not tested"), Self.tone(finding)),
            ])
        }
        let search = dns.texts("search")
        if !search.isEmpty { table.add([.init("search", .faint), .init(search.joined(separator: " ")), .init("")]) }
        for member in ["problem", "source"] where !dns.text(member).isEmpty {
            table.add([.init(member, .faint), .init(dns.text(member)), .init("")])
        }
        text += renderer.indent(renderer.table(table, isIndented: true))
        return text
    }

    private static func verdict(_ servers: [String], isUsable: Bool, _ condition: String?) -> (String, Palette.Tone?) {
        guard isUsable else {
            return ("✗ DNS: no name server" + (servers.isEmpty ? "" : " is reachable"), .bad)
        }
        return switch condition {
        case "good": ("✓ DNS: answers", .good)
        case "degraded": ("! DNS: partly failing or slow", .warning)
        case "broken": ("✗ DNS: does not answer", .bad)
        case "not_reached": ("✗ DNS: not working, because the Internet connection is down", .bad)
        default: ("? DNS: reachable, not tested (run `nwpath diagnose`)", nil)
        }
    }

    private func answers(_ gateway: JSONValue) -> TextTable.Cell {
        if let finding = findings?.gateway(gateway.text("address")) {
            return .init((finding.isGood ? "yes, " : "no, ") + finding.detail, Self.tone(finding))
        }
        return switch gateway["reachable"]?.bool {
        case true?: .init("yes", .good)
        case false?: .init("no", .bad)
        case nil: .init("not tested", .faint)
        }
    }

    private static func tone(_ finding: ProbeFindings.Finding?) -> Palette.Tone {
        finding.map { $0.isGood ? .good : .bad } ?? .faint
    }
}
