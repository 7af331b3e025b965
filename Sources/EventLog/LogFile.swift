// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import Glibc
internal import LinuxIO

/// An open log file, or standard output, to which whole lines are appended.
final class LogFile {
    private let descriptor: FileDescriptor
    /// Whether lines go to a pipe or terminal, which cannot be cut.
    private let isStream: Bool
    /// Bytes that must be written before the next line: a missing line feed, or the rest of a line in a pipe.
    private var pending: ArraySlice<UInt8> = []
    /// Where the file must be cut before the next line, when that failed before.
    private var cut: Int64?
    /// What was found in the file; the opening times and sizes of later files need no reading.
    let tail: LogTail?
    /// How many bytes were cut off at the end.
    private(set) var repairedBytes: Int64 = 0
    /// Whether something was written that may not be on the disk.
    private(set) var isUnsaved = false
    /// The file's identity at its opening.
    let status: FileStatus
    /// How many bytes the file should have.
    private(set) var size: Int64

    /// Opens or creates the log at `path` and repairs its end.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - directory: Its directory.
    ///   - isNew: Whether the file must not exist yet.
    /// - Throws: ``EventLogError/foreign(file:found:)`` when it holds something else; then nothing is changed.
    init(path: String, in directory: borrowing TrustedDirectory, isNew: Bool = false) throws(EventLogError) {
        isStream = false
        do throws(FileRefusal) {
            let name = FilePath.name(of: path)
            descriptor = try directory.open(name, O_RDWR | O_APPEND, making: 0o640, isNew: isNew, for: .log)
        } catch {
            throw EventLogError(error, operation: "open the log", file: path)
        }
        do throws(Errno) {
            status = try FileStatus(of: descriptor)
            size = status.size
        } catch {
            throw .failed(operation: "open the log", file: path, reason: error)
        }
        if let found = try Self.foreignContent(descriptor, path: path) { throw .foreign(file: path, found: found) }
        do throws(Errno) {
            let tail = try LogTail(reading: descriptor, size: size)
            self.tail = tail
            if tail.goodSize < size {
                try descriptor.truncate(to: tail.goodSize)
                repairedBytes = size - tail.goodSize
                size = tail.goodSize
            }
            if tail.lacksLineFeed { pending = [0x0A] }
        } catch {
            throw .failed(operation: "repair the log", file: path, reason: error)
        }
    }

    init(standardOutput: Int32 = STDOUT_FILENO) throws(EventLogError) {
        isStream = true
        tail = nil
        size = 0
        do throws(Errno) {
            let copy = fcntl(standardOutput, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { throw .current }
            descriptor = FileDescriptor(owning: copy)
            status = try FileStatus(of: descriptor)
        } catch {
            throw .failed(operation: "write", file: "standard output", reason: error)
        }
    }

    var isLinked: Bool { ((try? FileStatus(of: descriptor))?.links ?? 0) > 0 }

    /// When the first record was written; `nil` in a new file.
    var firstTime: WallTime? {
        guard let head = try? descriptor.read(at: 0, upTo: 512) else { return nil }
        return RecordHeader(line: head[...])?.time
    }

    /// Notes that the file was truncated by others.
    func noteSize(_ size: Int64) {
        self.size = size
        pending = []
    }

    /// Appends one line by one write(2): either the whole line is in the file, or none of it.
    func append(_ line: [UInt8]) throws(Errno) {
        isUnsaved = true
        try settle()
        var written = 0
        while written < line.count {
            do throws(Errno) {
                written += try write(line[written...])
            } catch {
                guard written > 0 else { throw error }
                if isStream {
                    pending = line[written...]
                    return
                }
                undo(written)
                throw error
            }
        }
        size += Int64(written)
    }

    /// The file, when something was written to it since the last call; `nil` when nothing was, or it cannot be had.
    func removeUnsaved() -> SavedFile? {
        guard !isStream, isUnsaved else { return nil }
        let copy = fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        isUnsaved = false
        return SavedFile(FileDescriptor(owning: copy))
    }

    /// Puts the end of the file in order before a line is written.
    private func settle() throws(Errno) {
        if let offset = cut {
            try descriptor.truncate(to: offset)
            cut = nil
        }
        while !pending.isEmpty {
            let count = try write(pending)
            pending = pending.dropFirst(count)
            size += Int64(count)
        }
    }

    private func write(_ bytes: ArraySlice<UInt8>) throws(Errno) -> Int {
        // A pipe that is ready accepts at least PIPE_BUF bytes; a full one must not stop the loop.
        guard !isStream || descriptor.isWritable() else { throw .again }
        return try descriptor.write(bytes.span)
    }

    /// Removes the first part of a line that did not fit.
    private func undo(_ written: Int) {
        let end = (try? FileStatus(of: descriptor))?.size ?? size + Int64(written)
        let offset = max(0, end - Int64(written))
        do throws(Errno) {
            try descriptor.truncate(to: offset)
        } catch {
            cut = offset
        }
    }

    /// What stands at the start of a file that is not ours.
    ///
    /// Ours are an empty file, one that begins with a record, and one whose first record was cut off by a crash:
    /// the beginning of a record, or zero bytes, without a line feed.
    private static func foreignContent(
        _ descriptor: borrowing FileDescriptor,
        path: String
    ) throws(EventLogError) -> String? {
        let head: [UInt8]
        do throws(Errno) {
            head = try descriptor.read(at: 0, upTo: 4096)
        } catch {
            throw .failed(operation: "read the log", file: path, reason: error)
        }
        if let header = RecordHeader(line: head[...]) {
            return header.schema == Event.schema ? nil : "schema \(header.schema)"
        }
        let start = Array("{\"time\":\"".utf8)
        let isTorn = !head.contains(0x0A) && (head.starts(with: start) || start.starts(with: head))
        if isTorn || head.allSatisfy({ $0 == 0 }) { return nil }
        let sample = head.prefix { $0 != 0x0A }.prefix(40)
        let text = String(decoding: sample, as: UTF8.self).unicodeScalars
            .map { (" "..<"\u{7F}").contains($0) ? Character($0) : "?" }
        return "'\(String(text))'"
    }
}
