// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// A world together with what a reader of explanations gathers besides.
struct ExplanationWorld {
    var world: World
    var rules = ExplanationWorld.standardRules
    var nexthops: [Nexthop] = []
    var neighbors: [Neighbor] = []
    var uid: UInt32 = 1000
    var mark: UInt32 = 0

    init(_ world: World = .ordinary()) {
        self.world = world
        self.world.facts.dns = DNSConfiguration(
            servers: [DNSServer(ScopedAddress(.v4(0xC000_0235)))],
            source: "/etc/resolv.conf"
        )
    }

    /// The rules of a kernel nobody configured, for both families.
    static let standardRules = AddressFamily.allCases.flatMap { family in
        [(0, 255), (32766, 254), (32767, 253)].map { priority, table in
            PolicyRule(family: family, priority: priority, action: 1, table: table, selector: "all")
        }
    }

    /// Adds a rule of IPv4 to what is read and to what the table does.
    mutating func rule(_ priority: UInt32, action: UInt8 = 1, table: UInt32 = 0, selector: String = "all") {
        rules.append(
            PolicyRule(family: .ipv4, priority: priority, action: action, table: table, selector: selector)
        )
        let failures: [UInt8: RouteFailure] = [6: .blackhole, 7: .noRoute, 8: .prohibited]
        world.rule(priority, table: table) { $0.failure = failures[action] }
    }

    var facts: ExplanationFacts {
        let entries = world.table.routes.map { route in
            let answer = RouteAnswer(
                type: route.type,
                table: route.table,
                prefixLength: route.prefix.length,
                nexthops: route.nexthops,
                metric: route.metric,
                nexthopID: route.nexthopID
            )
            return RouteEntry(destination: route.prefix, answer: answer)
        }
        var learnt = world
        learnt.state.learn(neighbors)
        return ExplanationFacts(
            classifier: learnt.classifier,
            rules: rules.reversed(),
            rejects: entries.filter { $0.answer.type != .unicast },
            defaults: entries.filter { $0.answer.type == .unicast && $0.destination.length == 0 },
            nexthops: nexthops,
            neighbors: neighbors,
            uid: uid,
            mark: mark,
            now: world.now
        )
    }

    private var explainer: Explainer<FakeTable> { explainer(.https) }

    private func explainer(_ transport: Transport?) -> Explainer<FakeTable> {
        var table = world.table
        table.state = world.state
        return Explainer(facts, table: table, transport: transport)
    }

    func internet(_ family: AddressFamily = .ipv4, names: NameQuestion = .general) throws -> Explanation {
        try #require(explainer.explainInternet(family, names: names))
    }

    /// Whether there is anything to explain.
    func canExplain(_ family: AddressFamily) -> Bool { explainer.explainInternet(family) != nil }

    func host(
        _ address: String,
        by interface: String? = nil,
        names: NameQuestion = .unneeded,
        transport: Transport? = .https
    ) throws -> Explanation {
        explainer(transport).explain(try #require(IPAddress(address)), by: interface, names: names)
    }
}

extension Explanation {
    /// The text of one element.
    func text(_ element: ExplanationElement) -> String { steps.first { $0.element == element }?.text ?? "" }

    /// The verdict on one element.
    func verdict(_ element: ExplanationElement) -> ExplanationStep.Verdict? {
        steps.first { $0.element == element }?.verdict
    }

    /// One sign an element, in their order.
    var signs: String {
        steps.map { step in
            switch step.verdict {
            case .fine: "+"
            case .broken: "!"
            case .unknown: "?"
            }
        }.joined()
    }
}
