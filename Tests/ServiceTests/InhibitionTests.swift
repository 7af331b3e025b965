// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// Which alert keeps which quiet, decided by the real Alertmanager.
@Suite(.inNamespaceAtOnce) struct InhibitionTests {
    /// An alert, and whether it should be told.
    private struct Case {
        let labels: [(String, String)]
        let isTold: Bool

        init(_ name: String, told: Bool, _ labels: (String, String)...) {
            self.labels = [("alertname", name), ("job", "nwpath"), ("case", told ? "active" : "suppressed")] + labels
            isTold = told
        }

        var json: JSONValue {
            var object = JSONObject()
            for (name, value) in labels { object[name] = .string(value) }
            var alert = JSONObject()
            alert["labels"] = .object(object)
            return .object(alert)
        }
    }

    /// What fires on one host for each cause, the alert that is told first.
    private static let causes: [String: [String]] = [
        "cable pulled": [
            "NwpathWayOutBroken", "NwpathNetworkBroken", "NwpathRequiredInterfaceDown", "NwpathPathUnsatisfied",
            "NwpathPathOutageRecorded", "NwpathPathFlapping", "NwpathWatchedServiceMissing", "NwpathProbeFailing",
            "NwpathTrafficStalled", "NwpathTrafficLoss",
        ],
        "no default route": [
            "NwpathWayOutBroken", "NwpathNetworkBroken", "NwpathPathDNSUnavailable", "NwpathProbeFailing",
        ],
        "gateway dead": [
            "NwpathWayOutBroken", "NwpathGatewayUnreachable", "NwpathNetworkBroken", "NwpathProbeFailing",
            "NwpathProbeSlow", "NwpathTrafficStalled",
        ],
        "upstream dead": [
            "NwpathWayOutBroken", "NwpathNetworkBroken", "NwpathNetworkWarning", "NwpathProbeFailing",
            "NwpathTrafficStalled",
        ],
        "upstream dead, and only the traffic shows it": [
            "NwpathTrafficStalled", "NwpathTrafficLoss", "NwpathProbeFailing", "NwpathProbeSlow",
            "NwpathGatewayUnreachable",
        ],
        "portal": ["NwpathWayOutBroken", "NwpathNetworkBroken", "NwpathProbeFailing"],
        "DNS dead": ["NwpathWayOutBroken", "NwpathNetworkBroken", "NwpathNetworkDegraded", "NwpathProbeFailing"],
        "IPv6 dead": [
            "NwpathNetworkBroken", "NwpathPathIPv6Lost", "NwpathGatewayUnreachable", "NwpathNetworkDegraded",
            "NwpathNetworkWarning", "NwpathProbeFailing", "NwpathProbeSlow", "NwpathTrafficStalled",
            "NwpathTrafficLoss",
        ],
        "IPv6 lost": ["NwpathPathIPv6Lost", "NwpathProbeFailing"],
        "daemon dead": [
            "NwpathDown", "NwpathWayOutBroken", "NwpathPathFlapping", "NwpathProbeFailing", "NwpathCensusStale",
        ],
        "edge silent": ["NwpathSilent", "NwpathWayOutBroken", "NwpathServiceCensusCollapsed", "NwpathNetworkBroken"],
        "slow": ["NwpathNetworkDegraded", "NwpathProbeSlow", "NwpathProbeFailing", "NwpathTrafficLoss"],
    ]

