// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
public import LinuxIO

/// Reads the records of one stream once from a position to the newest, a few at a time.
///
/// One file is open at a time, and none is begun twice: what a file is rotated to meanwhile is found by its numbers.
public struct LogCursor {
    /// Where to begin.
    public enum Start: Hashable, Sendable {
        /// After this number.
        case after(UInt64)
        /// At the first record that was published at this time or later.
        case time(WallTime)
    }

    /// What one step found.
    public struct Step: Sendable {
        public var records: [EventRecord] = []
        /// The number of the last record that was read, or the one to begin after.
        public var last: UInt64
        /// Whether nothing newer was there.
        public var isAtEnd = false
    }

    private let path: String
    private let stream: StreamID
    private let start: Start
    private var reader: LineReader?
    private var last: UInt64 = 0
    private var hasBegun = false
    /// The time that the first record must have, until it is found.
    private var wantedTime: WallTime?
    /// Whether the file in hand was read to its end, so that only a later one can hold more.
    private var isFileRead = false
    /// The oldest number of the stream when reading began; `nil` for a stream that the log does not hold.
    public private(set) var oldest: UInt64?

    /// Prepares to read the log at `path`; nothing is opened yet.
    public init(path: String, stream: StreamID, from start: Start) {
        self.path = path
        self.stream = stream
        self.start = start
        switch start {
        case .after(let sequence): last = sequence
        case .time(let time): wantedTime = time
        }
    }

    /// Whether the log did not hold what follows the requested number; known after the first step.
    public var isCut: Bool {
        guard hasBegun, case .after(let sequence) = start else { return false }
        guard let oldest else { return true }
        return sequence < oldest && oldest - sequence > 1
    }

    /// Reads up to `lines` records, and returns up to `limit` of those whose event `isWanted`.
    /// - Throws: ``EventLogError`` when the log cannot be read, or is none.
    public mutating func advance(
        lines: Int,
        limit: Int,
        where isWanted: (String) -> Bool
    ) throws(EventLogError) -> Step {
        if !hasBegun { try begin() }
        var step = Step(last: last)
        for _ in 0..<lines where step.records.count < limit {
            guard let reader else {
                step.isAtEnd = true
                break
            }
            guard let line = try reader.next() else {
                isFileRead = true
                try open()
                continue
            }
            guard let header = line.record, header.position.stream == stream, header.sequence > last else { continue }
            last = header.sequence
            step.last = last
            if let time = wantedTime {
                guard let published = header.time, published >= time else { continue }
                wantedTime = nil
            }
            guard isWanted(header.event) else { continue }
            let record = EventRecord(position: header.position, name: header.event, line: line.bytes + [0x0A])
            step.records.append(record)
        }
        return step
    }

    private mutating func begin() throws(EventLogError) {
        hasBegun = true
        let log = try LogReader(path: path)
        let files = log.files.filter { $0.first.position.stream == stream }
        oldest = files.first?.first.sequence
        guard !isCut else { return }
        switch start {
        case .after: try open(among: log, files)
        case .time(let time):
            let first = files.lastIndex { $0.firstTime < time } ?? files.startIndex
            guard first < files.endIndex else { return }
            reader = files[first].reader
            try log.seek(files[first], to: .time(time))
        }
    }

    /// Opens the file that holds what follows the last record.
    private mutating func open() throws(EventLogError) {
        reader = nil
        let log = try LogReader(path: path)
        try open(among: log, log.files.filter { $0.first.position.stream == stream })
    }

    private mutating func open(among log: LogReader, _ files: [LogReader.File]) throws(EventLogError) {
        let sequence = last
        // After one that was read to its end only a later one; else the last that may hold the next number.
        let file =
            isFileRead
            ? files.first { $0.first.sequence > sequence }
            : files.last { $0.first.sequence <= sequence || $0.first.sequence - sequence == 1 }
        isFileRead = false
        guard let file else { return }
        reader = file.reader
        try log.seek(file, to: .after(EventPosition(stream: stream, sequence: sequence)))
    }
}
