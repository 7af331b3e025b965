// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// The events of a link's directory, in order; clients pick those they subscribed to.
enum DirectoryEvent: Hashable, Sendable {
    /// An instance is announced by pointers of these names; reported again when the names change.
    case announced(ServiceAnnouncement, by: Set<DomainName>)
    case withdrawn(ServiceAnnouncement, reason: RemovalReason, seenFor: Duration)
    case resolved(Service)
    case changed(Service, fields: [ServiceField], previous: Service)
    /// It is not resolved any more; when it is still announced it may come back.
    case removed(Service, reason: RemovalReason, seenFor: Duration)
    /// It could not be resolved; reported once.
    case unresolved(UnresolvedService)
    /// A record that was wanted by itself came, by the first family of the link.
    case recordAdded(ResourceRecord)
    /// It left, by the last family of the link.
    case recordRemoved(ResourceRecord, reason: RemovalReason)
}
