// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Documents
internal import LinuxIO
public import MulticastDNS
public import OrderedJSON
internal import Spelling

extension ServiceEvent {
    /// What the log says of it; `nil` for what is no event.
    ///
    /// - Parameters:
    ///   - document: Shows a service.
    ///   - suppressed: How many events about the same were left out before it.
    /// - Returns: The body of an event.
    public func body(as document: (Service) -> ServiceDocument, suppressed: Int = 0) -> (any EventBody)? {
        switch self {
        case .typeAdded(let type): ServiceTypeChanged(type: type, isAdded: true, suppressed: suppressed)
        case .typeRemoved(let type): ServiceTypeChanged(type: type, isAdded: false, suppressed: suppressed)
        case .added(let service): ServiceAdded(document(service), suppressed: suppressed)
        case .changed(let service, let fields, let previous):
            ServiceChanged(document(service), changed: fields, previous: document(previous), suppressed: suppressed)
        case .removed(let service, let reason, let seenFor):
            ServiceRemoved(document(service), reason: reason, seenFor: seenFor, suppressed: suppressed)
        case .resolveFailed(let service): ServiceResolveFailed(service)
        case .censusProvisional: nil
        case .censusCompleted(let summary): CensusCompleted(summary)
        }
    }
}

/// `service.added`: a service was found and resolved.
public struct ServiceAdded: EventBody {
    let service: ServiceDocument
    let suppressed: Int

    public init(_ service: ServiceDocument, suppressed: Int = 0) {
        self.service = service
        self.suppressed = suppressed
    }

    public var name: EventName { .serviceAdded }
    public var severity: Severity { .info }
    public var message: String {
        "\(service.label) appeared on \(service.interface.name)\(Suppressed.text(suppressed))"
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("service", service)
        Suppressed.write(suppressed, to: &object)
    }
}

/// `service.changed`: a service moved, or says something else.
public struct ServiceChanged: EventBody {
    let service: ServiceDocument
    let changed: [String]
    let suppressed: Int
    private let changes: [String]
    let previous: ServiceDocument

    /// Describes a change.
    ///
    /// - Parameters:
    ///   - service: What it is now.
    ///   - changed: The members that differ: `host`, `port`, `addresses`, `txt`.
    ///   - previous: What it was in the event before.
    ///   - suppressed: How many changes between the two were left out.
    public init(
        _ service: ServiceDocument,
        changed: [ServiceField],
        previous: ServiceDocument,
        suppressed: Int = 0
    ) {
        self.suppressed = suppressed
        self.service = service
        self.changed = changed.map(\.rawValue)
        self.previous = previous
        changes = changed.map { field in
            switch field {
            case .host: "host to \(service.host)"
            case .port: "port to \(service.port)"
            case .addresses:
                "addresses to " + (service.addresses.isEmpty ? "none" : service.addresses.joined(separator: " "))
            case .text: "txt" + Self.difference(of: service.txt, from: previous.txt)
            }
        }
    }

    public var name: EventName { .serviceChanged }
    public var severity: Severity { .info }
    public var message: String {
        "\(service.label) changed \(changes.joined(separator: ", "))\(Suppressed.text(suppressed))"
    }

    /// The pairs that are new or other ones and the keys that are gone, each cut to what a line has room for.
    private static func difference(of new: JSONValue, from old: JSONValue) -> String {
        let (new, old) = (new.object ?? JSONObject(), old.object ?? JSONObject())
        let pairs = new.members.filter { old[$0.key] != $0.value }.map { pair in
            pair.key + (pair.value.string.map { "=\($0)" } ?? "")
        }
        let gone = old.keys.filter { new[$0] == nil }.map { "no \($0)" }
        let words = (pairs + gone).map { PrintableText.escape(String($0.prefix(longest))) }
        return words.isEmpty ? "" : " to " + words.joined(separator: " ")
    }

    private static let longest = 40

    public func write(to object: inout JSONObjectWriter) {
        object.write("service", service)
        object.write("changed", changed)
        object.write("previous", previous)
        Suppressed.write(suppressed, to: &object)
    }
}

