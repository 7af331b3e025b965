// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// Puts marks on one calendar: the one that is in force after the last of them.
///
/// Records carry the time of the calendar alone. Between two marks on the aligned calendar lies the time that passed by
/// the boot clock: a step forward adds nothing, and one back takes nothing away.
struct OutageCalendar {
    /// A record may be told between a step of the calendar and the one that tells of the step, this much before it.
    private static let turn = Duration.seconds(5)
    /// How long after its beginning a state of the headline may be reported.
    private static let longestDelay = Duration.seconds(60)

    private(set) var marks: [OutageMark]

    init(_ marks: [OutageMark]) {
        self.marks = marks
        for index in marks.indices {
            switch marks[index] {
            case .stepped(let step, _): place(index, step)
            case .unwatched(let duration, _): place(index, duration)
            default: break
            }
        }
        for index in marks.indices { placeHeadline(index) }
        align()
    }

    /// Moves a jump before the marks that came after it and were told first.
    private mutating func place(_ index: Int, _ jump: Duration) {
        guard let place = jump < .zero ? placeOfStepBack(index) : placeOfGap(index, of: jump), place < index else {
            return
        }
        let mark = marks.remove(at: index).moved(to: marks[place].time)
        marks.insert(mark, at: place)
    }

    /// Moves a state of the headline to where it began, before statuses that came later and were told first.
    private mutating func placeHeadline(_ index: Int) {
        guard case .headline(let told, let since, _, _, _) = marks[index] else { return }
        var begin = min(told, max(since, told - Self.longestDelay))
        var place = index
        while place > 0, marks[place - 1].time > begin {
            guard isStatus(marks[place - 1]) else {
                begin = marks[place - 1].time
                break
            }
            place -= 1
        }
        let mark = marks.remove(at: index).moved(to: begin)
        marks.insert(mark, at: place)
    }

    private func isStatus(_ mark: OutageMark) -> Bool { if case .status = mark { true } else { false } }

    /// A jump forward lies between two marks that are so far apart.
    private func placeOfGap(_ index: Int, of jump: Duration) -> Int? {
        var place = index
        while place > 0, marks[place].time - marks[place - 1].time < jump {
            place -= 1
            guard isMovable(marks[place]), marks[index].time - marks[place].time <= Self.turn else { return nil }
        }
        return place
    }

    /// A step back lies where a mark is earlier than the one before it.
    private func placeOfStepBack(_ index: Int) -> Int? {
        var place = index
        while place > 0, marks[place].time >= marks[place - 1].time {
            place -= 1
            guard isMovable(marks[place]), marks[index].time - marks[place].time <= Self.turn else { return nil }
        }
        return place
    }

    private func isMovable(_ mark: OutageMark) -> Bool {
        switch mark {
        case .status, .headline, .alive: true
        case .stopped, .opened, .started, .stepped, .unwatched: false
        }
    }

    private mutating func align() {
        guard let last = marks.last else { return }
        // What is added to the times of the calendar in force, and what the next one must not be later than.
        var shift = Duration.zero
        var limit = last.time
        /// A calendar that went back and did not tell went back by that much at least.
        func aligned(_ time: WallTime) -> WallTime {
            if time + shift > limit { shift = limit - time }
            limit = time + shift
            return limit
        }
        for index in marks.indices.reversed() {
            let time = aligned(marks[index].time)
            switch marks[index] {
            case .stepped(let step, _):
                marks[index] = marks[index].moved(to: time)
                shift += step
            case .started(_, let lastHeard, let unwatched):
                // The daemon before it may have had another calendar.
                shift = .zero
                var end: WallTime?
                if let lastHeard {
                    if let unwatched { shift = time - unwatched - lastHeard }
                    end = aligned(lastHeard)
                }
                marks[index] = .started(time, lastHeard: end)
            default:
                marks[index] = marks[index].moved(to: time)
            }
        }
    }
}
