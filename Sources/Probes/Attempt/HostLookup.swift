// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO

public struct HostLookupResult: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        /// The addresses, the preferred ones first, without doubles.
        case addresses([ScopedAddress])
        case noSuchName
        case noAddress
        /// It could not be found out; the text says why, for people.
        case failed(String)
        /// It could not be looked up: the text says what this machine lacks.
        case impossible(String)
    }

    public var outcome: Outcome
    public var duration: Duration

    init(_ outcome: NameLookup.Outcome, duration: Duration) {
        self.duration = duration
        switch outcome {
        case .addresses(let found):
            var seen: Set<ScopedAddress> = []
            let addresses = found.filter { seen.insert($0).inserted }
            self.outcome = addresses.isEmpty ? .noAddress : .addresses(addresses)
        case .failed(_, .noSuchName): self.outcome = .noSuchName
        case .failed(_, .noAddress): self.outcome = .noAddress
        case .failed(let text, .none): self.outcome = .failed(text.lowercased())
        }
    }
}

/// Looks a host name up as any program does, by both families, within a time limit.
///
/// What is sent, and to whom, is the C library's business (nsswitch.conf(5), resolv.conf(5)). Confined to the loop's
/// thread.
public final class HostLookup: Cancelable {
    /// How long a name may take where nothing leaves the machine: only its own files know it, and they do so at once.
    public static let timeoutWithoutRoute = Duration.milliseconds(200)

    /// Whether a name is resolved on the machine's own networks, which need no route beyond (RFC 6762 section 3).
    public static func isResolvedOnLink(_ name: String) -> Bool {
        let name = name.lowercased()
        return name.hasSuffix(".local") || name.hasSuffix(".local.")
    }

    private let loop: EventLoop
    private let name: String
    private let limit: Duration
    private let completion: (HostLookupResult) -> Void
    private let started: Duration
    private var lookup: NameLookup?
    private var timer: EventLoop.Timer?
    private var isOver = false

    /// Starts to look up.
    /// - Parameters:
    ///   - name: The name of a host.
    ///   - limit: When it counts as failed.
    ///   - loop: Where it goes on.
    ///   - completion: Receives the result, never before this call returns.
    public init(
        _ name: String,
        limit: Duration,
        loop: EventLoop,
        completion: @escaping (HostLookupResult) -> Void
    ) {
        self.loop = loop
        self.name = name
        self.limit = limit
        self.completion = completion
        started = loop.clock.boot
        timer = loop.schedule(at: started) { [weak self] in self?.begin() }
    }

    deinit { release() }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        release()
    }

    /// Waits no longer: it failed for want of an answer.
    public func giveUp() { finish(.failed(Self.noAnswer, certainty: .none)) }

    private static let noAnswer = "no answer in time"

    private func begin() {
        timer = loop.scheduleTimeout(after: limit) { [weak self] isDelayed in
            self?.finish(.failed(isDelayed ? SchedulingDelay.text : Self.noAnswer, certainty: .none))
        }
        do {
            lookup = try NameLookup(name, family: nil, loop: loop) { [weak self] found in self?.finish(found) }
        } catch {
            finish(.failed(error.description, certainty: .none))
        }
    }

    private func finish(_ outcome: NameLookup.Outcome) {
        guard !isOver else { return }
        isOver = true
        release()
        var result = HostLookupResult(outcome, duration: loop.clock.boot - started)
        if case .failed = result.outcome, let shortage = Shortage.current(loop) {
            result.outcome = .impossible(shortage)
        }
        completion(result)
    }

    private func release() {
        if let timer { loop.cancel(timer) }
        timer = nil
        lookup?.cancel()
        lookup = nil
    }
}
