// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import OrderedJSON
internal import Probes

/// Whose results they are: another method or target under the same name is another probe.
struct ProbeKey: Hashable, Comparable {
    let name: String
    let method: String
    let target: String

    static func < (left: ProbeKey, right: ProbeKey) -> Bool {
        (left.name, left.method, left.target) < (right.name, right.method, right.target)
    }
}

extension ProbeKey {
    init(_ definition: ProbeDefinition) {
        self.init(name: definition.name, method: definition.method.rawValue, target: "\(definition.target)")
    }
}

/// The histories of probes as lines of JSON: a header, then up to 32 cells of one probe and tier a line.
///
/// A line stands for itself, so what a torn write left is read as far as it goes.
enum ProbeHistoryFormat {
    /// The value of `schema` in the header.
    static let schema = "nwpath.proberecords/1"
    /// A file that is longer was not written by this program.
    static let longestFile = 32 << 20
    /// How many cells are written in one go.
    static let cellsInLine = 32

    struct Reading: Equatable {
        var records: [ProbeKey: ProbeRecord] = [:]
        /// When it was written; `nil` when it does not say so.
        var time: WallTime?
        /// Lines that say nothing, such as one that was torn, and lines with such cells.
        var badLines = 0
    }

    /// The first line, with its line feed.
    static func header(at time: WallTime) -> [UInt8] {
        line { object in
            object.write("schema", schema)
            object.write("time", "\(time)")
        }
    }

    /// Some cells of one probe and tier, with their line feed.
    ///
    /// A cell is where it begins as a multiple of the step since 1970, sent, lost, and with right answers: the shortest
    /// in nanoseconds, and the buckets of durations, each followed by how many are in it.
    static func line(_ key: ProbeKey, _ tier: ProbeTier, _ cells: some Sequence<ProbeCell>) -> [UInt8] {
        let rows = cells.map { cell in
            var row = [cell.start.nanoseconds / tier.step.nanoseconds, Int64(cell.sent), Int64(cell.lost)]
            if let minimum = cell.minimum {
                row.append(minimum.nanoseconds)
                for (bucket, count) in cell.buckets { row += [Int64(bucket), Int64(count)] }
            }
            return JSONValue.array(row.map(JSONValue.integer))
        }
        return line { object in
            object.write("probe", key.name)
            object.write("method", key.method)
            object.write("target", key.target)
            object.write("step_seconds", Int(tier.step.components.seconds))
            object.write("cells", .array(rows))
        }
    }

    private static func line(_ members: (inout JSONObjectWriter) -> Void) -> [UInt8] {
        // Strings and whole numbers can always be encoded.
        (try? OrderedJSONEncoder().encode(terminator: 0x0A, members: members)) ?? []
    }

    /// Reads a whole file.
    /// - Parameters:
    ///   - bytes: The file.
    ///   - now: The time now; see ``ProbeRecord/restore(_:to:at:)``.
    ///   - isWanted: Whether a probe is known; the others are left out.
    /// - Returns: `nil` when it does not begin with the header: it is somebody else's.
    static func read(_ bytes: [UInt8], at now: WallTime, where isWanted: (ProbeKey) -> Bool) -> Reading? {
        let lines = bytes.split(separator: 0x0A)
        guard let first = lines.first, let header = try? JSONValue(parsing: first),
            header["schema"]?.string == schema
        else { return nil }
        var reading = Reading(time: header["time"]?.string.flatMap { WallTime($0) })
        for line in lines.dropFirst() {
            guard let (key, tier, rows) = parse(line) else {
                reading.badLines += 1
                continue
            }
            guard isWanted(key) else { continue }
            let cells = rows.compactMap { cell($0, tier) }
            if cells.count < rows.count { reading.badLines += 1 }
            reading.records[key, default: ProbeRecord()].restore(cells, to: tier, at: now)
        }
        return reading
    }

    private static func parse(_ line: ArraySlice<UInt8>) -> (ProbeKey, ProbeTier, [JSONValue])? {
        guard let value = try? JSONValue(parsing: line), let name = value["probe"]?.string,
            let method = value["method"]?.string, let target = value["target"]?.string,
            let seconds = value["step_seconds"]?.int, let cells = value["cells"]?.array,
            let tier = ProbeTier.allCases.first(where: { $0.step == .seconds(seconds) })
        else { return nil }
        return (ProbeKey(name: name, method: method, target: target), tier, cells)
    }

    private static func cell(_ row: JSONValue, _ tier: ProbeTier) -> ProbeCell? {
        guard let items = row.array else { return nil }
        let numbers = items.compactMap(\.int)
        guard numbers.count == items.count, numbers.count == 3 || (numbers.count >= 4 && numbers.count % 2 == 0)
        else { return nil }
        let (start, overflows) = Int64(numbers[0]).multipliedReportingOverflow(by: tier.step.nanoseconds)
        guard !overflows else { return nil }
        let pairs = numbers.dropFirst(4)
        return ProbeCell(
            start: WallTime(nanoseconds: start),
            sent: numbers[1],
            lost: numbers[2],
            minimum: numbers.count > 3 ? .nanoseconds(numbers[3]) : nil,
            buckets: stride(from: pairs.startIndex, to: pairs.endIndex, by: 2).map { (pairs[$0], pairs[$0 + 1]) }
        )
    }
}
