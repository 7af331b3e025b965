// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Reads a whole log in pieces, so that an event loop can do other things between them.
///
/// Rotation does not disturb it: the files are those that existed when its reader was made.
public final class LogWalk {
    private var files: ArraySlice<LogReader.File>

    /// Begins at the oldest record.
    ///
    /// - Parameter reader: A reader that nothing else uses.
    public init(_ reader: LogReader) {
        files = reader.files[...]
    }

    /// Calls `body` with the next records, looking at up to `lines` lines, until it returns `false`.
    ///
    /// - Returns: Whether more lines may follow; `false` at the end of the log, and after `body` returned `false`.
    /// - Throws: ``EventLogError`` when a file cannot be read; the walk goes on with the next one.
    public func advance(
        lines: Int,
        _ body: (RecordHeader, ArraySlice<UInt8>) -> Bool
    ) throws(EventLogError) -> Bool {
        for _ in 0..<lines {
            guard let file = files.first else { return false }
            let line: LineReader.Line?
            do throws(EventLogError) {
                line = try file.reader.next()
            } catch {
                files.removeFirst()
                throw error
            }
            guard let line else {
                files.removeFirst()
                continue
            }
            guard let header = RecordHeader(line: line.bytes), line.isComplete || LogTail.isRecord(line.bytes) else {
                continue
            }
            guard body(header, line.bytes) else {
                files = []
                return false
            }
        }
        return !files.isEmpty
    }
}
