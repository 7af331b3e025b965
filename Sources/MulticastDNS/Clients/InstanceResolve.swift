// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire

/// Resolves one instance, whether or not it is announced, and follows it as long as it is held.
///
/// Confined to the thread of its engine's loop, and to be let go there.
public final class InstanceResolve {
    private let follower: ServiceFollower

    /// Starts to resolve; what is known already is reported within this call.
    /// - Parameters:
    ///   - engine: The engine, started or not.
    ///   - instances: The full names that it may have, such as `Office Printer._ipp._tcp.local`, as labels; several where
    ///     a sender may have cut the name at its dots.
    ///   - interface: The one interface to use, by name; `nil` is all of them.
    ///   - wantsText: Whether the text is wanted too; a mere connection needs none.
    ///   - onEvent: Called on the loop's thread for everything that happens but ``BrowseEvent/found(_:)``; after
    ///     ``BrowseEvent/unresolved(_:)`` queries continue.
    public init(
        _ engine: MulticastEngine,
        instances: Set<DomainName>,
        interface: String? = nil,
        wantsText: Bool = true,
        onEvent: @escaping (BrowseEvent) -> Void
    ) {
        let subscription = Subscription(interface: interface, instances: instances, wantsText: wantsText)
        follower = ServiceFollower(engine, subscription, onEvent: onEvent)
    }

    /// Starts to resolve an instance that has one name alone.
    public convenience init(
        _ engine: MulticastEngine,
        instance: DomainName,
        interface: String? = nil,
        onEvent: @escaping (BrowseEvent) -> Void
    ) {
        self.init(engine, instances: [instance], interface: interface, onEvent: onEvent)
    }

    deinit { follower.cancel() }

    /// The resolved service on each interface where it is, in no order.
    public var services: [Service] { follower.list.services }

    /// Ends it: no more events and queries.
    public func cancel() { follower.cancel() }
}
