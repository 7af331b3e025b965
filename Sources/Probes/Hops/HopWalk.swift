// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO

/// A router that let a packet end at it on purpose.
public struct HopAnswer: Hashable, Sendable {
    /// How many routers away it is, the gateway being 1.
    public var distance: Int
    public var address: IPAddress
}

public struct HopWalkResult: Hashable, Sendable {
    /// The routers that answered, the nearest first.
    public var hops: [HopAnswer] = []
    /// Who says that there is no way further.
    public var unreachableFrom: IPAddress?
    /// Whether the end of the way answered.
    public var isArrived = false
    /// Whether this machine was too busy to hear who answered, or lacked what sending needs.
    public var isStarved = false
    /// How many packets a packet filter of this machine refused (`EPERM`).
    public var refused = 0
    /// How many packets were handed to the kernel.
    public var sent = 0
    /// The bytes that were sent, without the headers of IP and UDP.
    public var bytesSent = 0

    /// Notes what was said of the packet that was to end after so many routers.
    mutating func take(_ fault: PacketFault, distance: Int, end: IPAddress) {
        guard let speaker = fault.speaker else { return }
        switch fault.kind {
        case .hopLimit:
            guard !hops.contains(where: { $0.distance == distance }) else { return }
            hops.append(HopAnswer(distance: distance, address: speaker))
            hops.sort { $0.distance < $1.distance }
        case .portClosed where speaker == end: isArrived = true
        case .unreachable where speaker != end: unreachableFrom = unreachableFrom ?? speaker
        case .portClosed, .unreachable, .tooBig, .other: break
        }
    }
}

/// Walks towards an address: a datagram that may pass no router, one that may pass one, and so on.
///
/// Twelve datagrams of 32 bytes, each from a socket of its own, so that what a router says belongs to one of them; no
/// privilege is needed. Confined to the loop's thread.
public final class HopWalk: Cancelable {
    public static let reach = 12
    private static let pace = Duration.milliseconds(30)
    /// The port that nobody listens on, of traceroute(8).
    private static let port: UInt16 = 33434

    private let loop: EventLoop
    private let address: ScopedAddress
    private let completion: (HopWalkResult) -> Void
    private var result = HopWalkResult()
    private var sockets: [ProbeSocket] = []
    private var timers: [EventLoop.Timer] = []
    private var lacks = false
    private var isOver = false

    /// Starts to walk.
    /// - Parameters:
    ///   - address: Where to.
    ///   - limit: How long answers are collected; it ends early when the end of the way answers.
    ///   - loop: Where it goes on.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        to address: ScopedAddress,
        limit: Duration = .milliseconds(1200),
        loop: EventLoop,
        completion: @escaping (HopWalkResult) -> Void
    ) {
        self.loop = loop
        self.address = address
        self.completion = completion
        let started = loop.clock.boot
        timers = (0..<Self.reach).map { number in
            loop.schedule(at: started + Self.pace * number) { [weak self] in self?.send(number + 1) }
        }
        timers.append(
            loop.scheduleSilence(after: limit) { [weak self] isStarved in
                self?.result.isStarved = isStarved || self?.lacks == true
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

    private func send(_ distance: Int) {
        guard !isOver else { return }
        result.sent += 1
        do throws(SocketFailure) {
            let socket = try ProbeSocket(.datagram, family: address.address.family, route: .init(), loop: loop)
            try socket.limitHops(to: distance)
            try socket.tellFaults()
            try socket.connect(to: SocketAddress(address, port: Self.port + UInt16(distance)))
            try socket.whenReady(.readable) { [weak self, weak socket] _ in
                if let socket { self?.hear(socket, distance) }
            }
            let bytes = [UInt8](repeating: 0x40, count: 32)
            try socket.send(bytes)
            result.bytesSent += bytes.count
            sockets.append(socket)
        } catch {
            if FailureClassifier.reason(of: error) == .blocked { result.refused += 1 }
            if FailureClassifier.shortage(error) != nil { lacks = true }
        }
    }

    private func hear(_ socket: ProbeSocket, _ distance: Int) {
        for _ in 0..<16 {
            guard let fault = socket.nextFault() else { break }
            result.take(fault, distance: distance, end: address.address)
        }
        // An error that is pending would call again at once.
        _ = socket.pendingError
        if result.isArrived { finish() }
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
        for socket in sockets { socket.close() }
        sockets = []
    }
}
