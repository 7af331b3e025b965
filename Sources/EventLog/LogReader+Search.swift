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
        if let first = wanted.first { try seek(first, to: start) }
        return wanted
    }

    /// Sets a file to where reading begins; a compressed one is read from its beginning.
    func seek(_ file: File, to start: Start) throws(EventLogError) {
        guard let plain = file.reader.plain else { return }
        switch start {
        case .beginning: file.reader.seek(to: 0)
        case .after(let position):
            let offset = try Self.offset(in: plain) { header in
                header.position.stream == position.stream ? header.sequence <= position.sequence : nil
            }
            file.reader.seek(to: offset)
        case .time(let time):
            file.reader.seek(to: try Self.offset(in: plain) { header in header.time.map { $0 < time } })
        }
    }

    /// Finds, by halving, the start of a line before which no wanted record lies.
    ///
    /// A position where `isPassed` does not know ends the search early: reading then begins before it.
    private static func offset(
        in file: PlainFile,
        _ isPassed: (RecordHeader) -> Bool?
    ) throws(EventLogError) -> Int64 {
        var low: Int64 = 0
        var high = try file.status().size
        while high - low > Int64(PlainFile.chunk) {
            let middle = low + (high - low) / 2
            let bytes = try file.read(at: middle, upTo: PlainFile.chunk)
            guard let feed = bytes.firstIndex(of: 0x0A), let header = RecordHeader(line: bytes[(feed + 1)...]),
                let isPassed = isPassed(header)
            else { break }
            if isPassed {
                low = middle + Int64(feed + 1)
            } else {
                high = middle
            }
        }
        return low
    }
}
