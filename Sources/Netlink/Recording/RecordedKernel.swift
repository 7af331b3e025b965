// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// A recording that replaces the kernel: replays its answers and its notifications.
///
/// Drive it with ``next()``: it returns what the kernel announced, in its order and with its times; between two of
/// these, requests get the answers recorded from that point on. A program that repeats those of the recorded
/// one gets exactly its answers. One that sends more, or at other times, gets the latest answer recorded until
/// then, and what was never requested fails with ``NetlinkError/notRecorded(request:)``.
public final class RecordedKernel: MessageSource {
    public enum Step: Hashable, Sendable {
        case events(EventBatch)
        /// Notifications were lost: read everything again.
        case resync(boot: Duration)
        case connections(RecordedConnections)
        /// The last frame, at this time.
        case end(boot: Duration)
    }

    private struct Answer {
        let position: Int
        let boot: Duration
        let messages: [RecordedMessage]
        let outcome: RecordedOutcome
    }

    /// How much later than now an answer may have been recorded: the recorded program had to compute, too.
    private static let tolerance = Duration.milliseconds(250)

    private let recording: NetlinkRecording
    private var answers: [Question: [Answer]] = [:]
    private var used: [Question: Int] = [:]
    private var position = -1
    private var decoder = EventDecoder()
    /// The time of the replay; set it as the timers of the replaying program fire.
    public var now: Duration

    /// Stands before the first frame.
    public init(_ recording: NetlinkRecording) {
        self.recording = recording
        now = recording.entries.first?.boot ?? .zero
        for (position, entry) in recording.entries.enumerated() {
            guard case .exchange(let question, let messages, let outcome) = entry.frame else { continue }
            let answer = Answer(position: position, boot: entry.boot, messages: messages, outcome: outcome)
            answers[question, default: []].append(answer)
        }
    }

    /// When the next step happened; `nil` after the last.
    public var nextTime: Duration? {
        recording.entries[(position + 1)...].first { $0.frame.isStep }?.boot ?? (isAtEnd ? nil : lastTime)
    }

    /// When messages were lost, if that is the next step.
    public var nextLoss: Duration? {
        guard let entry = recording.entries[(position + 1)...].first(where: { $0.frame.isNotification }),
            case .lost = entry.frame
        else { return nil }
        return entry.boot
    }

    public var statistics: EventStatistics { decoder.statistics }

    private var lastTime: Duration { recording.entries.last?.boot ?? .zero }
    private var isAtEnd: Bool { position >= recording.entries.count - 1 }

    /// Steps to the next thing the kernel announced, and moves `now` there.
    ///
    /// Datagrams that were read together come together; those that say nothing about paths are passed over.
    /// - Returns: `nil` after the end.
    public func next() -> Step? {
        while let step = advance() {
            if case .events(let batch) = step, batch.notices.isEmpty { continue }
            return step
        }
        return nil
    }

    /// Steps to the next datagrams, even if they say nothing about paths, and moves `now` there.
    ///
    /// For programs with timers, which would fire before the next step that says something.
    /// - Returns: `nil` after the end.
    public func advance() -> Step? {
        guard !isAtEnd else { return nil }
        while !isAtEnd {
            position += 1
            let entry = recording.entries[position]
            now = max(now, entry.boot)
            switch entry.frame {
            case .event(let datagram):
                decoder.decode(datagram.span, from: nil)
                decodeRestOfBatch(at: entry.boot)
                let wall = recording.wall(at: entry.boot)
                return .events(EventBatch(notices: decoder.drain(), boot: entry.boot, wall: wall))
            case .lost: return .resync(boot: entry.boot)
            case .connections(let connections): return .connections(connections)
            case .start, .exchange, .end: continue
            }
        }
        return .end(boot: now)
    }

    /// Datagrams of one batch have the same time.
    private func decodeRestOfBatch(at boot: Duration) {
        while !isAtEnd, case .event(let datagram) = recording.entries[position + 1].frame,
            recording.entries[position + 1].boot == boot
        {
            position += 1
            decoder.decode(datagram.span, from: nil)
        }
    }

    public func request(
        _ question: Question,
        each: (UInt16, Span<UInt8>) -> Bool
    ) throws(NetlinkError) -> Completion {
        let request = MessageType(rawValue: question.type)
        guard let answer = answer(to: question) else { throw .notRecorded(request: request) }
        for message in answer.messages {
            guard each(message.type, message.body.span) else { return .stopped }
        }
        switch answer.outcome {
        case .completed(let completion): return completion
        case .failed(1): throw .notPermitted(request: request)
        case .failed(let code): throw .refused(request: request, code: code, detail: nil)
        }
    }

    /// Answers as the kernel did; without that very query, as it did to the most similar one.
    ///
    /// Recordings outlive the program that made them, which may have sent queries without a source.
    public func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        var similar = [query, query]
        similar[1].source = nil
        similar += similar.map { query in
            var other = query
            other.kind = query.kind == .entry ? .decision : .entry
            return other
        }
        return answer(to: similar.first { answers[.lookup($0)] != nil } ?? query)
    }

    /// A replay does not wait.
    public func pauseBeforeRetry() {}

    /// The next answer that was recorded after the last step and up to about now, else the last one before.
    private func answer(to question: Question) -> Answer? {
        guard let all = answers[question], let first = all.first else { return nil }
        let start = used[question] ?? 0
        // Answers older than the last step are history.
        let fresh = all[start...].firstIndex { $0.position > position } ?? all.count
        if fresh < all.count, all[fresh].boot <= now + Self.tolerance {
            used[question] = fresh + 1
            return all[fresh]
        }
        used[question] = fresh
        return fresh > 0 ? all[fresh - 1] : first
    }
}

extension RecordedFrame {
    fileprivate var isStep: Bool {
        if case .connections = self { true } else { isNotification }
    }

    fileprivate var isNotification: Bool {
        switch self {
        case .event, .lost: true
        case .start, .exchange, .connections, .end: false
        }
    }
}
