// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import MulticastDNS

/// Keeps the history of services in a file of the state directory.
///
/// Confined to the loop. A history that cannot be read or written stops nothing; see ``StateFileWriter``.
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
    private lazy var writer = StateFileWriter(
        file,
        loop: loop,
        clock: clock,
        interval: Self.interval,
        contents: { [unowned self] in pieces() },
        onEnd: { [unowned self] error in take(error) }
    )

    init(loop: EventLoop, clock: any TimeSource, directory: String) {
        self.loop = loop
        self.clock = clock
        file = StateFile(path: directory + "/" + Self.fileName)
    }

    /// Reads what an earlier run left.
    func open() {
        do throws(FileRefusal.Cause) {
            guard let bytes = try file.read(upTo: ServiceHistoryFormat.longestFile) else { return }
            guard let reading = ServiceHistoryFormat.read(bytes) else {
                problem = file.setAside(because: "was not a service history")
                return
            }
            history = ServiceHistory(reading.entries)
        } catch {
            problem = "\(file.path) cannot be read (\(error)); service history of earlier runs is not available"
        }
    }

    /// Takes what the census reports; `services` are those that are there.
    func take(_ event: ServiceEvent, services: @autoclosure () -> [Service]) {
        if case .censusCompleted = event {
            guard clock.boot - (writer.lastBegin ?? .zero) >= Self.longestSilence else { return }
            history.refresh(services(), clock: clock)
        } else {
            history.take(event, clock: clock)
        }
        schedule()
    }

    /// Writes what is not yet written, at once.
    func close(services: [Service]) {
        writer.cancel()
        history.refresh(services, clock: clock)
        if history.hasNews { writer.writeNow() }
    }

    // MARK: - Writing

    private func schedule() {
        if history.hasNews { writer.schedule() }
    }

    private func pieces() -> StateFileWriter.Pieces {
        history.mark(isSaved: true)
        var header: [UInt8]? = ServiceHistoryFormat.header(at: clock.wall)
        var rest = history.entries.sorted { $0.key < $1.key }[...]
        return {
            if let first = header.take() { return first }
            guard !rest.isEmpty else { return nil }
            let piece = rest.prefix(Self.piece)
            rest.removeFirst(piece.count)
            return piece.flatMap { ServiceHistoryFormat.line($0.key, $0.value) }
        }
    }

    /// Takes why the file could not be written; what fails is tried again with the next news.
    private func take(_ error: FileRefusal.Cause?) {
        guard let error else {
            problem = nil
            // What was learnt meanwhile is not in the file.
            return schedule()
        }
        history.mark(isSaved: false)
        problem = "\(file.path) cannot be written (\(error)); service history is lost when the service stops"
    }
}
