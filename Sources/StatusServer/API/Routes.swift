// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

// The one table of routes: a new one is a value here, a row in docs/api.md, and who answers it.

extension Route {
    /// Every route; of two that match a path the former is meant.
    static let all: [Route] =
        [
            Route(.get, "/", "page", "The status page.", [.ifNoneMatch], .tagged("The page.", "text/html")) {
                api,
                call in
                api.page.response(to: call.request)
            }
        ] + ofPath + ofProbes + ofServices + ofEvents + ofDescriptions + ofProcess

    private static let ofPath: [Route] = [
        .document(
            "/api/v1/status",
            "status",
            "The overview: service, path, monitors, interfaces, services, problems.",
            "Status"
        ) { _, _ in .status },
        .document("/api/v1/paths", "paths", "All monitors.", "Monitors") { _, _ in .paths },
        .document(
            "/api/v1/paths/{monitor}",
            "path",
            "One monitor.",
            "MonitorState",
            [.monitor],
            missing: { .unknownMonitor($0[0]) },
            { arguments, _ in .path(monitor: arguments[0]) }
        ),
        Route(
            .get,
            "/api/v1/paths/{monitor}/satisfied",
            "satisfied",
            "Whether a path is satisfied, as a status code.",
            [.monitor],
            .json("It is.", .truth),
            .unsatisfied,
            problems: [404]
        ) { try $0.satisfied($1) },
        Route(
            .get,
            "/api/v1/online",
            "online",
            "Whether nothing is known to be wrong with the Internet connection, as a status code.",
            [],
            .json("The level of the headline is good or untested.", .truth),
            .unsatisfied
        ) { try $0.online($1) },
        .document("/api/v1/interfaces", "interfaces", "All interfaces.", "Interfaces") { _, _ in .interfaces },
        .document(
            "/api/v1/interfaces/{name}",
            "interface",
            "One interface.",
            "InterfaceState",
            [.interfaceName],
            missing: { Problem(.unknownInterface, status: 404, detail: "There is no interface '\($0[0])'.") },
            { arguments, _ in .interface(name: arguments[0]) }
        ),
        .document("/api/v1/gateways", "gateways", "The gateways of the path `default`.", "Gateways") { _, _ in
            .gateways
        },
        .document("/api/v1/dns", "dns", "Name resolution of the path `default`.", "NameServerState") { _, _ in .dns },
        .document(
            "/api/v1/diagnosis",
            "diagnosis",
            "What is wrong with the network; empty before something failed or it was requested.",
            "Diagnosis"
        ) { _, _ in .diagnosis },
        .document(
            "/api/v1/traffic",
            "traffic",
            "How well packets of this machine's own TCP connections get through.",
            "Traffic",
            [.query("addresses", .words("true", "false"), "Whether remote addresses are shown.", example: "true")]
        ) { (_, query) throws(Problem) in try StatusDocument(traffic: query) },
        .document("/api/v1/traffic/history", "trafficHistory", "The traffic of the last hour.", "TrafficHistory") {
            _,
            _ in .trafficHistory
        },
        .start("/api/v1/diagnosis", "runDiagnosis", "Examines the network at once.") { try $0.startDiagnosis($1) },
    ]

    private static let ofProbes: [Route] = [
        .document("/api/v1/probes", "probes", "Active probes with their last results.", "Probes") { _, _ in .probes },
        .document(
            "/api/v1/probes/{name}",
            "probe",
            "One active probe with its last results.",
            "ProbeState",
            [.probeName],
            missing: { .unknownProbe($0[0]) },
            { arguments, _ in .probe(name: arguments[0]) }
        ),
        .start("/api/v1/probes/{name}", "runProbe", "Runs an active probe at once.", [.probeName], problems: [404]) {
            try $0.startProbe($1)
        },
        Route(
            .get,
            "/api/v1/probes/{name}/history",
            "probeHistory",
            "What came of an active probe, step by step.",
            [
                .probeName,
                .query(
                    "since",
                    .pattern("^(0|[0-9]{1,3}(s|m|h))$"),
                    "An age such as `24h`, or a past time such as `2026-11-20T13:00:00Z`.",
                    example: "24h"
                ), .until,
                .query(
                    "step",
                    .pattern("^[1-9][0-9]{0,3}(s|m|h|d)$"),
                    "The length of a step, whole seconds; without it there are about 144. At most 2,000 steps.",
                    example: "10m"
                ),
            ],
            .json("The history.", .reference(to: "ProbeHistory")),
            problems: [404],
            details: """
                Kept in cells of 5 s for the last hour, 10 min for 7 days and 1 h for 30 days: `step` is rounded up to a \
                multiple of the shortest of them that reach back to `since`, and `since` down to a multiple of the step \
                since 1970.
                """
        ) { try $0.probeHistory($1) },
    ]

