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
        case .found(let announcement):
            object["service"] = .object(identity(announcement))
        case .resolved(let service):
            object["service"] = document(service, clock)
        case .changed(let service, let fields, let previous):
            object["service"] = document(service, clock)
            object["changed"] = .array(fields.map { .string($0.rawValue) })
            object["previous"] = document(previous, clock)
        case .unresolved(let service):
            var identity = JSONObject()
            identity["name"] = .string(service.name)
            identity["type"] = .string(service.type)
            identity["type_name"] = .string(ServiceTypeNames.name(of: service.type))
            identity["interface"] = .interface(service.interface)
            identity["txt"] = ServiceDocument.pairs(service.text)
            identity["txt_raw"] = .array(service.rawText.map { .string(SafeText.text(of: $0)) })
            object["service"] = .object(identity)
            object["is_offered"] = .bool(service.isOffered)
            object["missing"] = .array(service.missing.map { .string($0) })
        case .lost(let announcement, let last, let reason, let seenFor):
            object["service"] = last.map { document($0, clock) } ?? .object(identity(announcement))
            var removed = JSONObject()
            removed["reason"] = .string(reason.rawValue)
            removed["seen_for_seconds"] = .double(Double(seenFor.components.seconds))
            object["removed"] = .object(removed)
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

    private static func identity(_ announcement: ServiceAnnouncement) -> JSONObject {
        var object = JSONObject()
        object["name"] = .string(announcement.name)
        object["type"] = .string(announcement.type)
        object["type_name"] = .string(ServiceTypeNames.name(of: announcement.type))
        object["domain"] = .string(announcement.domain)
        object["interface"] = .interface(announcement.interface)
        object["subtypes"] = .array(announcement.subtypes.map { .string($0) })
        return object
    }

    private static func document(_ service: Service, _ clock: some TimeSource) -> JSONValue {
        DirectCensus.value(ServiceDocument(service, clock: clock)) ?? .null
    }
}

// MARK: - Forms

extension BrowseLine {
    static var form: Form {
        .either(
            line("found").member("service", announcement),
            line("resolved").member("service", ServiceDocument.form),
            line("changed").members(of: ServiceChanged.form),
            line("unresolved")
                .member("service", unresolved)
                .member("is_offered", .truth, "`false` on port 0, which only takes a name.")
                .member("missing", .list(of: .text), "The record types without an answer."),
            line("lost")
                .member("service", .either(ServiceDocument.form, announcement), "As it was known last.")
                .member("removed", removed)
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

    private static var announcement: Form {
        .object("A service that was not resolved yet.")
            .member("name", .text)
            .member("type", .text)
            .typeName
            .member("domain", .text)
            .member("interface", InterfaceReference.form)
            .member("subtypes", .list(of: .text))
    }

    private static var unresolved: Form {
        .object("A service of which something is missing.")
            .member("name", .text)
            .member("type", .text)
            .typeName
            .member("interface", InterfaceReference.form)
            .member("txt", .map(of: .text.orNull))
            .member("txt_raw", .list(of: .text))
    }

    private static var removed: Form {
        .object("How it went.")
            .member("reason", .oneOf(RemovalReason.self))
            .member("seen_for_seconds", .seconds)
    }
}
