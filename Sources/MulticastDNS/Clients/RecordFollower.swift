// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The client behind the handles that follow single records; the handle owns it, and ends it when it goes.
final class RecordFollower {
    let wish: Wish
    private let engine: MulticastEngine
    private let onEvent: (RecordEvent) -> Void
    private var list: RecordList
    private var id: Int?
    private var isCancelled = false

    init(_ engine: MulticastEngine, _ wish: Wish, onEvent: @escaping (RecordEvent) -> Void) {
        self.engine = engine
        self.wish = wish
        self.onEvent = onEvent
        list = RecordList(keys: wish.records.union(wish.passive))
        id = engine.attach(self)
        // It may have been cancelled by the first thing it told.
        if isCancelled { cancel() }
    }

    deinit { cancel() }

    var answers: [RecordAnswer] { list.answers }

    func cancel() {
        isCancelled = true
        guard let id else { return }
        self.id = nil
        engine.detach(id)
    }
}

extension RecordFollower: EngineClient {
    func receive(_ events: [DirectoryEvent], on link: LinkIdentity, at now: Duration) {
        for event in events where !isCancelled {
            if let told = list.take(event, on: link) { onEvent(told) }
        }
    }
}
