// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The events of a browse, in the order in which it happened on each interface.
public enum BrowseEvent: Hashable, Sendable {
    /// An instance is announced; it is being resolved. Reported again when it is found by another subtype.
    case found(ServiceAnnouncement)
    /// It is resolved: host, port, addresses and text are known.
    case resolved(Service)
    case changed(Service, fields: [ServiceField], previous: Service)
    /// An announced instance could not be resolved; reported once.
    case unresolved(UnresolvedService)
    /// It went away, or, when the reason is `unresolvable`, is announced without being there.
    case lost(ServiceAnnouncement, last: Service?, reason: RemovalReason, seenFor: Duration)
}
