// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing
package import Probes

/// What answered probes of the service recently, which an examination therefore does not query again.
///
/// Successes only: what failed is tested once more, since a single failure may be a lost packet.
package struct RecentAnswers: Sendable {
    /// How old an answer may be.
    package static let validity = Duration.seconds(2)

    private var echoes: [IPAddress: Duration] = [:]
    private var connections: Set<SocketAddress> = []
    /// Whether a name server answered.
    package private(set) var hasNames = false

    /// No answer.
    package init() {}

    /// Reads the states of probes whose runs began since a time since boot; those with a route of their own do not count.
    package init(_ states: [ProbeState], since start: Duration) {
        for state in states where state.definition.route == ProbeRoute() {
            guard let result = state.last, result.isSuccess, let began = state.lastStart, began >= start
            else { continue }
            if state.definition.method == .dns { hasNames = true }
            guard let address = result.address else { continue }
            switch (state.definition.method, state.definition.target) {
            case (.icmp, _): echoes[address.address] = result.duration
            case (.tcp, .host(_, let port?)): connections.insert(SocketAddress(address, port: port))
            case (.tcp, _), (.http, _), (.dns, _): continue
            }
        }
    }

    /// The round trip of an echo; `nil` where none was answered.
    func echo(of address: IPAddress) -> Duration? { echoes[address] }

    func isConnected(to address: SocketAddress) -> Bool { connections.contains(address) }

    /// Whether anything of an address answered.
    package func isAnswered(by address: IPAddress) -> Bool {
        echoes[address] != nil || connections.contains { $0.address.address == address }
    }
}
