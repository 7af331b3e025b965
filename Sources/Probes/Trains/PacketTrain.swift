// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
public import LinuxIO

/// Something that goes on by itself on a loop and can be ended early.
public protocol Cancelable: AnyObject {
    /// Ends it without a result.
    func cancel()
}

extension ProbeAttempt: Cancelable {}
extension NeighborProbe: Cancelable {}

/// Sends packets at a steady pace to somebody who sends each back, and receives meanwhile.
///
/// It sends `count` packets of 64 bytes, and nothing twice. Confined to the loop's thread.
public final class PacketTrain: Cancelable {
    private let loop: EventLoop
    private let address: ScopedAddress
    private let route: ProbeRoute
    private let pace: Duration
    private let patience: Duration
    private let messages: TrainMessages
    private let completion: (TrainResult) -> Void
    private var record: TrainRecord
    private var result = TrainResult()
    private var socket: ProbeSocket?
    private var timer: EventLoop.Timer?
    private var isOver = false

    /// Starts a train.
    /// - Parameters:
    ///   - kind: What its packets are.
    ///   - address: Where they go.
    ///   - route: Which way they go.
    ///   - count: How many there are.
    ///   - pace: From one departure to the next.
    ///   - patience: How long the last one is waited for.
    ///   - loop: Where it goes on.
    ///   - completion: Takes the result, never before this call returns; early when all came back.
    public init(
        _ kind: TrainKind,
        to address: ScopedAddress,
        route: ProbeRoute = ProbeRoute(),
        count: Int,
        pace: Duration,
        patience: Duration,
        loop: EventLoop,
        completion: @escaping (TrainResult) -> Void
    ) {
        self.loop = loop
        self.address = address
        self.route = route
        self.pace = pace
        self.patience = patience
        self.completion = completion
        messages = TrainMessages(kind, family: address.address.family)
        record = TrainRecord(count: count)
        timer = loop.schedule(at: loop.clock.boot) { [weak self] in self?.open() }
    }

    deinit { release() }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        release()
    }

    private func open() {
        do throws(SocketFailure) {
            let family = address.address.family
            let socket = try ProbeSocket.make(for: messages.kind, family: family, route: route, loop: loop)
            self.socket = socket
            let port: UInt16 = if case .datagram(let port) = messages.kind { port } else { 0 }
            if socket.kind == .datagram { try socket.tellFaults() }
            if let source = route.source { try socket.bind(to: source) }
            try socket.connect(to: SocketAddress(address, port: port))
            try socket.whenReady(.readable) { [weak self] _ in self?.receive() }
        } catch {
            switch FailureClassifier.outcome(of: error.error, at: error.step, route: route) {
            case .notAssessed(let advice): result.advice = advice
            case .failure(let reason, let detail):
                result.failure = reason
                if reason == .resources { result.advice = detail }
            case .success: break
            }
            return finish()
        }
        send(due: loop.clock.boot)
    }

    private func send(due: Duration) {
        timer = nil
        guard let number = record.next, let socket, !isOver else { return }
        let bytes = messages.request(number)
        record.depart(at: loop.clock.boot)
        result.sent += 1
        do throws(SocketFailure) {
            do throws(SocketFailure) {
                try socket.send(bytes)
            } catch  where FailureClassifier.reason(of: error) != .blocked {
                // What a router said of a packet before is told by the next send, which sends nothing then.
                try socket.send(bytes)
            }
            result.bytesSent += bytes.count
        } catch {
            note(error)
        }
        if record.next == nil {
            timer = loop.scheduleSilence(after: patience) { [weak self] in self?.finish(isStarved: $0) }
        } else {
            let next = due + pace
            timer = loop.schedule(at: next) { [weak self] in self?.send(due: next) }
        }
    }

    private func note(_ failure: SocketFailure) {
        let reason = FailureClassifier.reason(of: failure)
        if let shortage = FailureClassifier.shortage(failure) { result.advice = shortage }
        if reason == .blocked { result.refused += 1 }
        result.failure = reason
    }

    private func receive() {
        // What is left in the queue of errors would call again at once.
        while result.faults.count < 16, let fault = socket?.nextFault() { result.faults.insert(fault) }
        for _ in 0..<ProbeSocket.burst {
            guard let socket, !isOver else { break }
            do throws(SocketFailure) {
                guard let arrival = try socket.receive(upTo: 2048) else { break }
                let awaited = record.outstanding
                guard
                    let number = messages.number(
                        of: arrival.bytes.span,
                        isRaw: socket.kind == .rawEcho,
                        awaited: awaited
                    ),
                    record.arrive(number, at: loop.clock.boot - arrival.age)
                else { continue }
                result.bytesReceived += EchoMessage.length
            } catch {
                note(error)
                break
            }
        }
        if record.isComplete { finish() }
    }

    private func finish(isStarved: Bool = false) {
        guard !isOver else { return }
        isOver = true
        release()
        result.durations = record.durations
        if isStarved && !record.isComplete { result.advice = Starvation.text }
        if !result.durations.isEmpty { result.failure = nil }
        completion(result)
    }

    private func release() {
        if let timer { loop.cancel(timer) }
        timer = nil
        socket?.close()
        socket = nil
    }
}
