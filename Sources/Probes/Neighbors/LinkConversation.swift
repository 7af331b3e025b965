// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// A question to a link, asked twice, and every answer until the time is over; confined to the loop's thread.
final class LinkConversation {
    enum End {
        case timeOver
        /// The time is over, and this machine was too busy to hear anybody.
        case starved
        /// This process may not ask.
        case notPermitted
        case failed(Errno)
    }

    /// What is asked, in the calls of one kind of socket; those that fail return a negative `errno`.
    struct Manner {
        let open: () -> Int32
        let ask: (Int32) -> Int
        /// Receives and takes one answer, in a buffer that serves all.
        let receive: (Int32, inout [UInt8]) -> Int
    }

    /// When the question is asked again for those who ask for configuration, for the first may be lost.
    static let usualRetry = Duration.milliseconds(600)
    /// How many different answers are kept.
    static let most = 16

    private let loop: EventLoop
    private let manner: Manner
    private let completion: (End) -> Void
    private var descriptor: Int32 = -1
    private var watch: EventLoop.Watch?
    private var timers: [EventLoop.Timer] = []
    private var isOver = false

    /// Begins soon; `completion` is never called before this call returns.
    init(
        _ manner: Manner,
        retry: Duration = usualRetry,
        limit: Duration,
        loop: EventLoop,
        completion: @escaping (End) -> Void
    ) {
        self.loop = loop
        self.manner = manner
        self.completion = completion
        let started = loop.clock.boot
        timers = [
            loop.schedule(at: started) { [weak self] in self?.open() },
            loop.schedule(at: started + retry) { [weak self] in self?.ask() },
            loop.scheduleSilence(after: limit) { [weak self] in self?.finish($0 ? .starved : .timeOver) },
        ]
    }

    deinit { close() }

    /// Ends it without a word.
    func cancel() {
        isOver = true
        close()
    }

    private func open() {
        let result = manner.open()
        guard result >= 0 else {
            let error = Errno(result)
            return finish(error == .notPermitted || error == .accessDenied ? .notPermitted : .failed(error))
        }
        descriptor = result
        do throws(Errno) {
            watch = try loop.watch(result, for: .readable) { [weak self] _ in self?.receive() }
        } catch {
            return finish(.failed(error))
        }
        ask()
    }

    private func ask() {
        guard descriptor >= 0, !isOver else { return }
        let sent = manner.ask(descriptor)
        if sent < 0 && sent != -Int(EAGAIN) { finish(.failed(Errno(Int32(sent)))) }
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 1500)
        for _ in 0..<64 {
            let count = manner.receive(descriptor, &buffer)
            if count == -Int(EAGAIN) { return }
            guard count >= 0 else { return finish(.failed(Errno(Int32(count)))) }
        }
    }

    private func finish(_ end: End) {
        guard !isOver else { return }
        isOver = true
        close()
        completion(end)
    }

    private func close() {
        if let watch { loop.unwatch(watch) }
        watch = nil
        for timer in timers { loop.cancel(timer) }
        timers = []
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
        descriptor = -1
    }
}
