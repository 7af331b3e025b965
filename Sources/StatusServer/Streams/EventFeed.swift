// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub

/// Gives one reader the events from a place on, in order: from the archive, away from the loop, and then from memory.
final class EventFeed {
    enum Piece: Equatable {
        /// What follows, perhaps nothing that the filter passes.
        case events([EventRecord])
        /// What followed the place is no longer held; the log begins at `oldest`.
        case cut(oldest: UInt64)
        /// There is nothing newer, as of this call.
        case end
    }

    /// How many bytes of events one piece has, but for a single longer one.
    static let mostBytes = 262_144

    private unowned let provider: any StatusProviding
    private let filter: EventFilter
    /// Where the next piece begins.
    private(set) var place: EventPlace
    private var archive: (any EventArchive)?
    /// Where the archive ended that was read last.
    private var archiveEnd: UInt64?
    /// The oldest number that memory had when the archive was asked.
    private var memoryBegin: UInt64 = 0

    init(_ provider: any StatusProviding, from place: EventPlace, filter: EventFilter) {
        self.provider = provider
        self.filter = filter
        self.place = place
    }

    /// The number that was looked at last; 0 while the place is an age.
    var sequence: UInt64 { if case .after(let sequence) = place { sequence } else { 0 } }

    /// Goes on behind this number.
    func skip(to sequence: UInt64) {
        close()
        place = .after(sequence)
    }

    /// Gives up; what was asked for is not given any more.
    func close() {
        archive?.close()
        archive = nil
    }

    /// Hands over up to `limit` events, within this call or later, when the archive has been read.
    func next(limit: Int, _ take: @escaping (Result<Piece, any Error>) -> Void) {
        do {
            if let piece = try remembered(limit) { return take(.success(piece)) }
            let archive = try archive ?? provider.archive(from: place, where: filter.matches)
            self.archive = archive
            archive.read(limit: limit, bytes: Self.mostBytes) { [weak self] result in
                self?.took(result, take)
            }
        } catch {
            close()
            take(.failure(error))
        }
    }

    private func took(
        _ result: Result<ArchivePage, any Error>,
        _ take: (Result<Piece, any Error>) -> Void
    ) {
        switch result {
        case .failure(let error):
            close()
            take(.failure(error))
        case .success(let page):
            if page.isCut {
                close()
                return take(.success(.cut(oldest: page.oldest ?? memoryBegin)))
            }
            place = .after(page.last)
            if page.isAtEnd {
                close()
                archiveEnd = page.last
            }
            take(.success(.events(page.events)))
        }
    }

    /// What memory says; `nil` when the archive must be asked.
    private func remembered(_ limit: Int) throws -> Piece? {
        guard archive == nil else { return nil }
        if case .age(let age) = place {
            guard let sequence = try provider.sequence(olderThan: age) else { return nil }
            place = .after(sequence)
        }
        switch try provider.events(after: sequence, limit: max(64, limit)) {
        case .events(let events): return events.isEmpty ? .end : .events(take(events, limit))
        case .tooOld(let oldest): return .cut(oldest: oldest)
        case .archived(let oldest):
            memoryBegin = oldest
            // The archive lacks what was never written, such as on a full disk, of which `log.gap` tells.
            guard sequence == archiveEnd, oldest > sequence + 1 else { return nil }
            place = .after(oldest - 1)
            return .events([])
        }
    }

    private func take(_ events: [EventRecord], _ limit: Int) -> [EventRecord] {
        var taken: [EventRecord] = []
        var bytes = 0
        for event in events where taken.count < limit && bytes < Self.mostBytes {
            place = .after(event.sequence)
            guard filter.matches(event.name) else { continue }
            taken.append(event)
            bytes += event.line.count
        }
        return taken
    }
}
