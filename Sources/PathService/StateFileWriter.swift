// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// Replaces a file of the state directory in pieces, between which the loop serves everything else.
///
/// Confined to the loop. The file is replaced as a whole by rename(2), so a reader and a crash find the old one or the
/// new one. It is not written more often than each ``interval``.
final class StateFileWriter {
    /// Gives piece after piece of the contents, and `nil` at the end.
    typealias Pieces = () -> [UInt8]?

    /// A burst of news becomes one file.
    private static let delay = Duration.seconds(2)

    let interval: Duration
    /// When the last writing began, as time since boot.
    private(set) var lastBegin: Duration?
    private let file: StateFile
    private let loop: EventLoop
    private let clock: any TimeSource
    private let contents: () -> Pieces
    private let onEnd: (FileRefusal.Cause?) -> Void
    private var timer: EventLoop.Timer?
    private var writing: Writing?

    private struct Writing: ~Copyable {
        let file: FileReplacement
        let pieces: Pieces
    }

    /// Makes a writer that does nothing yet.
    /// - Parameters:
    ///   - file: What it replaces.
    ///   - loop: Where it works.
    ///   - clock: What `interval` is measured by.
    ///   - interval: The least time between two writings.
    ///   - contents: Gives what there is to write when a writing begins.
    ///   - onEnd: Takes why a writing failed, or `nil` when the new file is in place.
    init(
        _ file: StateFile,
        loop: EventLoop,
        clock: any TimeSource,
        interval: Duration,
        contents: @escaping () -> Pieces,
        onEnd: @escaping (FileRefusal.Cause?) -> Void
    ) {
        self.file = file
        self.loop = loop
        self.clock = clock
        self.interval = interval
        self.contents = contents
        self.onEnd = onEnd
    }

    /// Plans a writing, unless there is one already.
    func schedule() {
        guard timer == nil, writing == nil else { return }
        let earliest = lastBegin.map { $0 + interval } ?? .zero
        timer = loop.schedule(at: max(earliest, clock.boot + Self.delay)) { [weak self] in
            self?.timer = nil
            self?.begin()
            self?.goOn()
        }
    }

    /// Gives up what is planned and what is under way.
    func cancel() {
        if let timer { loop.cancel(timer) }
        timer = nil
        writing = nil
    }

    /// Writes everything at once.
    func writeNow() {
        cancel()
        begin()
        while writing != nil { step() }
    }

    private func goOn() {
        // Without one it is done, or failed.
        guard writing != nil else { return }
        step()
        guard writing != nil else { return }
        timer = loop.schedule(after: .milliseconds(1)) { [weak self] in
            self?.timer = nil
            self?.goOn()
        }
    }

    private func begin() {
        lastBegin = clock.boot
        do throws(FileRefusal.Cause) {
            let new = try file.begin()
            writing = Writing(file: new, pieces: contents())
        } catch {
            onEnd(error)
        }
    }

    private func step() {
        do throws(Errno) {
            if let piece = writing?.pieces() {
                try writing?.file.write(piece.span)
            } else if let complete = writing.take() {
                try complete.file.commit()
                onEnd(nil)
            }
        } catch {
            writing = nil
            onEnd(.failed(error))
        }
    }
}
