// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Documents
public import LinuxIO
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
public struct ServiceAdded: EventBody, MemberDeclaring {
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

    public static let members = Members<Self>.object()
        .member("service") { $0.service }
        .suppressed { $0.suppressed }
}

/// `service.changed`: a service moved, or says something else.
public struct ServiceChanged: EventBody, MemberDeclaring {
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

    public static let members = Members<Self>.object()
        .member("service") { $0.service }
        .member("changed", "The members that differ: `host`, `port`, `addresses`, `txt`.") { $0.changed }
        .member("previous") { $0.previous }
        .suppressed { $0.suppressed }
}

/// `service.removed`: a service went away.
public struct ServiceRemoved: EventBody, MemberDeclaring {
    let service: ServiceDocument
    let reason: RemovalReason
    let seenFor: Duration
    let suppressed: Int

    /// Describes what went, why, and for how long it had been there.
    public init(_ service: ServiceDocument, reason: RemovalReason, seenFor: Duration, suppressed: Int = 0) {
        self.service = service
        self.suppressed = suppressed
        self.reason = reason
        self.seenFor = seenFor
    }

    public var name: EventName { .serviceRemoved }
    public var severity: Severity { .info }
    public var message: String { "\(service.label) was removed: \(reason.rawValue)\(Suppressed.text(suppressed))" }

    public static let members = Members<Self>.object()
        .member("service") { $0.service }
        .member(
            "removed",
            of: .object()
                .member("reason", as: .oneOf(RemovalReason.self)) { $0.reason.rawValue }
                .added("seen_for_seconds", as: .seconds, "For how long it had been there.") {
                    Rounded.seconds($0.seenFor)
                }
        )
        .suppressed { $0.suppressed }
}

/// `services.lost` and `services.found`: services are gone with their link, or are found again.
public struct ServicesMoved: EventBody, MemberDeclaring {
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

    public static let members = Members<Self>.object()
        .member("interface") { $0.interface }
        .member("count", "How many services.") { $0.count }
        .member("names", "Their names with their types, sorted: the first 20.") { $0.names }
        .member("types", as: .serviceType, "The types without a service now, or with one again: the first 20.") {
            $0.types
        }
        .member("cause") { $0.cause }
}

/// `service.resolve_failed`: a service is announced, but no host answers for it.
public struct ServiceResolveFailed: EventBody, MemberDeclaring {
    let service: UnresolvedService

    public init(_ service: UnresolvedService) { self.service = service }

    public var name: EventName { .serviceResolveFailed }
    public var severity: Severity { .warning }
    public var message: String {
        "\(service.name) (\(service.type)) on \(service.interface) cannot be resolved: "
            + "no \(service.missing.joined(separator: ", "))"
    }

    public static let members = Members<Self>.object().member(
        "service",
        of: .object()
            .member("name") { $0.service.name }
            .member("type", "Such as `_ipp._tcp`.") { $0.service.type }
            .typeName { ServiceTypeNames.name(of: $0.service.type) }
            .added("interface") { InterfaceReference(named: $0.service.interface) }
            .added("missing", "The record types without an answer, such as `SRV`.") { $0.service.missing }
    )
}

/// `service_type.added` and `service_type.removed`: the first service of a type came, or the last one went.
public struct ServiceTypeChanged: EventBody, MemberDeclaring {
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

    public static let members = Members<Self>.object()
        .member("service_type", as: .serviceType) { $0.serviceType }
        .typeName { $0.typeName }
        .suppressed { $0.suppressed }
}

/// How many events about a service or a type were left out before the one that says so.
private enum Suppressed {
    static func text(_ count: Int) -> String {
        count == 0 ? "" : " (\(count) earlier event\(count == 1 ? "" : "s") suppressed)"
    }
}

extension Members {
    fileprivate func suppressed(_ count: @escaping @Sendable (Root) -> Int) -> Members {
        optional(
            "suppressed",
            as: .integer(from: 1),
            "How many events about it were left out since the one before, because neighbours may write no more; "
                + "left out when none was."
        ) { count($0) > 0 ? count($0) : nil }
    }
}

/// `census.completed`: a round of the census ended.
public struct CensusCompleted: EventBody, MemberDeclaring {
    let census: CensusSummary

    public init(_ census: CensusSummary) { self.census = census }

    public var name: EventName { .censusCompleted }
    public var severity: Severity { .info }
    public var message: String {
        "Census: \(census.services) service\(census.services == 1 ? "" : "s") "
            + "of \(census.types) type\(census.types == 1 ? "" : "s")"
    }

    public static let members = Members<Self>.object().member(
        "census",
        of: .object()
            .member("duration_seconds", as: .seconds) { Rounded.seconds($0.census.duration) }
            .member("types") { $0.census.types }
            .member("services") { $0.census.services }
            .added("added") { $0.census.added }
            .added("changed") { $0.census.changed }
            .added("removed") { $0.census.removed }
            .added("unresolved") { $0.census.unresolved }
            .added("interfaces") { $0.census.interfaces.map(InterfaceReference.init(named:)) }
    )
}

/// `mdns.name_conflict`: another host has a name that the daemon advertises.
public struct NameConflictFound: EventBody, MemberDeclaring {
    let conflict: NameConflict

    public init(_ conflict: NameConflict) { self.conflict = conflict }

    public var name: EventName { .mdnsNameConflict }
    public var severity: Severity { .warning }
    public var message: String {
        let sequel = conflict.newName.map { "; trying \($0)" } ?? "; it is withdrawn"
        return "Another host on \(conflict.interface) uses the name \(conflict.name)" + sequel
    }

    public static let members = Members<Self>.object().member(
        "conflict",
        of: .object()
            .member("name") { "\($0.conflict.name)" }
            .member("interface") { InterfaceReference(named: $0.conflict.interface) }
            .member("renamed_to", "The name that is tried next; `null` when it is withdrawn.") {
                $0.conflict.newName.map { "\($0)" }
            }
    )
}

/// `mdns.port_taken` and `mdns.port_free`: another program has port 5353 of a family for itself; it is free again.
public struct MulticastPortChanged: EventBody, MemberDeclaring {
    private let port: OccupiedPort
    private let isTaken: Bool

    /// Describes a port that is in use, or that is free again.
    public init(_ port: OccupiedPort, isTaken: Bool) {
        self.port = port
        self.isTaken = isTaken
    }

    public var name: EventName { isTaken ? .mdnsPortTaken : .mdnsPortFree }
    public var severity: Severity { isTaken ? .warning : .info }
    public var message: String { isTaken ? port.explanation : port.recovery }

    public static let members = Members<Self>.object().member(
        "port",
        of: .named("MulticastPort", "The port of multicast DNS.")
            .member("number", as: .integer(from: 5353, to: 5353)) { _ in Int(OccupiedPort.number) }
            .member("family", as: .family) { $0.port.family.rawValue }
            .member("holder", "The program that has it; `null` when unknown.") { $0.port.holder }
    )
}

extension PortOwner: MemberDeclaring {
    public static let members = Members<Self>.object()
        .member("user") { Int($0.user) }
        .member("process", as: .integer(from: 1)) { $0.process.map(Int.init) }
        .member("name") { $0.name }
}

extension ServiceDocument {
    fileprivate var label: String { "\(name) (\(type))" }
}
