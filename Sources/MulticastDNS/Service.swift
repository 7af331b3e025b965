// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import DNSWire

/// A service that was found and resolved on one interface; its records of both families are merged.
public struct Service: Hashable, Sendable {
    /// What makes it the same service: name, type and domain in one, and the interface.
    public struct ID: Hashable, Sendable {
        public let instance: DomainName
        public let interfaceIndex: Int
    }

    public var instance: DomainName
    /// What people call it, safe to show: control characters and the like are escaped as `\DDD`.
    public var name: String
    /// The type, such as `_ipp._tcp`.
    public var type: String
    /// The domain, `local`.
    public var domain: String
    public var interface: String
    public var interfaceIndex: Int
    /// The host, such as `printer.local`.
    public var host: String
    public var port: UInt16
    /// The host's addresses on this link, sorted.
    public var addresses: [ScopedAddress]
    /// The text's pairs, in order.
    public var text: [TextRecord.Entry]
    /// The text's strings, in order, as they came.
    public var rawText: [[UInt8]]
    /// The lifetime of the record that announced it.
    public var timeToLive: Duration
    /// When it was first seen, since boot.
    public var firstSeen: Duration
    /// When it was last seen, since boot.
    public var lastSeen: Duration
    /// Where it runs: all its SRV records, in the order in which they are to be tried; the first one is shown.
    public var locations: [ServiceLocation] = []

    public var id: ID { ID(instance: instance, interfaceIndex: interfaceIndex) }

    public func changes(since previous: Service) -> [ServiceField] {
        var fields: [ServiceField] = []
        if host != previous.host { fields.append(.host) }
        if port != previous.port { fields.append(.port) }
        if addresses != previous.addresses { fields.append(.addresses) }
        if rawText != previous.rawText { fields.append(.text) }
        return fields
    }
}

/// An instance that is announced, resolved or not.
public struct ServiceAnnouncement: Hashable, Sendable {
    public let instance: DomainName
    /// What people call it, safe to show.
    public let name: String
    /// The type, such as `_ipp._tcp`.
    public let type: String
    /// The domain, `local`.
    public let domain: String
    /// The subtypes it was found by, safe to show, sorted.
    public let subtypes: [String]
    public let interface: String
    public let interfaceIndex: Int

    public var id: Service.ID { Service.ID(instance: instance, interfaceIndex: interfaceIndex) }
}

public enum ServiceField: String, Hashable, Sendable {
    case host
    case port
    case addresses
    case text = "txt"
}

public enum RemovalReason: String, Hashable, Sendable, CaseIterable {
    case goodbye
    /// It stopped answering, and its records ran out.
    case expired
    /// Its interface, or the family it was received by, went away.
    case interfaceDown = "interface_down"
    /// It is still announced, but its host has no address any more, or it has no port.
    case unresolvable
}

/// A service that is announced but could not be resolved, or that has no port.
public struct UnresolvedService: Hashable, Sendable {
    public let instance: DomainName
    /// What people call it, safe to show.
    public let name: String
    public let type: String
    public let interface: String
    public let interfaceIndex: Int
    /// The record types nobody answered for, such as `SRV`.
    public let missing: [String]
    /// Whether it is offered at all: port 0 only reserves the name (RFC 6763 section 8).
    public internal(set) var isOffered = true
    /// The text's pairs, in order; empty where there is none.
    public internal(set) var text: [TextRecord.Entry] = []
    /// The text's strings, in order, as they came.
    public internal(set) var rawText: [[UInt8]] = []

    public var id: Service.ID { Service.ID(instance: instance, interfaceIndex: interfaceIndex) }
}

public struct CensusSummary: Hashable, Sendable {
    public var duration: Duration
    /// How many types have a service.
    public var types: Int
    /// How many services are resolved.
    public var services: Int
    public var added: Int
    public var changed: Int
    public var removed: Int
    /// How many are announced but cannot be resolved.
    public var unresolved: Int
    /// The interfaces it ran on, sorted by name.
    public var interfaces: [String]

    /// Whether it found anything else than the census before it.
    public func foundMore(than previous: CensusSummary) -> Bool {
        added + changed + removed > 0 || types != previous.types || services != previous.services
            || unresolved != previous.unresolved || interfaces != previous.interfaces
    }
}

/// What the census reports, in the order in which it happened.
public enum ServiceEvent: Hashable, Sendable {
    /// The first service of a type appeared, on any interface.
    case typeAdded(String)
    /// The last service of a type went away.
    case typeRemoved(String)
    /// A service was found and resolved.
    case added(Service)
    case changed(Service, fields: [ServiceField], previous: Service)
    case removed(Service, reason: RemovalReason, seenFor: Duration)
    /// An announced service could not be resolved; reported once.
    case resolveFailed(UnresolvedService)
    /// Most of the answers are in; more may come.
    case censusProvisional(CensusSummary)
    case censusCompleted(CensusSummary)
}

extension CensusSummary {
    /// A census that has found nothing yet.
    init(empty _: Void) {
        self.init(
            duration: .zero,
            types: 0,
            services: 0,
            added: 0,
            changed: 0,
            removed: 0,
            unresolved: 0,
            interfaces: []
        )
    }
}