/// `service.removed`: a service went away.
public struct ServiceRemoved: EventBody {
    struct Removed: JSONObjectWritable, Sendable {
        let reason: String
        let seenForSeconds: Double

        func write(to object: inout JSONObjectWriter) {
            object.write("reason", reason)
            object.write("seen_for_seconds", seenForSeconds)
        }
    }

    let service: ServiceDocument
    let removed: Removed
    let suppressed: Int

    /// Describes what went, why, and for how long it had been there.
    public init(_ service: ServiceDocument, reason: RemovalReason, seenFor: Duration, suppressed: Int = 0) {
        self.service = service
        self.suppressed = suppressed
        removed = Removed(reason: reason.rawValue, seenForSeconds: Rounded.seconds(seenFor))
    }

    public var name: EventName { .serviceRemoved }
    public var severity: Severity { .info }
    public var message: String { "\(service.label) was removed: \(removed.reason)\(Suppressed.text(suppressed))" }

    public func write(to object: inout JSONObjectWriter) {
        object.write("service", service)
        object.write("removed", removed)
        Suppressed.write(suppressed, to: &object)
    }
}

/// `services.lost` and `services.found`: services are gone with their link, or are found again.
public struct ServicesMoved: EventBody {
    /// How many services have their names in a record.
    public static let longest = 20

    let interface: InterfaceReference
    let count: Int
    let names: [String]
    let types: [String]
    let cause: EventCause
    private let isFound: Bool

    /// Describes services that moved together.
    ///
    /// - Parameters:
    ///   - services: The services.
    ///   - types: The types that have no service any more, or one again.
    ///   - interface: The interface.
    ///   - isFound: Whether they are found again.
    ///   - cause: What led to it.
    public init(_ services: [Service], types: [String], on interface: String, isFound: Bool, cause: EventCause) {
        self.interface = InterfaceReference(named: interface)
        count = services.count
        names = Array(services.map { "\($0.name) (\($0.type))" }.sorted().prefix(Self.longest))
        self.types = Array(types.sorted().prefix(Self.longest))
        self.isFound = isFound
        self.cause = cause
    }

    public var name: EventName { isFound ? .servicesFound : .servicesLost }
    public var severity: Severity { .info }
    public var message: String {
        let what = count == 1 ? names[0] : "\(count) services"
        let verb = isFound ? "back on" : "lost with"
        return "\(what) \(verb) \(interface.name)"
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("interface", interface)
        object.write("count", count)
        object.write("names", names)
        object.write("types", types)
        object.write("cause", cause)
    }
}

/// `service.resolve_failed`: a service is announced, but no host answers for it.
public struct ServiceResolveFailed: EventBody {
    struct Unresolved: JSONObjectWritable, Sendable {
        let name: String
        let type: String
        let typeName: String
        let interface: InterfaceReference
        let missing: [String]

        func write(to object: inout JSONObjectWriter) {
            object.write("name", name)
            object.write("type", type)
            object.write("type_name", typeName)
            object.write("interface", interface)
            object.write("missing", missing)
        }
    }

    let service: Unresolved

    /// Describes what could not be resolved.
    public init(_ service: UnresolvedService) {
        self.service = Unresolved(
            name: service.name,
            type: service.type,
            typeName: ServiceTypeNames.name(of: service.type),
            interface: InterfaceReference(named: service.interface),
            missing: service.missing
        )
    }

    public var name: EventName { .serviceResolveFailed }
    public var severity: Severity { .warning }
    public var message: String {
        "\(service.name) (\(service.type)) on \(service.interface.name) cannot be resolved: "
            + "no \(service.missing.joined(separator: ", "))"
    }

    public func write(to object: inout JSONObjectWriter) { object.write("service", service) }
}

/// `service_type.added` and `service_type.removed`: the first service of a type came, or the last one went.
public struct ServiceTypeChanged: EventBody {
    let serviceType: String
    let typeName: String
    let isAdded: Bool
    let suppressed: Int

    public init(type: String, isAdded: Bool, suppressed: Int = 0) {
        self.suppressed = suppressed
        serviceType = type
        typeName = ServiceTypeNames.name(of: type)
        self.isAdded = isAdded
    }

