// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import Glibc
internal import LinuxIO
internal import Metrics

final class Listener {
    let address: ListenAddress
    /// How many connections came through it and are open.
    var count = 0
    /// Whether others than local processes may come.
    var isTCP: Bool { if case .tcp = address { true } else { false } }
    private let loop: EventLoop
    private let refusals: Refusals
    private var socket: ListeningSocket?
    private var watch: EventLoop.Registration?
    private let accepted: (Int32, Listener) -> Void
    /// What was told of already.
    private var lastLoss: SocketLoss?

    init(
        _ socket: consuming ListeningSocket,
        loop: EventLoop,
        refusals: Refusals,
        accepted: @escaping (Int32, Listener) -> Void
    ) throws(StatusServerError) {
        address = socket.address
        self.loop = loop
        self.refusals = refusals
        self.accepted = accepted
        let descriptor = socket.descriptor.rawValue
        self.socket = consume socket
        watch = try look(at: descriptor)
    }

    private func look(at descriptor: Int32) throws(StatusServerError) -> EventLoop.Registration {
        do {
            return try loop.register(descriptor, for: .readable) { [weak self] _ in self?.accept(from: descriptor) }
        } catch {
            throw .failed(address: address.description, errno: error)
        }
    }

    /// Listens again where the file of a unix socket was removed; connections that are there stay.
    ///
    /// A socket of this user that nobody serves is replaced, as at the start; anything else that took its place stays.
    /// - Returns: What there is to tell, once for each loss.
    func renew() -> String? {
        guard let loss = socket?.loss else {
            lastLoss = nil
            return nil
        }
        // What was told of and is there still is left alone.
        if loss.found != nil, loss == lastLoss { return nil }
        let isNew = lastLoss == nil
        lastLoss = loss
        do throws(StatusServerError) {
            guard !loss.isForeign else { throw .replaced(path: loss.path) }
            let new = try ListeningSocket(address)
            let descriptor = new.descriptor.rawValue
            let watch = try look(at: descriptor)
            // Whoever waits in the old one is served.
            if let old = socket?.descriptor.rawValue { accept(from: old) }
            if let watch = self.watch { loop.unregister(watch) }
            self.watch = watch
            socket = consume new
            lastLoss = nil
            return "listening again on \(address): the file of the socket had been removed"
        } catch {
            return isNew ? "\(error)" : nil
        }
    }

    /// Stops listening and takes a unix socket's file away.
    func close() {
        if let watch { loop.unregister(watch) }
        watch = nil
        if let socket = socket.take() { socket.remove() }
    }

    /// Who is at the other end.
    func peer(of descriptor: Int32) -> HTTPPeer {
        guard case .unix = address else { return .tcp }
        var process: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
        // Nobody's user when the kernel does not say: no right comes from a failure.
        guard unsafe nwp_peer_credentials(descriptor, &process, &user, &group) == 0 else {
            return .unix(process: 0, user: .max, group: .max)
        }
        var groups = [gid_t](repeating: 0, count: 64)
        let count = unsafe nwp_peer_groups(descriptor, &groups, Int32(groups.count))
        return .unix(process: process, user: user, group: group, groups: Array(groups.prefix(max(0, Int(count)))))
    }

    private func accept(from descriptor: Int32) {
        // A bounded number at a time, so that a flood of connections leaves the loop to others.
        for _ in 0..<64 {
            let result = nwp_accept(descriptor)
            guard result < 0 else {
                accepted(result, self)
                continue
            }
            switch result {
            case -EMFILE, -ENFILE:
                guard refusals.refuseWithReserve(from: descriptor) else { return pause() }
            default: return
            }
        }
    }

    /// Looks away for a moment when there is not even a descriptor left to refuse with.
    private func pause() {
        guard let watch else { return }
        try? loop.change(watch, to: [])
        loop.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self, let watch = self.watch else { return }
            try? self.loop.change(watch, to: .readable)
        }
    }
}

/// Tells clients that there is no room, and lets them read it.
///
/// Closing a socket with unread bytes destroys what was sent, so a refused connection lingers until the client closes
/// it, for two seconds at most. A few descriptors are held back for the time when the process has no more.
final class Refusals {
    private static let answer: [UInt8] = {
        let content = Problem(status: 503, detail: "Too many connections; try again soon.").rendered
        let head = """
            HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r
            Content-Length: \(content.count)\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r
            Cross-Origin-Resource-Policy: same-origin\r\n\r\n
            """
        return Array(head.utf8) + content
    }()
    private static let most = 16

    private let loop: EventLoop
    private var reserve: [FileDescriptorBox] = []
    private var lingering: [Int32: EventLoop.Registration] = [:]
    /// Those that linger, oldest first.
    private var order: [Int32] = []
    private let capacity: Int
    private let counter: Counter

    /// Counts every refusal with `counter`; at most `capacity` connections linger.
    init(loop: EventLoop, counter: Counter, capacity: Int) {
        self.loop = loop
        self.counter = counter
        self.capacity = capacity
        refill()
    }

    /// Sends the refusal on an accepted socket and closes it in time.
    ///
    /// Whoever expects an encrypted answer gets none: a handshake is the work that there is no room for.
    func refuse(_ descriptor: Int32, isEncrypted: Bool = false) {
        counter.increment()
        Self.drain(descriptor)
        if !isEncrypted {
            unsafe Self.answer.withUnsafeBytes { _ = unsafe nwp_send(descriptor, $0.baseAddress, $0.count) }
        }
        shutdown(descriptor, Int32(SHUT_WR))
        // The oldest one has had most of the time to read.
        if lingering.count >= capacity, let oldest = order.first { end(oldest) }
        let watch = try? loop.register(descriptor, for: [.readable, .peerClosed]) { [weak self] readiness in
            if Self.drain(descriptor) || readiness.contains(.failed) { self?.end(descriptor) }
        }
        guard let watch else {
            Glibc.close(descriptor)
            return refill()
        }
        lingering[descriptor] = watch
        order.append(descriptor)
        loop.schedule(after: .seconds(2)) { [weak self] in
            if self?.lingering[descriptor] == watch { self?.end(descriptor) }
        }
    }

    /// Accepts with a descriptor held back, and refuses.
    /// - Returns: `false` when none is left.
    func refuseWithReserve(from listener: Int32) -> Bool {
        guard reserve.popLast() != nil else { return false }
        let result = nwp_accept(listener)
        if result >= 0 { refuse(result) } else { refill() }
        return true
    }

    func close() {
        for descriptor in Array(lingering.keys) { end(descriptor) }
        reserve = []
    }

    private func end(_ descriptor: Int32) {
        guard let watch = lingering.removeValue(forKey: descriptor) else { return }
        order.removeAll { $0 == descriptor }
        loop.unregister(watch)
        Glibc.close(descriptor)
        refill()
    }

    private func refill() {
        while reserve.count < Self.most, let null = try? FileDescriptor(opening: "/dev/null", flags: O_RDONLY) {
            reserve.append(FileDescriptorBox(null))
        }
    }

    /// Throws away what the client sent.
    /// - Returns: Whether it has closed its side.
    @discardableResult
    private static func drain(_ descriptor: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4096)
        for _ in 0..<16 {
            let count = unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            if count == 0 { return true }
            if count < 0 { return errno != EAGAIN && errno != EINTR }
        }
        return false
    }
}

private final class FileDescriptorBox {
    private let descriptor: FileDescriptor
    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
}
