// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO

/// Sends one echo request and waits for its reply.
final class EchoExchange: ProbeExchange {
    private let address: ScopedAddress
    private let route: ProbeRoute
    private let loop: EventLoop
    private let message: EchoMessage
    private var socket: ProbeSocket?
    private var finish: (ProbeResult) -> Void = { _ in }
    private var sent = 0

    init(to address: ScopedAddress, route: ProbeRoute, loop: EventLoop) {
        self.address = address
        self.route = route
        self.loop = loop
        message = EchoMessage(
            family: address.address.family,
            identifier: .random(in: .min ... .max),
            sequence: .random(in: .min ... .max),
            token: (0..<16).map { _ in .random(in: .min ... .max) }
        )
    }

    func start(finish: @escaping (ProbeResult) -> Void) {
        self.finish = finish
        do throws(SocketFailure) {
            let family = address.address.family
            let socket = try ProbeSocket.forEcho(family: family, route: route, loop: loop)
            self.socket = socket
            try socket.connect(to: SocketAddress(address, port: 0))
            try socket.whenReady(.readable) { [weak self] _ in self?.receive() }
            try socket.send(message.request)
            sent = EchoMessage.length
        } catch {
            finish(ProbeResult(FailureClassifier.outcome(of: error.error, at: error.step, route: route), sent: sent))
        }
    }

    private func receive() {
        do throws(SocketFailure) {
            for _ in 0..<ProbeSocket.burst {
                guard let socket, let arrival = try socket.receive(upTo: 2048) else { return }
                guard message.isAnswered(by: arrival.bytes.span, isRaw: socket.kind == .rawEcho) else { continue }
                var result = ProbeResult(.success, sent: sent, received: received(arrival.bytes, socket))
                result.hopLimit = arrival.hopLimit
                result.lateness = arrival.age
                return finish(result)
            }
        } catch {
            finish(ProbeResult(FailureClassifier.outcome(of: error.error, at: error.step, route: route), sent: sent))
        }
    }

    /// The bytes of ICMP, without the header that a raw IPv4 socket shows.
    private func received(_ bytes: [UInt8], _ socket: ProbeSocket) -> Int {
        guard socket.kind == .rawEcho, address.address.family == .ipv4 else { return bytes.count }
        return bytes.count - Int(bytes[0] & 0xF) * 4
    }

    func cancel() -> Int {
        socket?.close()
        socket = nil
        return sent
    }
}