    public var name: EventName { isAdded ? .serviceTypeAdded : .serviceTypeRemoved }
    public var severity: Severity { .info }
    public var message: String {
        "Service type \(serviceType) \(isAdded ? "appeared" : "was removed")\(Suppressed.text(suppressed))"
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("service_type", serviceType)
        object.write("type_name", typeName)
        Suppressed.write(suppressed, to: &object)
    }
}

/// How many events about a service or a type were left out before the one that says so.
private enum Suppressed {
    static func text(_ count: Int) -> String {
        count == 0 ? "" : " (\(count) earlier event\(count == 1 ? "" : "s") suppressed)"
    }

    static func write(_ count: Int, to object: inout JSONObjectWriter) {
        if count > 0 { object.write("suppressed", count) }
    }
}

extension Form {
    /// `suppressed`.
    fileprivate var suppressed: Form {
        optional(
            "suppressed",
            .integer(from: 1),
            "How many events about it were left out since the one before, because neighbours may write no more; "
                + "left out when none was."
        )
    }
}

/// `census.completed`: a round of the census ended.
public struct CensusCompleted: EventBody {
    struct Census: JSONObjectWritable, Sendable {
        let durationSeconds: Double
        let types: Int
        let services: Int
        let added: Int
        let changed: Int
        let removed: Int
        let unresolved: Int
        let interfaces: [InterfaceReference]

        func write(to object: inout JSONObjectWriter) {
            object.write("duration_seconds", durationSeconds)
            object.write("types", types)
            object.write("services", services)
            object.write("added", added)
            object.write("changed", changed)
            object.write("removed", removed)
            object.write("unresolved", unresolved)
            object.write("interfaces", interfaces)
        }
    }

    let census: Census

    public init(_ summary: CensusSummary) {
        census = Census(
            durationSeconds: Rounded.seconds(summary.duration),
            types: summary.types,
            services: summary.services,
            added: summary.added,
            changed: summary.changed,
            removed: summary.removed,
            unresolved: summary.unresolved,
            interfaces: summary.interfaces.map(InterfaceReference.init(named:))
        )
    }

    public var name: EventName { .censusCompleted }
    public var severity: Severity { .info }
    public var message: String {
        "Census: \(census.services) service\(census.services == 1 ? "" : "s") "
            + "of \(census.types) type\(census.types == 1 ? "" : "s")"
    }

    public func write(to object: inout JSONObjectWriter) { object.write("census", census) }
}

/// `mdns.name_conflict`: another host has a name that the daemon advertises.
public struct NameConflictFound: EventBody {
    struct Conflict: JSONObjectWritable, Sendable {
        let name: String
        let interface: InterfaceReference
        var renamedTo: String?

        func write(to object: inout JSONObjectWriter) {
            object.write("name", name)
            object.write("interface", interface)
            object.write("renamed_to", renamedTo)
        }
    }

    let conflict: Conflict

    public init(_ conflict: NameConflict) {
        self.conflict = Conflict(
            name: "\(conflict.name)",
            interface: InterfaceReference(named: conflict.interface),
            renamedTo: conflict.newName.map { "\($0)" }
        )
    }

    public var name: EventName { .mdnsNameConflict }
    public var severity: Severity { .warning }
    public var message: String {
        let sequel = conflict.renamedTo.map { "; trying \($0)" } ?? "; it is withdrawn"
        return "Another host on \(conflict.interface.name) uses the name \(conflict.name)" + sequel
    }

    public func write(to object: inout JSONObjectWriter) { object.write("conflict", conflict) }
}

/// `mdns.port_taken` and `mdns.port_free`: another program has port 5353 of a family for itself; it is free again.
public struct MulticastPortChanged: EventBody {
    struct Port: JSONObjectWritable, Sendable {
        struct Holder: JSONObjectWritable, Sendable {
            let user: UInt32
            var process: Int32?
            var name: String?

            func write(to object: inout JSONObjectWriter) {
                object.write("user", Int(user))
                object.write("process", process.map(Int.init))
                object.write("name", name)
            }
        }

        let number: UInt16
        let family: String
        var holder: Holder?

