// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import LinuxIO

/// Something that goes on by itself on a loop and can be ended early.
public protocol Cancelable: AnyObject {
    /// Ends it without a result.
    func cancel()
}

/// Runs one probe: owns its sockets and timers, and counts its traffic.
///
/// Confined to the loop's thread.
package final class ProbeRunner<Result>: Cancelable {
    package typealias Completion = (Result, ProbeTraffic) -> Void

    private let loop: EventLoop
    private var probe: any Probe<Result>
    private var completion: Completion?
    private var sockets: [Int: ProbeSocket] = [:]
    private var timers: [Int: EventLoop.Timer] = [:]
    private(set) var traffic = ProbeTraffic()
    /// The local ports of sockets that received nothing yet.
    private var silentPorts: [Int: UInt16] = [:]
    private var isHandling = false
    private var queue: [ProbeEvent] = []

    /// The timer of the timeout, beside those that the probe numbers from 0.
    private static var timeout: Int { -1 }

    /// Starts a probe in the next iteration of the loop; the completion never runs before this call returns.
    package init(_ probe: any Probe<Result>, loop: EventLoop, completion: @escaping Completion) {
        self.loop = loop
        self.probe = probe
        self.completion = completion
        timers[Self.timeout] = loop.schedule(at: loop.clock.boot) { [weak self] in self?.handle(.started) }
    }

    /// Starts at once; the completion may run before this call returns.
    init(startingNow probe: any Probe<Result>, loop: EventLoop, completion: @escaping Completion) {
        self.loop = loop
        self.probe = probe
        self.completion = completion
        handle(.started)
    }

    deinit { release() }

    package func cancel() {
        completion = nil
        release()
    }

    var gap: String? { probe.gap }

    private func release() {
        for timer in timers.values { loop.cancel(timer) }
        timers = [:]
        for socket in sockets.values { socket.close() }
        sockets = [:]
    }

    /// Events that an action causes at once come after all actions of its event.
    private func handle(_ event: ProbeEvent) {
        queue.append(event)
        guard !isHandling else { return }
        isHandling = true
        defer { isHandling = false }
        while completion != nil, !queue.isEmpty {
            let now = ProbeTime(boot: loop.clock.boot, wall: loop.clock.wall.nanoseconds)
            for action in probe.handle(queue.removeFirst(), at: now) where completion != nil { perform(action) }
        }
    }

    private func perform(_ action: ProbeAction) {
        switch action {
        case .open(let kind, let number): open(kind, number)
        case .send(let bytes, let number):
            traffic.packets += 1
            send(bytes, number)
        case .resend(let bytes, let number): send(bytes, number)
        case .limitHops(let hops, let number): limitHops(hops, number)
        case .close(let number):
            silentPorts[number] = nil
            sockets.removeValue(forKey: number)?.close()
        case .schedule(let time, let number):
            replace(number, loop.schedule(at: time) { [weak self] in self?.fire(number) })
        case .timeout(let limit?):
            let timer = loop.scheduleTimeout(after: limit) { [weak self] in self?.handle(.timedOut(isDelayed: $0)) }
            replace(Self.timeout, timer)
        case .timeout(nil): replace(Self.timeout, nil)
        case .finish: finish()
        }
    }

    private func finish() {
        guard let completion else { return }
        self.completion = nil
        release()
        traffic.bytesReceived = probe.bytesReceived
        traffic.silentPorts = Set(silentPorts.values)
        completion(probe.result, traffic)
    }

    // MARK: - Timers

    private func replace(_ number: Int, _ timer: EventLoop.Timer?) {
        if let old = timers.removeValue(forKey: number) { loop.cancel(old) }
        timers[number] = timer
    }

    private func fire(_ number: Int) {
        timers[number] = nil
        handle(.fired(timer: number))
    }

    // MARK: - Sockets

    private func open(_ kind: ProbeSocketKind, _ number: Int) {
        sockets.removeValue(forKey: number)?.close()
        do throws(SocketFailure) {
            let socket = try ProbeSocket(kind, loop: loop)
            sockets[number] = socket
            silentPorts[number] = socket.port
            if kind.isStream {
                try socket.whenReady(.writable) { [weak self] _ in self?.connected(number) }
            } else {
                try read(from: socket, number)
            }
        } catch {
            fail(error, number, .open)
        }
    }

    private func connected(_ number: Int) {
        guard let socket = sockets[number] else { return }
        // Reading an ICMP error clears what is pending.
        let pending = socket.pendingError
        reportFaults(of: socket, number)
        silentPorts[number] = nil
        if let error = pending { return fail(SocketFailure(error: error, step: .answer), number, .open) }
        do throws(SocketFailure) {
            try read(from: socket, number)
        } catch {
            fail(error, number, .open)
        }
    }

    private func read(from socket: ProbeSocket, _ number: Int) throws(SocketFailure) {
        try socket.whenReady(.readable) { [weak self] _ in self?.receive(number) }
        handle(.opened(socket: number, socket.state))
    }

    private func fail(_ failure: SocketFailure, _ number: Int, _ use: SocketUse) {
        switch use {
        case .open: sockets.removeValue(forKey: number)?.close()
        case .send where FailureClassifier.reason(of: failure) == .blocked: traffic.refused += 1
        case .send, .receive: break
        }
        if let shortage = FailureClassifier.shortage(failure) { traffic.shortage = shortage }
        handle(.failed(failure, socket: number, use))
    }

    private func send(_ bytes: [UInt8], _ number: Int) {
        guard let socket = sockets[number] else { return }
        do throws(SocketFailure) {
            try socket.send(bytes)
            traffic.bytesSent += bytes.count
        } catch {
            // What a router said of a packet before is reported by the next send, which sends nothing then.
            reportFaults(of: socket, number)
            fail(error, number, .send(bytes))
        }
    }

    private func limitHops(_ hops: Int, _ number: Int) {
        do throws(SocketFailure) {
            try sockets[number]?.limitHops(hops)
        } catch {
            fail(error, number, .open)
        }
    }

    private func reportFaults(of socket: ProbeSocket, _ number: Int) {
        guard socket.kind.reportsFaults else { return }
        // What is left in the queue of errors would make the socket ready again at once.
        for _ in 0..<ProbeSocket.burst {
            guard let fault = socket.nextFault() else { return }
            handle(.fault(fault.error, fault.details, socket: number))
        }
    }

    private func receive(_ number: Int) {
        if let socket = sockets[number] { reportFaults(of: socket, number) }
        for _ in 0..<ProbeSocket.burst {
            guard let socket = sockets[number] else { return }
            do throws(SocketFailure) {
                guard let packet = try socket.receive() else { return }
                silentPorts[number] = nil
                handle(.received(packet, socket: number))
            } catch {
                return fail(error, number, .receive)
            }
        }
    }
}
