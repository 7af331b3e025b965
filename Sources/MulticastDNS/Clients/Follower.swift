// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What a client knows, and how events of links change it.
protocol ClientList {
    associatedtype Event

    init(_ subscription: Subscription)

    /// Applies an event of a link.
    /// - Returns: What to report, in order.
    mutating func receive(_ event: DirectoryEvent, on link: LinkIdentity) -> [Event]
}

extension RecordList: ClientList {
    init(_ subscription: Subscription) { self.init(keys: subscription.records.union(subscription.passive)) }

    mutating func receive(_ event: DirectoryEvent, on link: LinkIdentity) -> [RecordEvent] {
        apply(event, on: link).map { [$0] } ?? []
    }
}

extension BrowseList: ClientList {
    mutating func receive(_ event: DirectoryEvent, on link: LinkIdentity) -> [BrowseEvent] { apply(event) }
}

/// The client behind the handles that follow single records.
typealias RecordFollower = Follower<RecordList>
typealias ServiceFollower = Follower<BrowseList>

/// A client behind a handle; the handle owns it, and ends it when it goes.
final class Follower<List: ClientList> {
    let subscription: Subscription
    private let engine: MulticastEngine
    private let onEvent: (List.Event) -> Void
    private(set) var list: List
    private var id: Int?
    private var isCancelled = false

    init(_ engine: MulticastEngine, _ subscription: Subscription, onEvent: @escaping (List.Event) -> Void) {
        self.engine = engine
        self.subscription = subscription
        self.onEvent = onEvent
        list = List(subscription)
        id = engine.attach(self)
        // It may have been cancelled during the first event.
        if isCancelled { cancel() }
    }

    deinit { cancel() }

    func cancel() {
        isCancelled = true
        guard let id else { return }
        self.id = nil
        engine.detach(id)
    }
}

extension Follower: EngineClient {
    func receive(_ events: [DirectoryEvent], on link: LinkIdentity, at now: Duration) {
        for event in events {
            for change in list.receive(event, on: link) where !isCancelled { onEvent(change) }
        }
    }
}
