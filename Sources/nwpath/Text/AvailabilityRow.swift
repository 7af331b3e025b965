// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON

/// The outages of a history as a row of blocks, each as high as its share of good time.
struct AvailabilityRow {
    private static let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇"]

    private struct Stretch {
        let start: WallTime
        let end: WallTime

        /// How many seconds of a cell it takes.
        func seconds(from begin: WallTime, to end: WallTime) -> Double {
            max(0, (min(self.end, end) - max(start, begin)).seconds)
        }
    }

    private let since: WallTime
    private let until: WallTime
    private let outages: [Stretch]
    private let unknown: [Stretch]

    /// Reads `/api/v1/history`; `nil` when it tells no span of time.
    init?(_ history: JSONValue) {
        guard let since = WallTime(history.text("since")), let until = WallTime(history.text("until")), since < until
        else { return nil }
        func stretches(_ name: String) -> [Stretch] {
            history.list(name).compactMap { entry in
                let end = entry["end"]?.string.flatMap(WallTime.init) ?? until
                return WallTime(entry.text("start")).map { Stretch(start: $0, end: end) }
            }
        }
        (self.since, self.until) = (since, until)
        (outages, unknown) = (stretches("outages"), stretches("unknown"))
    }

    /// So many cells; a full block is without an outage, `·` not known.
    func text(cells: Int) -> String {
        String((0..<cells).map { cell(from: time($0, of: cells), to: time($0 + 1, of: cells)) })
    }

    private func time(_ number: Int, of cells: Int) -> WallTime {
        since + .milliseconds(Int64(((until - since).seconds * 1000 * Double(number) / Double(cells)).rounded()))
    }

    private func cell(from begin: WallTime, to end: WallTime) -> Character {
        func sum(_ stretches: [Stretch]) -> Double { stretches.map { $0.seconds(from: begin, to: end) }.reduce(0, +) }
        let known = (end - begin).seconds - sum(unknown)
        guard known > 0.001 else { return "·" }
        let down = sum(outages)
        guard down > 0 else { return "▇" }
        let share = max(0, 1 - down / known)
        return Self.blocks[min(Self.blocks.count - 2, Int(share * Double(Self.blocks.count - 1)))]
    }
}