    private func cases() -> [Case] {
        var cases: [Case] = []
        for (cause, alerts) in Self.causes {
            cases += alerts.map { Case($0, told: $0 == alerts[0], ("instance", cause), ("site", cause)) }
            // By itself, on another host, each of the others is told.
            cases += alerts.dropFirst().map { Case($0, told: true, ("instance", "\(cause), \($0)"), ("site", cause)) }
        }
        // A second path that is down is no cause of anything.
        cases.append(Case("NwpathPathUnsatisfied", told: true, ("instance", "b"), ("monitor", "wired")))
        cases.append(Case("NwpathProbeFailing", told: true, ("instance", "b")))
        for (host, name) in [("d", "NwpathRequiredInterfaceDown"), ("e", "NwpathRequiredInterfaceMissing")] {
            cases.append(Case(name, told: true, ("instance", host), ("device", "eth0")))
            let gateway = "NwpathGatewayUnreachable"
            cases.append(Case(gateway, told: false, ("instance", host), ("device", "eth0")))
            cases.append(Case(gateway, told: true, ("instance", host), ("device", "eth1")))
        }
        cases.append(Case("NwpathTrafficStalled", told: true, ("instance", "l"), ("gateway", "192.0.2.1")))
        for (gateway, isTold) in [("192.0.2.1", false), ("192.0.2.2", true)] {
            let labels = [("instance", "l"), ("gateway", gateway)]
            cases.append(Case("NwpathGatewayUnreachable", told: isTold, labels[0], labels[1]))
        }
        cases.append(Case("NwpathGatewayUnreachable", told: true, ("instance", "j")))
        cases.append(Case("NwpathInterfaceFlapping", told: true, ("instance", "k")))
        cases.append(Case("NwpathPathFlapping", told: false, ("instance", "k")))
        for (host, code) in [("j", "gateway.unresolved"), ("k", "link.flapping")] {
            cases.append(Case("NwpathNetworkDegraded", told: false, ("instance", host), ("code", code)))
            cases.append(Case("NwpathNetworkDegraded", told: true, ("instance", host), ("code", "dns.slow")))
        }
        // An edge of the same job is silent.
        cases.append(Case("NwpathAbsent", told: false))
        cases.append(Case("NwpathFleetPathsDown", told: true, ("site", "north")))
        for name in ["NwpathWayOutBroken", "NwpathDown", "NwpathSilent"] {
            cases.append(Case(name, told: false, ("site", "north"), ("instance", "f, \(name)")))
            cases.append(Case(name, told: true, ("site", "south"), ("instance", "g, \(name)")))
        }
        cases.append(Case("Own", told: true, ("instance", "h"), ("severity", "critical")))
        cases.append(Case("Own", told: false, ("instance", "h"), ("severity", "warning")))
        cases.append(Case("Own", told: true, ("instance", "i"), ("severity", "warning")))
        return cases
    }

    /// From good to broken to good again, with what the daemon shows meanwhile.
    @Test func `each cause of an outage is posted once, and its end once`() throws {
        let scratch = try Scratch()
        let words = [
            "nsenter", "--net=\(Namespace.current.path)", "python3", "-B", Place.fixtures + "/rehearse.py",
            Monitoring.dashboards + "/prometheus", scratch.path, "30",
        ]
        let outcome = Service.outcome(of: try RunningCommand(words, captures: true))
        #expect(outcome.code == 0, "\(outcome.output)")
    }

    @Test func `a cause keeps its consequences quiet, and nothing else`() async throws {
        let scratch = try Scratch()
        let monitoring = try Monitoring(in: scratch)
        try monitoring.startAlertmanager()
        let cases = cases()
        let body = try OrderedJSONEncoder().string(JSONValue.array(cases.map(\.json)))
        let post = [
            "curl", "-s", "-f", "-H", "Content-Type: application/json", "--data-binary", "@-",
            "http://127.0.0.1:9093/api/v2/alerts",
        ]
        await Namespace.current.loop.eventually("somebody who takes alerts") {
            (try? Monitoring.inside(post, input: body)) != nil
        }
        func state(_ alert: JSONValue) -> String? { alert["status"]?["state"]?.string }
        await Namespace.current.loop.eventually("a verdict on each") {
            let alerts = Monitoring.alerts()
            return alerts.count == cases.count && !alerts.contains { state($0) == "unprocessed" }
                && alerts.count { state($0) == "suppressed" } == cases.count { !$0.isTold }
        }
        for alert in Monitoring.alerts() {
            #expect(state(alert) == alert["labels"]?["case"]?.string, "\(alert)")
        }
        // What is told is told to the receiver, and nothing else is.
        let told = cases.count { $0.isTold }
        await Namespace.current.loop.eventually("the notifications") { monitoring.notified("firing").count >= told }
        let posted = monitoring.notified("firing").compactMap { $0["labels"]?["case"]?.string }
        #expect(Set(posted) == ["active"])
    }
}
