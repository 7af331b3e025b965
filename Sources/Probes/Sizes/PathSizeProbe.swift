// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import Glibc
public import LinuxIO

/// What became of a search for the largest packet that arrives.
public struct PathSizeResult: Hashable, Sendable {
    /// Its size in bytes, headers of IP included; `nil` when no size was answered.
    public var largest: Int?
    /// Whether a router told that a packet was too big.
    public var isAnnounced = false
    /// The bytes that were sent, without the headers of IP and UDP.
    public var bytesSent = 0
    /// The bytes that came back, counted likewise.
    public var bytesReceived = 0
}

/// Finds the largest packet that comes back from somebody, without letting routers cut it.
///
/// The first size is sent five times, others twice; each is over at its first answer. A search without any success
/// sends at most 20 kB. Confined to the loop's thread.
public final class PathSizeProbe: Cancelable {
    private static let pace = Duration.milliseconds(80)
    private static let tooLong = Errno(EMSGSIZE)
    /// How often the first size and how often each further one is sent.
    private static let copies = (first: 5, later: 2)

    private let loop: EventLoop
    private let address: ScopedAddress
    private let kind: TrainKind
    private let roundTrip: Duration
    private let isSearching: Bool
    private let completion: (PathSizeResult) -> Void
    private var search: PathSizeSearch
    private var result = PathSizeResult()
    private var socket: ProbeSocket?
    private var timer: EventLoop.Timer?
    private var size = 0
    private var left = 0
    private var token: [UInt8] = []
    private var sequence: UInt16 = 0
    private var isFirst = true
    private var isOver = false

    /// Starts to search.
    /// - Parameters:
    ///   - address: Who sends packets back.
    ///   - kind: What the packets are.
    ///   - limit: The largest packet that the own link takes, in bytes.
    ///   - roundTrip: How long an answer usually takes.
    ///   - isSearching: Whether to go on after the first size; otherwise only that is tried.
    ///   - loop: Where it goes on.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        _ address: ScopedAddress,
        by kind: TrainKind,
        limit: Int,
        roundTrip: Duration,
        isSearching: Bool = true,
        loop: EventLoop,
        completion: @escaping (PathSizeResult) -> Void
    ) {
        self.loop = loop
        self.address = address
        self.kind = kind
        self.roundTrip = roundTrip
        self.isSearching = isSearching
        self.completion = completion
        search = PathSizeSearch(address.address.family, limit: limit)
        timer = loop.schedule(at: loop.clock.boot) { [weak self] in self?.open() }
    }

    deinit { release() }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        release()
    }

    /// The headers before what the token stands in.
    private var overhead: Int { (address.address.family == .ipv4 ? 20 : 40) + 8 }

    private func open() {
        do throws(SocketFailure) {
            let family = address.address.family
            let socket = try ProbeSocket.make(for: kind, family: family, route: ProbeRoute(), loop: loop)
            self.socket = socket
            try socket.keepWhole()
            let port: UInt16 = if case .datagram(let port) = kind { port } else { 0 }
            if socket.kind == .datagram { try socket.tellFaults() }
            try socket.connect(to: SocketAddress(address, port: port))
            try socket.whenReady(.readable) { [weak self] _ in self?.receive() }
        } catch {
            return finish(nil)
        }
        go()
    }

    private func go() {
        switch search.next {
        case .done(let largest): finish(largest)
        case .send(let next):
            guard isFirst || isSearching else { return finish(nil) }
            size = next
            left = isFirst ? Self.copies.first : Self.copies.later
            isFirst = false
            sequence &+= 1
            token = (0..<16).map { _ in .random(in: .min ... .max) }
            send()
        }
    }

    private func send() {
        timer = nil
        guard let socket, !isOver else { return }
        let bytes = request
        left -= 1
        do throws(SocketFailure) {
            do throws(SocketFailure) {
                try socket.send(bytes)
            } catch {
                // What a router said of a packet before is told by the next send, which sends nothing then.
                if hear() { return settle(isAnswered: false) }
                try socket.send(bytes)
            }
            result.bytesSent += bytes.count
        } catch {
            // The own link takes less than it was thought to.
            if error.error == Self.tooLong { return settle(isAnswered: false) }
            if FailureClassifier.shortage(error) != nil { return finish(nil) }
        }
        if left > 0 {
            timer = loop.schedule(after: Self.pace) { [weak self] in self?.send() }
        } else {
            timer = loop.scheduleSilence(after: max(.milliseconds(300), roundTrip * 2)) { [weak self] isStarved in
                // A search that is led astray by silence is worth nothing.
                isStarved ? self?.finish(nil) : self?.settle(isAnswered: false)
            }
        }
    }

    private func settle(isAnswered: Bool) {
        if let timer { loop.cancel(timer) }
        timer = nil
        search.take(size, isAnswered: isAnswered)
        go()
    }

    private var message: EchoMessage {
        EchoMessage(
            family: address.address.family,
            identifier: UInt16(token[0]) << 8 | UInt16(token[1]),
            sequence: sequence,
            token: token,
            size: size - overhead + 8
        )
    }

    private var request: [UInt8] {
        guard case .datagram = kind else { return message.request }
        return token + [UInt8](repeating: 0x55, count: max(0, size - overhead - token.count))
    }

    /// Takes what routers said.
    /// - Returns: Whether the packets that are on their way are too big by it; others may be those of a size before.
    private func hear() -> Bool {
        for _ in 0..<16 {
            guard let fault = socket?.nextFault() else { break }
            guard fault.kind == .tooBig else { continue }
            result.isAnnounced = true
            if let largest = fault.largest { search.hear(largest) }
        }
        return search.announced.map { $0 < size } ?? false
    }

    private func receive() {
        if hear() { return settle(isAnswered: false) }
        for _ in 0..<ProbeSocket.burst {
            guard let socket, !isOver else { break }
            do throws(SocketFailure) {
                guard let bytes = try socket.receive(upTo: 16_384)?.bytes else { break }
                guard isAnswer(bytes, isRaw: socket.kind == .rawEcho) else { continue }
                result.bytesReceived += size - overhead
                return settle(isAnswered: true)
            } catch {
                if hear() { return settle(isAnswered: false) }
                break
            }
        }
    }

    private func isAnswer(_ bytes: [UInt8], isRaw: Bool) -> Bool {
        guard case .datagram = kind else { return message.isAnswered(by: bytes.span, isRaw: isRaw) }
        return bytes.count == size - overhead && bytes.starts(with: token)
    }

    private func finish(_ largest: Int?) {
        guard !isOver else { return }
        isOver = true
        release()
        result.largest = largest
        completion(result)
    }

    private func release() {
        if let timer { loop.cancel(timer) }
        timer = nil
        socket?.close()
        socket = nil
    }
}
