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
            problem = "\(error); outages of now may be missing from the history once the event log was rotated"
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

/// Reads the outages of a log, and then the log itself: each record once, oldest first.
public final class OutageReader {
    private let log: LogReader
    private var outages: LogReader?
    private let isOwnStreamOnly: Bool

    /// Opens both.
    /// - Parameters:
    ///   - log: The path of the event log.
    ///   - outages: That of the ``OutageLog``; none, or one that cannot be read is left out.
    ///   - isOwnStreamOnly: Whether outages count only where they are of the stream with which the log begins.
    /// - Throws: ``EventLogError`` when the event log cannot be read, or is none.
    public init(log: String, outages: String?, isOwnStreamOnly: Bool = false) throws(EventLogError) {
        self.log = try LogReader(path: log)
        self.outages = outages.flatMap { try? LogReader(path: $0) }
        self.isOwnStreamOnly = isOwnStreamOnly
    }

    /// Goes on from the oldest record, as ``LogReader/advance(lines:_:)`` does.
    public func advance(
        lines: Int,
        _ body: (RecordHeader, ArraySlice<UInt8>) -> Bool
    ) throws(EventLogError) -> Bool {
        guard let outages else { return try log.advance(lines: lines, body) }
        do throws(EventLogError) {
            let hasMore = try outages.advance(lines: lines) { header, line in
                guard isOlderThanLog(header) else { return false }
                return isOwnStreamOnly && header.position.stream != log.oldest?.position.stream || body(header, line)
            }
            if !hasMore { self.outages = nil }
        } catch {
            // The next call goes on with the file after it.
        }
        return true
    }

    private func isOlderThanLog(_ header: RecordHeader) -> Bool {
        guard let oldest = log.oldest else { return true }
        if header.position.stream == oldest.position.stream { return header.sequence < oldest.sequence }
        guard let time = header.time, let first = oldest.time else { return false }
        return time < first
    }
}
