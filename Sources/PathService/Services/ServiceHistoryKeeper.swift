// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import MulticastDNS

/// Keeps the history of services in a file of the state directory.
///
/// Confined to the loop. The file is replaced as a whole by rename(2), so a reader and a crash find the old one or the
/// new one; it is written in pieces between which the loop serves everything else, and not more often than each
/// ``interval``. A history that cannot be read or written stops nothing.
final class ServiceHistoryKeeper {
    static let fileName = "services.jsonl"
    /// The least time between two writings.
    static let interval = Duration.seconds(30)
    /// After so long without news, the moments at which services were last heard of are saved all the same.
    private static let longestSilence = Duration.seconds(600)
    /// How many services are written in one go.
    private static let piece = 64

    private(set) var history = ServiceHistory()
    /// Why the file could not be read or written the last time; `nil` when all is well.
    private(set) var problem: String?
    private let loop: EventLoop
    private let clock: any TimeSource
    private let file: StateFile
    private var timer: EventLoop.Timer?
    private var lastSaved: Duration?
    private var writing: Writing?

    private struct Writing: ~Copyable {
        let file: FileReplacement
        var rest: ArraySlice<(key: ServiceHistory.Key, value: ServiceHistory.Entry)>
    }

    init(loop: EventLoop, clock: any TimeSource, directory: String) {
        self.loop = loop
        self.clock = clock
        file = StateFile(path: directory + "/" + Self.fileName)
    }

    /// Reads what an earlier run left.
    func open() {
        do throws(Errno) {
            guard let bytes = try file.read(upTo: ServiceHistoryFormat.longestFile) else { return }
            guard let reading = ServiceHistoryFormat.read(bytes) else {
                problem = file.setAside(because: "was not a history of services")
                return
            }
            history = ServiceHistory(reading.entries)
        } catch {
            problem = "\(file.path) cannot be read (\(error)); services have no history of earlier runs"
        }
    }

    /// Takes what the census reports; `services` are those that are there.
    func take(_ event: ServiceEvent, services: @autoclosure () -> [Service]) {
        if case .censusCompleted = event {
            guard clock.boot - (lastSaved ?? .zero) >= Self.longestSilence else { return }
            history.refresh(services(), clock: clock)
        } else {
            history.take(event, clock: clock)
        }
        schedule()
    }

    /// Writes what is not yet written, at once.
    func close(services: [Service]) {
        if let timer { loop.cancel(timer) }
        timer = nil
        writing = nil
        history.refresh(services, clock: clock)
        guard history.hasNews else { return }
        begin()
        while writing != nil { step() }
    }

    // MARK: - Writing

    private func schedule() {
        guard history.hasNews, timer == nil, writing == nil else { return }
        let earliest = lastSaved.map { $0 + Self.interval } ?? .zero
        // A burst of arrivals becomes one file.
        timer = loop.schedule(at: max(earliest, clock.boot + .seconds(2))) { [weak self] in
            self?.timer = nil
            self?.begin()
            self?.goOn()
        }
    }

    private func goOn() {
        // Without one it is done, or failed: what fails is tried again with the next news.
        guard writing != nil else { return }
        step()
        timer = loop.schedule(after: .milliseconds(1)) { [weak self] in
            self?.timer = nil
            self?.goOn()
        }
    }

    private func begin() {
        history.mark(isSaved: true)
        lastSaved = clock.boot
        do throws(Errno) {
            let new = try file.begin()
            try new.write(ServiceHistoryFormat.header(at: clock.wall).span)
            writing = Writing(file: new, rest: history.entries.sorted { $0.key < $1.key }[...])
        } catch {
            fail(error)
        }
    }

    private func step() {
        guard let piece = writing?.rest.prefix(Self.piece) else { return }
        do throws(Errno) {
            let bytes = piece.flatMap { ServiceHistoryFormat.line($0.key, $0.value) }
            try writing?.file.write(bytes.span)
            writing?.rest.removeFirst(piece.count)
            guard writing?.rest.isEmpty == true, let complete = writing.take() else { return }
            try complete.file.commit()
            problem = nil
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: Errno) {
        writing = nil
        history.mark(isSaved: false)
        problem = "\(file.path) cannot be written (\(error)); what is learnt of services now is lost at the end"
    }
}
