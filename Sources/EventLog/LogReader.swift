// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
public import LinuxIO

/// Reads a log back: the file being written and the rotated ones beside it, oldest record first.
///
/// A reader sees the files as they were when it was made; rotation does not disturb it. Memory is bounded by the
/// longest record.
public final class LogReader {
    public enum Start: Hashable, Sendable {
        case beginning
        /// After this record; records of other streams are left out.
        case after(EventPosition)
        /// At the first record published at this time or later.
        case time(WallTime)
    }

    struct File {
        let reader: LineReader
        let first: RecordHeader
        let firstTime: WallTime
    }

    /// The files, oldest first.
    let files: [File]
    /// What is still to be read.
    private var rest: ArraySlice<File>
    /// The first record; `nil` in an empty log.
    public var oldest: RecordHeader? { files.first?.first }

    /// Opens a log for reading, compressed rotated files included.
    ///
    /// - Throws: ``EventLogError`` when the file cannot be read, or is not an event log.
    public init(path: String) throws(EventLogError) {
        var found: [File] = []
        var seen: Set<UInt64> = []
        for (index, path) in ([path] + (try LogSegment.rotated(beside: path))).enumerated() {
            let reader: LineReader
            do throws(EventLogError) {
                reader = try LineReader(path: path)
            } catch {
                // Rotated files may vanish or be none of ours; the log itself must be there.
                if index == 0 && error.reason != .noEntry { throw error }
                continue
            }
            if let inode = try reader.plain?.status().inode, !seen.insert(inode).inserted { continue }
            guard let file = try Self.file(reader, isRequired: index == 0) else { continue }
            found.append(file)
        }
        files = Self.ordered(Self.once(found))
        rest = files[...]
    }

    /// Of files that begin with the same record the plain one: gzip(1) leaves both for a while, the other unfinished.
    private static func once(_ files: [File]) -> [File] {
        let plain = Set(files.filter { $0.reader.plain != nil }.map(\.first.position))
        return files.filter { $0.reader.plain != nil || !plain.contains($0.first.position) }
    }

    private static func file(_ reader: LineReader, isRequired: Bool) throws(EventLogError) -> File? {
        let line: LineReader.Line?
        do throws(EventLogError) {
            line = try reader.next()
        } catch {
            if isRequired { throw error }
            return nil
        }
        guard let line, !line.bytes.isEmpty else { return nil }
        guard let header = RecordHeader(line: line.bytes), header.schema == Event.schema, let time = header.time else {
            guard isRequired, line.isComplete else { return nil }
            throw .foreign(file: reader.path, found: "something else")
        }
        return File(reader: try LineReader(path: reader.path), first: header, firstTime: time)
    }

    /// Streams in the order of their first records, and the files of each by their numbers.
    private static func ordered(_ files: [File]) -> [File] {
        let streams = Dictionary(grouping: files) { $0.first.position.stream }
        return streams.values
            .map { $0.sorted { $0.first.sequence < $1.first.sequence } }
            .sorted {
                ($0.first?.firstTime ?? WallTime(nanoseconds: 0)) < ($1.first?.firstTime ?? WallTime(nanoseconds: 0))
            }
            .flatMap { $0 }
    }

    /// Calls `body` with each record, until it returns `false`.
    ///
    /// Lines that are no records (a torn end, for instance) are passed over.
    public func forEach(
        from start: Start = .beginning,
        _ body: (RecordHeader, ArraySlice<UInt8>) -> Bool
    ) throws(EventLogError) {
        rest = try files(for: start)
        _ = try advance(lines: .max) { header, line in
            guard Self.includes(header, from: start) else { return true }
            return body(header, line)
        }
    }

    /// Goes on from the oldest record, so that an event loop can do other things between the pieces.
    ///
    /// Calls `body` with the next records, reading up to `lines` lines, until it returns `false`.
    /// - Returns: Whether more lines may follow; `false` at the end of the log, and after `body` returned `false`.
    /// - Throws: ``EventLogError`` when a file cannot be read; the next call goes on with the one after it.
    public func advance(
        lines: Int,
        _ body: (RecordHeader, ArraySlice<UInt8>) -> Bool
    ) throws(EventLogError) -> Bool {
        for _ in 0..<lines {
            guard let file = rest.first else { return false }
            let line: LineReader.Line?
            do throws(EventLogError) {
                line = try file.reader.next()
            } catch {
                rest.removeFirst()
                throw error
            }
            guard let line else {
                rest.removeFirst()
                continue
            }
            guard let header = line.record else { continue }
            guard body(header, line.bytes) else {
                rest = []
                return false
            }
        }
        return !rest.isEmpty
    }

    private static func includes(_ header: RecordHeader, from start: Start) -> Bool {
        switch start {
        case .beginning: true
        case .after(let position): header.position.stream == position.stream && header.sequence > position.sequence
        case .time(let time): header.time.map { $0 >= time } ?? false
        }
    }
}
