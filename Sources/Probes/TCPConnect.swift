// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Opens a TCP connection and closes it at once.
struct TCPConnect: Probe {
    private let address: SocketAddress
    private let route: ProbeRoute
    private(set) var result = ProbeResult(.failure(.timeout, detail: ""))

    init(to address: SocketAddress, route: ProbeRoute = ProbeRoute()) {
        self.address = address
        self.route = route
    }

    mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return [.open(.stream(to: address, route))]
        case .opened(_, let state):
            result = ProbeResult(.success)
            result.retransmissions = state.retransmissions
        case .failed(let failure, _, _): result = ProbeResult(FailureClassifier.outcome(of: failure, route: route))
        case .received, .fault, .fired, .timedOut: return []
        }
        return [.finish]
    }
}
