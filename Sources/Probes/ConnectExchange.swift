// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO

/// Opens a TCP connection and closes it at once.
final class ConnectExchange: ProbeExchange {
    private let address: SocketAddress
    private let route: ProbeRoute
    private let loop: EventLoop
    private var socket: ProbeSocket?

    init(to address: SocketAddress, route: ProbeRoute, loop: EventLoop) {
        self.address = address
        self.route = route
        self.loop = loop
    }

    func start(finish: @escaping (ProbeResult) -> Void) {
        do throws(SocketFailure) {
            let socket = try ProbeSocket(.stream, family: address.address.address.family, route: route, loop: loop)
            self.socket = socket
            try socket.connect(to: address)
            try socket.whenReady(.writable) { [weak self] _ in
                guard let socket = self?.socket else { return }
                guard let error = socket.pendingError else {
                    var result = ProbeResult(.success)
                    result.retransmissions = socket.retransmissions
                    return finish(result)
                }
                finish(ProbeResult(FailureClassifier.outcome(of: error, at: .connect)))
            }
        } catch {
            finish(ProbeResult(FailureClassifier.outcome(of: error.error, at: error.step, route: route)))
        }
    }

    func cancel() -> Int {
        socket?.close()
        socket = nil
        return 0
    }
}