    private static let ofServices: [Route] = [
        .document("/api/v1/services", "services", "The census.", "Services", [.type, .serviceFilter, .interface]) {
            .services(type: $1["type"], name: $1["name"], interface: $1["interface"])
        },
        .document("/api/v1/services/types", "serviceTypes", "The types that have a service.", "ServiceTypes") { _, _ in
            .serviceTypes
        },
        .document(
            "/api/v1/services/history",
            "serviceHistory",
            "What was ever seen, gone services included.",
            "PastServices",
            [.type, .serviceFilter, .interface]
        ) { .serviceHistory(type: $1["type"], name: $1["name"], interface: $1["interface"]) },
        .document(
            "/api/v1/services/{type}/{name}",
            "service",
            "One service, on each interface that has it.",
            "Services",
            [.serviceType, .serviceName],
            missing: {
                let detail = "There is no service '\($0[1])' of type '\($0[0])'."
                return Problem(.unknownService, status: 404, detail: detail)
            },
            { arguments, _ in .service(type: arguments[0], name: arguments[1]) }
        ),
        .document(
            "/api/v1/sd/prometheus",
            "scrapeTargets",
            "Services as scrape targets for http_sd_configs.",
            "ScrapeTargets",
            [
                .query(
                    "type",
                    .pattern("^_[A-Za-z0-9-]{1,15}\\._(tcp|udp)(,_[A-Za-z0-9-]{1,15}\\._(tcp|udp))*$"),
                    "Types with commas between them.",
                    example: "_prometheus-http._tcp"
                ).required, .serviceFilter, .interface,
                .query("family", .words("ipv4", "ipv6"), "Addresses of this family only."),
            ]
        ) { _, query throws(Problem) in try StatusDocument(scrapeTargets: query) },
    ]

    private static let ofEvents: [Route] = [
        Route(
            .get,
            "/api/v1/events",
            "events",
            "Events: a stream, endless lines, or a page, by `Accept`.",
            [.since, .limit, .event, .lastEventID],
            Answer(
                status: 200,
                sentence: "Streams have no `limit`.",
                contents: [
                    ("application/json", .reference(to: "Events")),
                    (
                        "text/event-stream",
                        .text.about("`id`, `event` and `data` of each record; a comment every 15 s.")
                    ), ("application/x-ndjson", .text.about("A record a line; an empty line every 15 s.")),
                ]
            ),
            problems: [406, 410, 429]
        ) { try $0.events($1) },
        Route(
            .get,
            "/api/v1/events/ws",
            "eventSocket",
            "Events over WebSocket (RFC 6455): each text message is one record, as in the log.",
            [.since, .event],
            Answer(status: 101, sentence: "The connection is a WebSocket."),
            Answer(
                status: 426,
                sentence: "The request is not for a WebSocket of version 13.",
                contents: [Answer.problem],
                fields: ["Sec-WebSocket-Version"]
            ),
            problems: [410, 429],
            details: "The subprotocol is `nwpath.v1`. A client that falls behind is closed with 1013."
        ) { try $0.eventSocket($1) },
        Route(
            .get,
            "/api/v1/history",
            "history",
            "Outages and availability of a stretch of time.",
            Parameter.ofHistory,
            .json("The history.", .reference(to: "History")),
            problems: [404]
        ) { try $0.history($1) },
        Route(
            .get,
            "/api/v1/badge/{monitor}.svg",
            "badge",
            "The state of a monitor as a small picture.",
            [.monitor],
            Answer(status: 200, sentence: "The picture.", contents: [("image/svg+xml", .text)]),
            problems: [404],
            details: "Pages of other sites may show it with `embed_badge`.",
            isEmbeddable: true
        ) { try $0.badge($1) },
    ]

