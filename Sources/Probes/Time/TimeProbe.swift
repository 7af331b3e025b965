// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import LinuxIO

public struct TimeResult: Hashable, Sendable {
    public var isAnswered = false
    /// Whether this machine was too busy to receive an answer.
    public var isStarved = false
    /// What this machine lacks for sending, so that nothing follows from a missing reply.
    public var shortage: String?
    /// How far the own clock is ahead of its; `nil` when it does not know the time.
    public var ahead: Duration?
    /// How many questions were handed to the kernel.
    public var sent = 0
    /// How many of these a packet filter of this machine refused (`EPERM`).
    public var refused = 0
    /// The bytes that were sent, without the headers of IP and UDP.
    public var bytesSent = 0
    /// The bytes that came back, counted likewise.
    public var bytesReceived = 0
}

/// Asks a time server for the time (NTP, RFC 5905), thrice while it says nothing.
///
/// At most three questions of 48 bytes, which tell nothing of this machine. Confined to the loop's thread.
public final class TimeProbe: Cancelable {
    /// When a question is sent; the first may be lost.
    private static let copies: [Duration] = [.zero, .milliseconds(450), .milliseconds(900)]

    private let loop: EventLoop
    private let server: SocketAddress
    private let completion: (TimeResult) -> Void
    private var result = TimeResult()
    private var questions: [(query: TimeQuery, left: Int64)] = []
    private var socket: ProbeSocket?
    private var timers: [EventLoop.Timer] = []
    private var isOver = false

    /// Starts to ask.
    /// - Parameters:
    ///   - server: Whom to ask.
    ///   - limit: When silence counts as one.
    ///   - loop: Where it goes on.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        _ server: SocketAddress,
        limit: Duration = .milliseconds(2500),
        loop: EventLoop,
        completion: @escaping (TimeResult) -> Void
    ) {
        self.loop = loop
        self.server = server
        self.completion = completion
        let started = loop.clock.boot
        timers = Self.copies.map { delay in loop.schedule(at: started + delay) { [weak self] in self?.ask() } }
        timers.append(
            loop.scheduleSilence(after: limit) { [weak self] isStarved in
                self?.result.isStarved = isStarved
                self?.finish()
            }
        )
    }

    deinit { release() }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        release()
    }

    private func ask() {
        guard !isOver else { return }
        result.sent += 1
        do throws(SocketFailure) {
            if socket == nil { socket = try open() }
            let query = TimeQuery(cookie: .random(in: 1 ... .max))
            // Noted before, so that an answer cannot be earlier.
            questions.append((query, loop.clock.wall.nanoseconds))
            try socket?.send(query.bytes)
            result.bytesSent += TimeQuery.length
        } catch {
            if FailureClassifier.reason(of: error) == .blocked { result.refused += 1 }
            if let shortage = FailureClassifier.shortage(error) { result.shortage = shortage }
        }
    }

    private func open() throws(SocketFailure) -> ProbeSocket {
        let family = server.address.address.family
        let socket = try ProbeSocket(.datagram, family: family, route: .init(), loop: loop)
        try socket.connect(to: server)
        try socket.whenReady(.readable) { [weak self] _ in self?.receive() }
        return socket
    }

    private func receive() {
        for _ in 0..<ProbeSocket.burst {
            guard let socket, !isOver else { break }
            do throws(SocketFailure) {
                guard let arrival = try socket.receive(upTo: 2048) else { return }
                take(arrival.bytes, at: loop.clock.wall.nanoseconds - arrival.age.nanoseconds)
            } catch {
                return
            }
        }
    }

    private func take(_ bytes: [UInt8], at now: Int64) {
        for (query, left) in questions {
            switch query.read(bytes.span, left: left, arrived: now) {
            case .foreign: continue
            case .unsynchronized: break
            case .ahead(let offset): result.ahead = offset
            }
            result.isAnswered = true
            result.bytesReceived += bytes.count
            return finish()
        }
    }

    private func finish() {
        guard !isOver else { return }
        isOver = true
        release()
        completion(result)
    }

    private func release() {
        for timer in timers { loop.cancel(timer) }
        timers = []
        socket?.close()
        socket = nil
    }
}
