// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import LinuxIO

/// Where a log's other files are, and what they begin with.
enum LogSegment {
    /// A rotated file of our own naming: `.1`, `.2`, perhaps with `.gz`.
    struct Numbered: Equatable {
        let number: Int
        let suffix: String

        /// The name one further back.
        var next: Numbered { Numbered(number: number + 1, suffix: suffix) }

        func path(of log: String) -> String { "\(log).\(number)\(suffix)" }
    }

    /// How many files beside a log are examined.
    private static let maximumFiles = 1000

    /// The numbered files beside a log, in no order.
    static func numbered(beside log: String) throws(Errno) -> [Numbered] {
        let prefix = FilePath.name(of: log) + "."
        return try FilePath.names(in: FilePath.directory(of: log)).compactMap { name in
            guard name.hasPrefix(prefix) else { return nil }
            let rest = name.dropFirst(prefix.count)
            let isCompressed = rest.hasSuffix(".gz")
            let digits = isCompressed ? rest.dropLast(3) : rest
            guard let number = Int(digits), number > 0, String(number) == digits else { return nil }
            return Numbered(number: number, suffix: isCompressed ? ".gz" : "")
        }
    }

    /// The rotated files beside a log, whoever named them (`.1`, `-20261120.gz`), the last written first.
    static func rotated(beside log: String) throws(EventLogError) -> [String] {
        let directory = FilePath.directory(of: log)
        let base = FilePath.name(of: log)
        let names: [String]
        do throws(Errno) {
            names = try FilePath.names(in: directory)
        } catch {
            throw .failed(operation: "list the directory", file: directory, reason: error)
        }
        // What somebody else put beside the log is no part of it.
        let trust = FileTrust.current
        let (folder, owner) = (try? FileTrust.Facts(path: directory + "/."), (try? FileTrust.Facts(path: log))?.owner)
        var found: [(path: String, modified: Int64)] = []
        for name in names where name.hasPrefix(base + ".") || name.hasPrefix(base + "-") {
            let path = directory + "/" + name
            guard !name.hasSuffix(".lock"), !name.hasSuffix(EventLog.newSuffix),
                let status = try? FileStatus(path: path), status.isRegular,
                let facts = try? FileTrust.Facts(path: path),
                facts.kind == .regular && facts.owner == owner
                    || folder.map({ trust.refusal(opening: facts, in: $0, for: .log) == nil }) ?? false
            else { continue }
            found.append((path, status.modified))
        }
        return found.sorted { $0.modified > $1.modified }.prefix(maximumFiles).map(\.path)
    }

    /// The last record of the youngest rotated file that has one.
    static func lastPosition(beside log: String) throws(EventLogError) -> EventPosition? {
        for path in try rotated(beside: log) {
            // A file that cannot be read must not keep the daemon from starting; an older one may do.
            if let last = try? lastHeader(of: path) { return last.position }
        }
        return nil
    }

    private static func lastHeader(of path: String) throws(EventLogError) -> RecordHeader? {
        var last: RecordHeader?
        if path.hasSuffix(".gz") {
            let lines = try LineReader(path: path)
            while let line = try lines.next() {
                if let header = RecordHeader(line: line.bytes) { last = header }
            }
            return last
        }
        do throws(Errno) {
            let descriptor = try FileDescriptor(opening: path, flags: 0)
            return try LogTail(reading: descriptor, size: try FileStatus(of: descriptor).size).last
        } catch {
            throw .failed(operation: "read the log", file: path, reason: error)
        }
    }
}
