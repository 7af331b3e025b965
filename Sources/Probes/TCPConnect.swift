// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Opens a TCP connection and closes it at once.
package struct TCPConnect: Probe {
    private let address: SocketAddress
    private let route: ProbeRoute
    private let limit: Duration?
    package private(set) var result = ProbeResult(.failure(.timeout, detail: ""))

    /// Without a `limit` it ends when the kernel gives up.
    package init(to address: SocketAddress, route: ProbeRoute = ProbeRoute(), limit: Duration? = nil) {
        self.address = address
        self.route = route
        self.limit = limit
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return (limit.map { [.timeout(after: $0)] } ?? []) + [.open(.stream(to: address, route))]
        case .opened(_, let state):
            result = ProbeResult(.success)
            result.retransmissions = state.retransmissions
        case .failed(let failure, _, _): result = ProbeResult(FailureClassifier.outcome(of: failure, route: route))
        case .timedOut(isDelayed: true): result = ProbeResult(.notAssessed(advice: SchedulingDelay.text))
        case .timedOut: break
        case .received, .fault, .fired: return []
        }
        return [.finish]
    }
}
