// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

extension Check {
    /// The clock: up to three queries to each time server that is configured.
    static let time = Check(.network) { $0.queryTime() }
}

extension ExaminationState {
    fileprivate mutating func queryTime() {
        let servers = order.targets.timeServers.filter { facts.route($0.family)?.isOpen == true }
        guard !servers.isEmpty else { return }
        evidence.transport.timeAnswers = .known(false)
        evidence.application.clockOffset = .unknown(because: "no time server answers")
        for server in servers {
            let probe = NTPProbe(SocketAddress(ScopedAddress(server), port: 123))
            run(.application, probe, family: server.family) { $0.record($1, $2) }
        }
    }

    private mutating func record(_ result: NTPResult, _ traffic: ProbeTraffic) {
        guard result.isAnswered else {
            if let shortage = traffic.shortage { evidence.shortage = shortage }
            let reason = traffic.shortage ?? (result.isDelayed ? SchedulingDelay.text : nil)
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
