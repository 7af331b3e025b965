// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// A parameter of a route.
struct Parameter: Sendable {
    enum Place: String, Sendable {
        case path, query, header
    }

    let name: String
    let place: Place
    let form: Form
    let sentence: String
    /// A value that a client may try.
    let example: String?
    /// The least and the greatest number of characters.
    var shortest: Int?
    var longest: Int?
    var isRequired = false
    /// What OpenAPI calls it among its components, where several routes have it.
    var component: String?
}

extension Parameter {
    static let wait = query(
        "wait",
        .pattern("^([0-9]{1,3}ms|[0-9]s|[1-5][0-9]s|60s|1m|0)$"),
        "With `If-None-Match`: how long to wait for a change, at most 1m.",
        example: "1ms"
    ).shared()
    static let ifNoneMatch = header("If-None-Match", "The entity tag of what the client has.", example: "\"7f3a.45\"")
        .shared("ifNoneMatch")
    static let monitor = path("monitor", .pattern("^[a-z0-9_-]{1,32}$"), "The name of a monitor.", example: "default")
        .shared()
    static let interfaceName = path("name", .text, "The name of an interface.", example: "lo", longest: 15)
        .shared("interfaceName")
    static let probeName = path("name", .text, "The name of an active probe.", example: "gateway", longest: 32)
        .shared("probeName")
    static let serviceType = path("type", .text, "A service type.", example: "_ipp._tcp", longest: 64)
        .shared("serviceType")
    static let serviceName = path(
        "name",
        .text,
        "The name of a service, as it is shown or its own.",
        example: "Office Printer",
        longest: 63
    ).shared("serviceName")
    static let type = query(
        "type",
        .text,
        "Only services of this type, or of several with commas between them.",
        example: "_ipp._tcp"
    ).notEmpty.shared()
    static let serviceFilter = query(
        "name",
        .text,
        "Only services of this name, or of a pattern such as `Office*`.",
        example: "Office*"
    ).notEmpty.shared()
    static let interface = query("interface", .text, "Only what was received on this interface.", example: "eth0")
        .notEmpty.shared()
    static let since = query(
        "since",
        .pattern("^([0-9a-fA-F]{1,16}\\.[0-9]{1,18}|[0-9]{1,9}|[0-9]{1,4}(ms|s|m|h|d))$"),
        "An event such as `7f3a.45`, a number, or an age such as `10m`.",
        example: "10m"
    ).shared()
    static let until = query(
        "until",
        .pattern("^0s?$"),
        "The same; now without it. Not before `since`.",
        example: "0s"
    )
    static let limit = query("limit", .integer(from: 1, to: 1000), "The most events of a page; 100 without it.")
        .shared()
    static let event = query("event", .text, "Patterns of event types with commas between them.", example: "path.*")
        .shared()
    static let pageLink = header("X-NWPath-Link", "The secret of a link to the page.").required
    static let pageSession = header("X-NWPath-Session", "The token of a session of the page.").shared("pageSession")
    static let lastEventID = header("Last-Event-ID", "Where a stream goes on; wins over `since`.").shared("lastEventID")

    static let ofHistory: [Parameter] = [
        query(
            "since",
            .pattern("^(0|[0-9]{1,4}(s|m|h|d)|20[0-2][0-5]-0[1-9]-[01][1-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9]Z)$"),
            "An age such as `24h`, or a past time.",
            example: "24h"
        ), until,
        query("monitor", monitor.form, monitor.sentence, example: "default"),
        query(
            "state",
            .words("path", "headline"),
            "`headline`, which is that of the monitor `default` and its default; `path`, the status of the path.",
            example: "path"
        ),
        query(
            "step",
            .pattern("^([6-9]|[1-9][0-9])d$"),
            """
            How long each of the `steps` is, in whole seconds; at most 2000 of them. They begin at multiples of it since \
            1970, and so does the whole.
            """,
            example: "7d"
        ),
    ]

    static func query(_ name: String, _ form: Form, _ sentence: String, example: String? = nil) -> Parameter {
        Parameter(name: name, place: .query, form: form, sentence: sentence, example: example)
    }

    private static func header(_ name: String, _ sentence: String, example: String? = nil) -> Parameter {
        Parameter(name: name, place: .header, form: .text, sentence: sentence, example: example)
    }

    private static func path(
        _ name: String,
        _ form: Form,
        _ sentence: String,
        example: String,
        longest: Int? = nil
    ) -> Parameter {
        var parameter = Parameter(name: name, place: .path, form: form, sentence: sentence, example: example).required
        if let longest { (parameter.shortest, parameter.longest) = (1, longest) }
        return parameter
    }

    var required: Parameter {
        var copy = self
        copy.isRequired = true
        return copy
    }

    private var notEmpty: Parameter {
        var copy = self
        copy.shortest = 1
        return copy
    }

    private func shared(_ component: String? = nil) -> Parameter {
        var copy = self
        copy.component = component ?? name
        return copy
    }
}
