// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire

/// Follows the services of some types, as long as it is held.
///
/// Confined to the thread of its engine's loop, and to be let go there.
public final class ServiceBrowse {
    private let follower: ServiceFollower

    /// Starts to browse several types at once; what is known already is reported within this call.
    /// - Parameters:
    ///   - engine: The engine, started or not.
    ///   - types: Types such as `_http._tcp.local`, and subtypes such as `_printer._sub._http._tcp.local`.
    ///   - interface: The one interface to use, by name; `nil` is all of them.
    ///   - onEvent: Called on the loop's thread for everything that happens, in order.
    public init(
        _ engine: MulticastEngine,
        types: [DomainName],
        interface: String? = nil,
        onEvent: @escaping (BrowseEvent) -> Void
    ) {
        follower = ServiceFollower(engine, Subscription(interface: interface, pointers: Set(types)), onEvent: onEvent)
    }

    deinit { follower.cancel() }

    /// The instances that are present, resolved or not, in no order.
    public var announcements: [ServiceAnnouncement] { follower.list.announcements }

    /// The resolved services, in no order.
    public var services: [Service] { follower.list.services }

    /// Ends it: no more events and queries.
    public func cancel() { follower.cancel() }
}
