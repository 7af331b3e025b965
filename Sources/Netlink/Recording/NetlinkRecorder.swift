// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import LinuxIO

/// Writes what was read from the kernel to a file, for ``NetlinkRecording``; ``RecordingFormat`` says how.
///
/// Never fails its user: the first error of the file, or the size limit, ends the recording and is kept for the caller.
public final class NetlinkRecorder {
    /// Why nothing more is written; `nil` while all is well.
    public private(set) var failure: Errno?
    /// How many bytes were written.
    public private(set) var size = 0

    private let file: FileDescriptor
    private let clock: any TimeSource
    private let maximumSize: Int

    /// Makes the file, or empties it, and writes the beginning.
    /// - Throws: Why the file is not opened, or write(2)'s error.
    public init(path: String, clock: any TimeSource = KernelClock(), maximumSize: Int = 256 << 20) throws(FileRefusal) {
        file = try TrustedDirectory.open(path: path, O_WRONLY, making: 0o600, for: .output)
        // What is no regular file has no length; its first write fails if it must.
        _ = ftruncate(file.rawValue, 0)
        self.clock = clock
        self.maximumSize = maximumSize
        let text =
            "\(RecordingFormat.header)\nstart \(clock.boot.nanoseconds) \(clock.wall.nanoseconds) \(Self.kernel)\n"
        write(Array(text.utf8))
        if let failure { throw FileRefusal(path: path, cause: .failed(failure)) }
    }

    deinit { finish() }

    /// Ends the recording in order.
    public func finish() {
        guard failure == nil else { return }
        write(Array("end \(clock.boot.nanoseconds)\n".utf8))
        failure = .brokenPipe
    }

    func record(event datagram: Span<UInt8>, at now: Duration) {
        guard failure == nil else { return }
        var line = Array("event \(now.nanoseconds) ".utf8)
        RecordingFormat.append(datagram, to: &line)
        write(line + [10])
    }

    func recordOverrun(at now: Duration) { write(Array("lost \(now.nanoseconds)\n".utf8)) }

    func record(_ question: Question, answer: [RecordedMessage], _ outcome: RecordedOutcome) {
        guard failure == nil else { return }
        var line = Array("ask \(clock.boot.nanoseconds) \(question.type):\(question.flags):".utf8)
        RecordingFormat.append(question.body.span, to: &line)
        line += Array(" \(Self.word(outcome)) ".utf8)
        for (index, message) in answer.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            RecordingFormat.append(Question.bytes(of: message.type).span, to: &line)
            RecordingFormat.append(message.body.span, to: &line)
        }
        write(line + [10])
    }

    func record(_ connections: RecordedConnections) {
        guard failure == nil else { return }
        var line = Array("tcp \(clock.boot.nanoseconds) \(connections.source.rawValue) ".utf8)
        for (index, body) in connections.bodies.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            RecordingFormat.append(body.span, to: &line)
        }
        write(line + [10])
    }

    private func write(_ line: [UInt8]) {
        guard failure == nil else { return }
        guard size + line.count <= maximumSize else {
            failure = .noSpace
            return
        }
        do { try file.writeAll(line.span) } catch { failure = error }
        size += line.count
    }

    private static func word(_ outcome: RecordedOutcome) -> String {
        switch outcome {
        case .completed(.done(let isConsistent)): isConsistent ? "ok" : "torn"
        case .completed(.stopped): "stopped"
        case .failed(let code): "error=\(code)"
        }
    }

    /// The name and release of the running kernel.
    private static var kernel: String {
        var names = utsname()
        guard unsafe uname(&names) == 0 else { return "unknown" }
        return unsafe withUnsafeBytes(of: &names) { bytes in
            let release = unsafe bytes.dropFirst(2 * 65).prefix { $0 != 0 }
            return unsafe "Linux " + String(decoding: release, as: UTF8.self)
        }
    }
}
