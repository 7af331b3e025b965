// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import Documents
internal import EventHub
internal import LinuxIO
internal import MulticastDNS
internal import OrderedJSON

/// What a browse tells, as an object for `--json` and as a line for people.
enum BrowseLine {
    /// The object: `time`, `event`, `service`, and what the event adds.
    static func object(_ event: BrowseEvent, clock: some TimeSource) -> JSONValue {
        var object = JSONObject()
        object["schema"] = .string(DocumentSchema.name(of: "browse"))
        object["time"] = .string("\(clock.wall)")
        object["event"] = .string(name(event))
        switch event {
        case .found(let service):
            object["service"] = announcement.value(of: service)
        case .resolved(let service):
            object["service"] = document(service, clock)
        case .changed(let service, let fields, let previous):
            object["service"] = document(service, clock)
            object["changed"] = .array(fields.map { .string($0.rawValue) })
            object["previous"] = document(previous, clock)
        case .unresolved(let service):
            object["service"] = unresolved.value(of: service)
            object["is_offered"] = .bool(service.isOffered)
            object["missing"] = .array(service.missing.map { .string($0) })
        case .lost(let service, let last, let reason, let seenFor):
            object["service"] = last.map { document($0, clock) } ?? announcement.value(of: service)
            object["removed"] = removed.value(of: (reason, seenFor))
        }
        return .object(object)
    }

    /// A sign, then type, name and interface, then what such a thing is called, then what is new.
    static func text(_ object: JSONValue, renderer: TextRenderer) -> String {
        let service = object["service"] ?? .null
        let (symbol, tone) = mark(object.text("event"))
        let words = [service.text("type"), service.text("name"), service.interfaceName].map { renderer.style($0) }
        let notes = [ServiceText.typeName(service), detail(object, service)].filter { !$0.isEmpty }
        return renderer.style(symbol, tone) + " "
            + (words + notes.map { renderer.style($0, .faint) }).joined(separator: "  ")
    }

    private static func name(_ event: BrowseEvent) -> String {
        switch event {
        case .found: "found"
        case .resolved: "resolved"
        case .changed: "changed"
        case .unresolved: "unresolved"
        case .lost: "lost"
        }
    }

    private static func mark(_ event: String) -> (String, Palette.Tone?) {
        switch event {
        case "found": ("+", .faint)
        case "resolved": ("=", .good)
        case "changed": ("~", nil)
        case "lost": ("-", .warning)
        default: ("!", .warning)
        }
    }

    private static func detail(_ object: JSONValue, _ service: JSONValue) -> String {
        switch object.text("event") {
        case "resolved", "changed":
            let address = service.text("host") + (service["port"]?.int.map { ":\($0)" } ?? "")
            return ([address] + service.texts("addresses")).joined(separator: " ")
        case "lost": return object["removed"]?.text("reason") ?? ""
        case "unresolved" where object["is_offered"]?.bool == false: return "port 0: not offered"
        case "unresolved": return "no " + object.texts("missing").joined(separator: ", ")
        default: return service.texts("subtypes").joined(separator: " ")
        }
    }

    private static func document(_ service: Service, _ clock: some TimeSource) -> JSONValue {
        ServiceDocument.members.value(of: ServiceDocument(service, clock: clock))
    }
}

// MARK: - Forms

extension BrowseLine {
    static var form: Form {
        .either(
            line("found").member("service", announcement.form),
            line("resolved").member("service", ServiceDocument.form),
            line("changed").members(of: ServiceChanged.form),
            line("unresolved")
                .member("service", unresolved.form)
                .member("is_offered", .truth, "`false` on port 0, which only takes a name.")
                .member("missing", .list(of: .text), "The record types without an answer."),
            line("lost")
                .member("service", .either(ServiceDocument.form, announcement.form), "As it was known last.")
                .member("removed", removed.form)
        )
        .about("What a browse or a resolution of an instance reports.")
        .named("Browse")
    }

    private static func line(_ event: String) -> Form {
        .object()
            .member("schema", .constant(DocumentSchema.name(of: "browse")))
            .member("time", .time)
            .member("event", .constant(event))
    }

    private static let announcement = Members<ServiceAnnouncement>.object("A service that was not resolved yet.")
        .member("name") { $0.name }
        .member("type") { $0.type }
        .typeName { ServiceTypeNames.name(of: $0.type) }
        .member("domain") { $0.domain }
        .member("interface") { InterfaceReference(named: $0.interface) }
        .member("subtypes") { $0.subtypes }

    private static let unresolved = Members<UnresolvedService>.object("A service of which something is missing.")
        .member("name") { $0.name }
        .member("type") { $0.type }
        .typeName { ServiceTypeNames.name(of: $0.type) }
        .member("interface") { InterfaceReference(named: $0.interface) }
        .member("txt", as: .map(of: .text.orNull)) { ServiceDocument.pairs($0.text) }
        .member("txt_raw") { $0.rawText.map { SafeText.text(of: $0) } }

    private static let removed = Members<(reason: RemovalReason, seenFor: Duration)>.object("How it went.")
        .member("reason", as: .oneOf(RemovalReason.self)) { $0.reason.rawValue }
        .member("seen_for_seconds", as: .seconds) { Double($0.seenFor.components.seconds) }
}
