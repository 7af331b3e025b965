// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

/// The clock: up to three questions to each time server that is configured.
extension Examination {
    func askTime() {
        let servers = order.targets.timeServers.filter { facts.way($0.family)?.isOpen == true }
        guard !servers.isEmpty else { return }
        evidence.transport.timeAnswers = .known(false)
        evidence.application.clockOffset = .unknown(because: "no time server answers")
        for server in servers {
            send(.application) { done in
                TimeProbe(SocketAddress(ScopedAddress(server), port: 123), loop: loop) { [weak self] result in
                    self?.take(result, from: server)
                    done()
                }
            }
        }
    }

    private func take(_ result: TimeResult, from server: IPAddress) {
        count(sent: result.bytesSent, received: result.bytesReceived)
        count(server.family, attempts: result.sent, refused: result.refused)
        guard result.isAnswered else {
            if let shortage = result.shortage { evidence.shortage = shortage }
            let reason = result.shortage ?? (result.isStarved ? Starvation.text : nil)
            if let reason, evidence.transport.timeAnswers == .known(false) {
                evidence.transport.timeAnswers = .unknown(because: reason)
                evidence.application.clockOffset = .unknown(because: reason)
            }
            return
        }
        evidence.transport.timeAnswers = .known(true)
        guard let ahead = result.ahead else { return }
        // A server that agrees shows that the own clock is right; of several that do not, the nearest counts.
        guard let known = evidence.application.clockOffset.value, known.size <= ahead.size else {
            evidence.application.clockOffset = .known(ahead)
            return
        }
    }
}

extension Duration {
    fileprivate var size: Duration { self < .zero ? .zero - self : self }
}
