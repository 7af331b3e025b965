// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
internal import Glibc
internal import LinuxIO

/// A small log beside the event log with the records that outages are worked out from, so that no others displace them.
///
/// Its records are those of the event log, which ``LogReader`` reads; two files of at most ``limit`` bytes and a record. It is
/// opened and repaired as the event log is, and what goes wrong with it is reported by ``problem`` and stops nothing.
public final class OutageLog {
    public static let name = "outages.jsonl"

    public let path: String
    /// Why the last record could not be written; `nil` when all is well.
    public private(set) var problem: String?
    private let limit: Int64
    private var file: LogFile?

    /// Prepares the log of a directory; nothing is opened before the first record.
    public init(directory: String, limit: Int = 1 << 20) {
        path = directory + "/" + Self.name
        self.limit = Int64(limit)
    }

    /// Whether there are records of earlier runs.
    public var exists: Bool { unsafe access(path, F_OK) == 0 || access(path + ".1", F_OK) == 0 }

    /// Writes the record of an event.
    public func append(_ event: Event) {
        do throws(EventLogError) {
            // Somebody may have removed it.
            if file?.isLinked != true { file = try open() }
            if let size = file?.size, size >= limit { file = try rotate() }
            do throws(Errno) {
                try file?.append(event.line)
            } catch {
                throw .failed(operation: "write", file: path, reason: error)
            }
            problem = nil
        } catch {
            problem = "\(error); current outages may be missing from the history after the event log is rotated"
        }
    }

    private func open() throws(EventLogError) -> LogFile {
        try LogFile(path: path, in: EventLog.makeDirectory(of: path))
    }

    private func rotate() throws(EventLogError) -> LogFile {
        let name = FilePath.name(of: path)
        let directory = try EventLog.makeDirectory(of: path)
        do throws(Errno) {
            try directory.rename(name, to: name + ".1")
        } catch {
            throw .failed(operation: "rotate the log", file: path, reason: error)
        }
        return try LogFile(path: path, in: directory)
    }
}

/// Reads a log together with the outages that were kept beside it: each record once, those of a stream in order.
///
/// Outages come before the first record of the log that is younger, so that it does not matter which files of the log are
/// missing or left over.
public final class OutageReader {
    private struct Kept {
        let header: RecordHeader
        let line: [UInt8]
    }

    private let log: LogReader
    /// The streams of the outages, oldest first.
    private var streams: [StreamID] = []
    private var kept: [StreamID: ArraySlice<Kept>] = [:]
    private let isOwnStreamOnly: Bool
    private var isOver = false

    /// Opens the log, and reads the outages.
    /// - Parameters:
    ///   - log: The path of the event log.
    ///   - outages: That of the ``OutageLog``; none, or what cannot be read of it is left out.
    ///   - isOwnStreamOnly: Whether outages count only where they are of a stream of the log.
    /// - Throws: ``EventLogError`` when the event log cannot be read, or is none.
    public init(log: String, outages: String?, isOwnStreamOnly: Bool = false) throws(EventLogError) {
        self.log = try LogReader(path: log)
        self.isOwnStreamOnly = isOwnStreamOnly
        guard let outages, let reader = try? LogReader(path: outages) else { return }
        var hasMore = true
        while hasMore {
            // After an error the reader goes on with the file after it.
            do { hasMore = try reader.advance(lines: .max, keep) } catch { continue }
        }
    }

    private func keep(_ header: RecordHeader, _ line: ArraySlice<UInt8>) -> Bool {
        let stream = header.position.stream
        if kept[stream] == nil { streams.append(stream) }
        kept[stream, default: []].append(Kept(header: header, line: Array(line)))
        return true
    }

    /// Goes on from the oldest record, as ``LogReader/advance(lines:_:)`` does.
    public func advance(
        lines: Int,
        _ body: (RecordHeader, ArraySlice<UInt8>) -> Bool
    ) throws(EventLogError) -> Bool {
        var isWanted = true
        let hasMore = try log.advance(lines: lines) { header, line in
            isWanted = giveOut(before: header, body) && body(header, line)
            return isWanted
        }
        if !hasMore, isWanted, !isOver {
            isOver = true
            _ = giveOut(before: nil, body)
        }
        return hasMore
    }

    /// Hands over the outages that are older than a record of the log, or all that are left.
    private func giveOut(before record: RecordHeader?, _ body: (RecordHeader, ArraySlice<UInt8>) -> Bool) -> Bool {
        for stream in streams where !(kept[stream]?.isEmpty ?? true) {
            if isOwnStreamOnly, stream != (record ?? log.oldest)?.position.stream { continue }
            while let first = kept[stream]?.first, record.map({ first.header.isOlder(than: $0) }) ?? true {
                kept[stream]?.removeFirst()
                guard body(first.header, first.line[...]) else { return false }
            }
            if let record, kept[stream]?.first?.header.position == record.position { kept[stream]?.removeFirst() }
        }
        return true
    }
}

extension RecordHeader {
    fileprivate func isOlder(than other: RecordHeader) -> Bool {
        if position.stream == other.position.stream { return sequence < other.sequence }
        guard let time, let otherTime = other.time else { return false }
        return time < otherTime
    }
}
