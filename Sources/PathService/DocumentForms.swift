// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventHub
package import OrderedJSON

/// What the documents of the service look like, in the order of the routes.
package enum DocumentForms {
    package static var all: [Form] {
        [
            OverviewDocument.form,
            StateDocument.form("Monitors", "All monitors.").member("paths", .list(of: MonitorDocument.form)),
            StateDocument.form("MonitorState", "One monitor.").members(of: MonitorDocument.form),
            StateDocument.form("Interfaces", "All interfaces, ignored ones too.", isFoundDirectly: true)
                .member("interfaces", .list(of: InterfaceDocument.form)),
            StateDocument.form("InterfaceState", "One interface.", isFoundDirectly: true)
                .members(of: InterfaceDocument.form),
            StateDocument.form("Gateways", "The gateways of the path `default`.", isFoundDirectly: true)
                .member("gateways", .list(of: GatewayDocument.form)),
            StateDocument.form("NameServerState", "Name resolution of the path `default`.", isFoundDirectly: true)
                .members(of: DNSDocument.form),
            DiagnosisStateDocument.form,
            TrafficDocument.form,
            TrafficHistoryDocument.form,
            StateDocument.form("Probes", "Active probes with their last results.")
                .member("probes", .list(of: ProbeDocument.form)),
            StateDocument.form("ProbeState", "One active probe.").members(of: ProbeDocument.form),
            ProbeHistoryDocument.form,
            StateDocument.form("Services", "Services of the census.", isFoundDirectly: true)
                .member("services", .list(of: ServiceDocument.form)),
            ServiceTypesDocument.form,
            StateDocument.form("PastServices", "What was ever seen.")
                .member("services", .list(of: PastServiceDocument.form)),
            Form.list(of: ScrapeTarget.form).named("ScrapeTargets"),
            OutageHistory.Document.form,
            reload,
            configuration,
            pageLink,
            pageSession,
        ]
    }

    private static var reload: Form {
        .document("Reload", "What a reload changed.")
            .member("changed", .list(of: .text))
            .member("restart_needed", .list(of: .text))
    }

    private static var pageLink: Form {
        .document("PageLink", "A link to the page that may start tests.")
            .member("secret", .text, "The fragment of the address is `link=` and this; it counts once.")
            .member("expires_seconds", .count, "How long it counts.")
    }

    private static var pageSession: Form {
        .document("PageSession", "What a page shows as `X-NWPath-Session` to start tests.")
            .member("token", .text)
            .member("expires_seconds", .count, "How long it counts.")
    }

    private static var configuration: Form {
        .anyObject.about(
            "The configuration in use; `/api/v1/schema/config.json` describes its keys. Secrets are redacted."
        )
        .named("Configuration")
    }
}