    private static let ofDescriptions: [Route] = [
        .document("/api/v1/config", "configuration", "The configuration in use.", "Configuration") { _, _ in
            .configuration
        },
        Route(
            .get,
            "/api/v1/openapi.json",
            "openapi",
            "This document.",
            [.ifNoneMatch],
            .tagged("The document.", "application/json", .object().member("openapi", .text))
        ) { try $0.description.response(to: $1, schema: nil) },
        .document("/api/v1/schema/event.json", "eventSchema", "The JSON Schema of events.", "Schema") { _, _ in
            .eventSchema
        },
        .document(
            "/api/v1/schema/config.json",
            "configurationSchema",
            "The JSON Schema of configuration files.",
            "Schema"
        ) { _, _ in .configurationSchema },
        Route(
            .get,
            "/api/v1/schema/{name}.json",
            "schema",
            "The JSON Schema of a document, by its name among the components of this one in lower case.",
            [
                Parameter(
                    name: "name",
                    place: .path,
                    form: .pattern("^[a-z]{1,40}$"),
                    sentence: "Such as `status`.",
                    example: "status",
                    isRequired: true
                ), .ifNoneMatch,
            ],
            .tagged("The schema.", "application/json", .reference(to: "Schema")),
            problems: [404]
        ) { try $0.description.response(to: $1, schema: $1.arguments[0]) },
    ]

    private static let ofProcess: [Route] = [
        Route(
            .get,
            "/metrics",
            "metrics",
            "Metrics, as text 0.0.4 or OpenMetrics 1.0.0 by `Accept`.",
            [],
            Answer(
                status: 200,
                sentence: "The metrics.",
                contents: [("text/plain", .text), ("application/openmetrics-text", .text)]
            )
        ) { try $0.metrics($1) },
        Route(
            .get,
            "/-/healthy",
            "healthy",
            "Whether the process works; independent of the network.",
            [],
            .ok("It does.")
        ) { try $0.readiness($0.provider.health, $1) },
        Route(.get, "/-/ready", "ready", "Whether the first status is known.", [], .ok("It is.")) {
            try $0.readiness($0.provider.readiness, $1)
        },
        Route(
            .post,
            "/-/reload",
            "reload",
            "Reads the configuration again.",
            [],
            .json("It is in use.", .reference(to: "Reload")),
            Answer(
                status: 400,
                sentence: "`/problems/config-invalid` with file, line and column, or a malformed request.",
                contents: [Answer.problem]
            ),
            problems: [413],
            details: Self.whoMayChange
        ) { try $0.reload($1) },
        Route(
            .post,
            "/api/v1/page/links",
            "createPageLink",
            "Makes a link to the page that may start tests, once and within a minute.",
            [],
            .json("The link.", .reference(to: "PageLink")),
            problems: [413],
            details: Self.whoMayChange
        ) { try $0.createPageLink($1) },
        Route(
            .post,
            "/api/v1/page/sessions",
            "createPageSession",
            "Exchanges the secret of a link for the token of a session.",
            [.pageLink],
            .json("The session.", .reference(to: "PageSession")),
            problems: [413],
            details: "For a page that has the secret of an unused link.",
            access: .link
        ) { try $0.createPageSession($1) },
    ]
}

// MARK: - Kinds of routes

extension Route {
    private static let whoMayChange =
        "For root, the service's own user and group through the unix socket, and for the token."

    /// A document that is served from memory; `missing` is the answer where there is none.
    private static func document(
        _ path: String,
        _ name: String,
        _ summary: String,
        _ component: String,
        _ parameters: [Parameter] = [],
        missing: (@Sendable ([String]) -> Problem)? = nil,
        _ document: @escaping @Sendable ([String], QueryParameters) throws(Problem) -> StatusDocument
    ) -> Route {
        Route(
            .get,
            path,
            name,
            summary,
            parameters + [.wait, .ifNoneMatch],
            .tagged("The document.", "application/json", .reference(to: component)),
            problems: missing == nil ? [429] : [404, 429]
        ) { api, call in
            let query = try call.query()
            for parameter in parameters where query[parameter.name] == "" {
                throw query.bad(parameter.name, "", "a search term")
            }
            let missing = missing?(call.arguments) ?? .nothingKnown
            return try api.document(try document(call.arguments, query), missing: missing, query, call)
        }
    }

    /// What begins at once and answers before it is done.
    private static func start(
        _ path: String,
        _ name: String,
        _ summary: String,
        _ parameters: [Parameter] = [],
        problems: [Int] = [],
        handler: @escaping Handler
    ) -> Route {
        Route(
            .post,
            path,
            name,
            summary,
            parameters + [.pageSession],
            Answer(status: 202, sentence: "It runs.", fields: ["Location"]),
            problems: [413, 429] + problems,
            details: whoMayChange + " Sessions of the page may as well.",
            access: .test,
            handler: handler
        )
    }
}
