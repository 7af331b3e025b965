// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import LinuxIO

extension LogReader {
    /// The files that can hold records from `start` on, each set to where reading begins.
    func files(for start: Start) throws(EventLogError) -> ArraySlice<File> {
        var wanted = files[...]
        switch start {
        case .beginning: break
        case .after(let position):
            wanted = files.filter { $0.first.position.stream == position.stream }[...]
            while wanted.count > 1, wanted[wanted.startIndex + 1].first.sequence <= position.sequence {
                wanted.removeFirst()
            }
        case .time(let time):
            while wanted.count > 1, wanted[wanted.startIndex + 1].firstTime < time { wanted.removeFirst() }
        }
        for file in wanted { file.reader.seek(to: 0) }
        if case .after(let position) = start, let first = wanted.first, let plain = first.reader.plain {
            first.reader.seek(to: try Self.offset(of: position, in: plain))
        }
        return wanted
    }

    /// Finds, by halving, the start of a line before which all records have a number up to that of `position`.
    ///
    /// A place where no record of the stream is found ends the search early: reading then begins before it.
    private static func offset(of position: EventPosition, in file: PlainFile) throws(EventLogError) -> Int64 {
        var low: Int64 = 0
        var high = try file.status().size
        while high - low > Int64(PlainFile.chunk) {
            let middle = low + (high - low) / 2
            let bytes = try file.read(at: middle, upTo: PlainFile.chunk)
            guard let feed = bytes.firstIndex(of: 0x0A), let header = RecordHeader(line: bytes[(feed + 1)...]),
                header.position.stream == position.stream
            else { break }
            if header.sequence <= position.sequence {
                low = middle + Int64(feed + 1)
            } else {
                high = middle
            }
        }
        return low
    }
}