        func write(to object: inout JSONObjectWriter) {
            object.write("number", Int(number))
            object.write("family", family)
            object.write("holder", holder)
        }
    }

    let port: Port
    private let taken: OccupiedPort
    private let isTaken: Bool

    /// Describes a port that is in use, or that is free again.
    public init(_ port: OccupiedPort, isTaken: Bool) {
        taken = port
        self.isTaken = isTaken
        let holder = port.holder.map { Port.Holder(user: $0.user, process: $0.process, name: $0.name) }
        self.port = Port(number: OccupiedPort.number, family: port.family.rawValue, holder: holder)
    }

    public var name: EventName { isTaken ? .mdnsPortTaken : .mdnsPortFree }
    public var severity: Severity { isTaken ? .warning : .info }
    public var message: String { isTaken ? taken.explanation : taken.recovery }

    public func write(to object: inout JSONObjectWriter) { object.write("port", port) }
}

extension ServiceDocument {
    fileprivate var label: String { "\(name) (\(type))" }
}

// MARK: - Forms

extension ServiceAdded {
    public static var form: Form { .object().member("service", ServiceDocument.form).suppressed }
}

extension ServiceChanged {
    public static var form: Form {
        .object()
            .member("service", ServiceDocument.form)
            .member("changed", .list(of: .text), "The members that differ: `host`, `port`, `addresses`, `txt`.")
            .member("previous", ServiceDocument.form)
            .suppressed
    }
}

extension ServiceRemoved {
    public static var form: Form {
        .object()
            .member("service", ServiceDocument.form)
            .member("removed", Removed.form)
            .suppressed
    }
}

extension ServiceRemoved.Removed {
    static var form: Form {
        .object()
            .member("reason", .oneOf(RemovalReason.self))
            .added("seen_for_seconds", .seconds, "For how long it had been there.")
    }
}

extension ServicesMoved {
    public static var form: Form {
        .object()
            .member("interface", InterfaceReference.form)
            .member("count", .count, "How many services.")
            .member("names", .list(of: .text), "Their names with their types, sorted: the first 20.")
            .member(
                "types",
                .list(of: .serviceType),
                "The types without a service now, or with one again: the first 20."
            )
            .member("cause", EventCause.form)
    }
}

extension ServiceResolveFailed {
    public static var form: Form { .object().member("service", Unresolved.form) }
}

extension ServiceResolveFailed.Unresolved {
    static var form: Form {
        .object()
            .member("name", .text)
            .member("type", .text, "Such as `_ipp._tcp`.")
            .typeName
            .added("interface", InterfaceReference.form)
            .added("missing", .list(of: .text), "The record types without an answer, such as `SRV`.")
    }
}

extension ServiceTypeChanged {
    public static var form: Form { .object().member("service_type", .serviceType).typeName.suppressed }
}

extension CensusCompleted {
    public static var form: Form { .object().member("census", Census.form) }
}

extension CensusCompleted.Census {
    static var form: Form {
        .object()
            .member("duration_seconds", .seconds)
            .member("types", .count)
            .member("services", .count)
            .added("added", .count)
            .added("changed", .count)
            .added("removed", .count)
            .added("unresolved", .count)
            .added("interfaces", .list(of: InterfaceReference.form))
    }
}

extension NameConflictFound {
    public static var form: Form { .object().member("conflict", Conflict.form) }
}

extension NameConflictFound.Conflict {
    static var form: Form {
        .object()
            .member("name", .text)
            .member("interface", InterfaceReference.form)
            .member("renamed_to", .text.orNull, "The name that is tried next; `null` when it is withdrawn.")
    }
}

extension MulticastPortChanged {
    public static var form: Form { .object().member("port", Port.form) }
}

extension MulticastPortChanged.Port {
    static var form: Form {
        .named("MulticastPort", "The port of multicast DNS.")
            .member("number", .integer(from: 5353, to: 5353))
            .member("family", .family)
            .member("holder", Holder.form.orNull, "The program that has it; `null` when unknown.")
    }
}

extension MulticastPortChanged.Port.Holder {
    static var form: Form {
        .object()
            .member("user", .count)
            .member("process", .integer(from: 1).orNull)
            .member("name", .text.orNull)
    }
}
