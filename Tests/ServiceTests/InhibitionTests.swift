// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// Which alert keeps which quiet, decided by the real Alertmanager.
@Suite(.inNamespace) struct InhibitionTests {
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

    private func cases() -> [Case] {
        var cases = [
            Case("NwpathPathUnsatisfied", told: true, ("instance", "a"), ("monitor", "default")),
            Case("NwpathPathUnsatisfied", told: true, ("instance", "b"), ("monitor", "wired")),
            Case("NwpathRequiredInterfaceDown", told: true, ("instance", "a"), ("device", "eth0")),
        ]
        let behind = [
            "NwpathPathDNSUnavailable", "NwpathPathIPv6Lost", "NwpathCaptivePortal", "NwpathGatewayUnreachable",
            "NwpathProbeFailing", "NwpathProbeSlow", "NwpathWatchedServiceMissing", "NwpathServiceCensusCollapsed",
            "NwpathCensusStale",
        ]
        for name in behind {
            cases.append(Case(name, told: false, ("instance", "a")))
            // A second monitor that is down, and another host.
            cases.append(Case(name, told: true, ("instance", "b")))
            cases.append(Case(name, told: true, ("instance", "c")))
        }
        for (host, name) in [("d", "NwpathRequiredInterfaceDown"), ("e", "NwpathRequiredInterfaceMissing")] {
            cases.append(Case(name, told: true, ("instance", host), ("device", "eth0")))
            let gateway = "NwpathGatewayUnreachable"
            cases.append(Case(gateway, told: false, ("instance", host), ("device", "eth0")))
            cases.append(Case(gateway, told: true, ("instance", host), ("device", "eth1")))
        }
        cases.append(Case("NwpathNetworkBroken", told: true, ("instance", "j"), ("code", "wan.down")))
        for name in ["NwpathNetworkDegraded", "NwpathNetworkWarning", "NwpathProbeFailing", "NwpathGatewayUnreachable"]
        {
            cases.append(Case(name, told: false, ("instance", "j")))
            cases.append(Case(name, told: true, ("instance", "k")))
        }
        cases.append(Case("NwpathFleetPathsDown", told: true, ("site", "north")))
        for name in ["NwpathPathUnsatisfied", "NwpathDown"] {
            cases.append(Case(name, told: false, ("site", "north"), ("instance", "f")))
            cases.append(Case(name, told: true, ("site", "south"), ("instance", "g")))
        }
        cases.append(Case("Own", told: true, ("instance", "h"), ("severity", "critical")))
        cases.append(Case("Own", told: false, ("instance", "h"), ("severity", "warning")))
        cases.append(Case("Own", told: true, ("instance", "i"), ("severity", "warning")))
        return cases
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
