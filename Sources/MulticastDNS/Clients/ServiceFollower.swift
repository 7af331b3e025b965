// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The client behind the handles that follow services; the handle owns it, and ends it when it goes.
final class ServiceFollower {
    let wish: Wish
    private let engine: MulticastEngine
    private let onEvent: (BrowseEvent) -> Void
    private(set) var list: BrowseList
    private var id: Int?
    private var isCancelled = false

    init(_ engine: MulticastEngine, _ wish: Wish, onEvent: @escaping (BrowseEvent) -> Void) {
        self.engine = engine
        self.wish = wish
        self.onEvent = onEvent
        list = BrowseList(wish)
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

extension ServiceFollower: EngineClient {
    func receive(_ events: [DirectoryEvent], on link: LinkIdentity, at now: Duration) {
        for event in events {
            for told in list.take(event) where !isCancelled { onEvent(told) }
        }
    }
}
