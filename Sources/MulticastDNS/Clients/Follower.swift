// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What a client knows, and how it tells what links tell it.
protocol ClientList {
    associatedtype Event

    init(_ wish: Wish)

    /// Takes what happened on a link.
    /// - Returns: What to tell, in order.
    mutating func tell(_ event: DirectoryEvent, on link: LinkIdentity) -> [Event]
}

extension RecordList: ClientList {
    init(_ wish: Wish) { self.init(keys: wish.records.union(wish.passive)) }

    mutating func tell(_ event: DirectoryEvent, on link: LinkIdentity) -> [RecordEvent] {
        take(event, on: link).map { [$0] } ?? []
    }
}

extension BrowseList: ClientList {
    mutating func tell(_ event: DirectoryEvent, on link: LinkIdentity) -> [BrowseEvent] { take(event) }
}

/// The client behind the handles that follow single records.
typealias RecordFollower = Follower<RecordList>
typealias ServiceFollower = Follower<BrowseList>

/// A client behind a handle; the handle owns it, and ends it when it goes.
final class Follower<List: ClientList> {
    let wish: Wish
    private let engine: MulticastEngine
    private let onEvent: (List.Event) -> Void
    private(set) var list: List
    private var id: Int?
    private var isCancelled = false

    init(_ engine: MulticastEngine, _ wish: Wish, onEvent: @escaping (List.Event) -> Void) {
        self.engine = engine
        self.wish = wish
        self.onEvent = onEvent
        list = List(wish)
        id = engine.attach(self)
        // It may have been cancelled by the first thing it told.
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
            for told in list.tell(event, on: link) where !isCancelled { onEvent(told) }
        }
    }
}
