// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CZlib
internal import Glibc
internal import LinuxIO

/// Reads a log line by line with bounded memory, compressed or not.
final class LineReader {
    struct Line {
        /// The bytes without the line feed; only the beginning when the line is too long.
        let bytes: ArraySlice<UInt8>
        /// Whether a line feed ended it.
        let isComplete: Bool
        /// Whether it is longer than any record.
        let isTooLong: Bool

        /// The header of a record; `nil` for what is none, such as a torn end.
        var record: RecordHeader? {
            guard let header = RecordHeader(line: bytes), isComplete || LogTail.isRecord(bytes) else { return nil }
            return header
        }
    }

    let path: String
    private let source: Source
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false

    /// Opens a file; one that ends with `.gz` is decompressed.
    init(path: String) throws(EventLogError) {
        self.path = path
        source = try path.hasSuffix(".gz") ? .compressed(GzipFile(path: path)) : .plain(PlainFile(path: path))
    }

    /// The plain file behind it, for searching; `nil` when it is compressed.
    var plain: PlainFile? { if case .plain(let file) = source { file } else { nil } }

    /// Goes on at an offset of a plain file.
    func seek(to offset: Int64) {
        plain?.offset = offset
        buffer = []
        position = 0
        isAtEnd = false
    }

    /// The next line; `nil` at the end.
    func next() throws(EventLogError) -> Line? {
        var searched = position
        while true {
            if let feed = buffer[searched...].firstIndex(of: 0x0A) {
                defer { position = feed + 1 }
                return Line(bytes: buffer[position..<feed], isComplete: true, isTooLong: false)
            }
            if isAtEnd {
                defer { position = buffer.count }
                return position == buffer.count
                    ? nil : Line(bytes: buffer[position...], isComplete: false, isTooLong: false)
            }
            if buffer.count - position > LogTail.longestLine { return try skipLongLine() }
            buffer.removeFirst(position)
            position = 0
            searched = buffer.count
            try fill()
        }
    }

    private func skipLongLine() throws(EventLogError) -> Line {
        let start = buffer[position..<(position + 256)]
        while !isAtEnd {
            buffer.removeAll(keepingCapacity: true)
            position = 0
            try fill()
            guard let feed = buffer.firstIndex(of: 0x0A) else { continue }
            position = feed + 1
            break
        }
        return Line(bytes: start, isComplete: true, isTooLong: true)
    }

    private func fill() throws(EventLogError) {
        let bytes =
            switch source {
            case .plain(let file): try file.read()
            case .compressed(let file): try file.read()
            }
        isAtEnd = bytes.isEmpty
        buffer += bytes
    }

    private enum Source {
        case plain(PlainFile)
        case compressed(GzipFile)
    }
}

final class PlainFile {
    static let chunk = 65_536
    let path: String
    private let descriptor: FileDescriptor
    var offset: Int64 = 0

    init(path: String) throws(EventLogError) {
        self.path = path
        do throws(Errno) {
            descriptor = try FileDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
        } catch {
            throw .failed(operation: "read", file: path, reason: error)
        }
    }

    func status() throws(EventLogError) -> FileStatus {
        do throws(Errno) {
            return try FileStatus(of: descriptor)
        } catch {
            throw .failed(operation: "read", file: path, reason: error)
        }
    }

    func read() throws(EventLogError) -> [UInt8] {
        let bytes = try read(at: offset, upTo: Self.chunk)
        offset += Int64(bytes.count)
        return bytes
    }

    func read(at offset: Int64, upTo count: Int) throws(EventLogError) -> [UInt8] {
        do throws(Errno) {
            return try descriptor.read(at: offset, upTo: count)
        } catch {
            throw .failed(operation: "read", file: path, reason: error)
        }
    }
}

/// A file compressed by gzip(1).
@safe final class GzipFile {
    private static let chunk = 65_536
    private let path: String
    private let handle: gzFile

    init(path: String) throws(EventLogError) {
        self.path = path
        guard let handle = unsafe gzopen(path, "re") else {
            throw .failed(operation: "read", file: path, reason: .current)
        }
        unsafe self.handle = handle
    }

    deinit {
        unsafe gzclose(handle)
    }

    func read() throws(EventLogError) -> [UInt8] {
        var count: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, initialized in
            count = unsafe gzread(handle, buffer.baseAddress, UInt32(Self.chunk))
            initialized = Int(max(0, count))
        }
        guard count >= 0, count > 0 || isWhole else {
            var code: Int32 = 0
            let text = unsafe gzerror(handle, &code)
            throw .damaged(file: path, reason: unsafe text.map { unsafe String(cString: $0) } ?? "error \(code)")
        }
        return bytes
    }

    /// Whether the end that was reached is the end of the compressed data; a cut file gives `Z_BUF_ERROR`.
    private var isWhole: Bool {
        var code: Int32 = 0
        _ = unsafe gzerror(handle, &code)
        return code == Z_OK
    }
}
