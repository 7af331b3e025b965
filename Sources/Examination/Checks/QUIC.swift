// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

extension Check {
    /// Whether QUIC passes: two datagrams to UDP port 443 of each of two anchors whose HTTPS server offers HTTP/3, or that
    /// send datagrams back.
    static let quic = Check(.depth) { $0.queryQUIC() }
}

extension ExaminationState {
    private static let port: UInt16 = 443

    fileprivate mutating func queryQUIC() {
        // Where some flows are lost, one of QUIC says nothing.
        guard !evidence.queries.contains(where: { 0 < $0.answered && $0.answered < $0.flows }) else { return }
        let anchors = evidence.reach.flatMap { reach in
            reach.isAlive == true ? reach.anchors.filter { $0.isReachable == true } : []
        }
        let offering = anchors.filter { quicAnchors.contains($0.name) }
        let candidates = offering.isEmpty ? anchors.filter { $0.datagrams.value == true } : offering
        var names: Set<String> = []
        for anchor in candidates.filter({ names.insert($0.name).inserted }).prefix(2) {
            let probe = QUICProbe(SocketAddress(ScopedAddress(anchor.address), port: Self.port))
            let isOffered = quicAnchors.contains(anchor.name)
            run(.transport, probe) { state, result, _ in
                guard result != .notAssessed else { return }
                state.evidence.transport.quic.append(
                    .init(anchor: anchor.name, isOffered: isOffered, isSilent: result == .silent)
                )
            }
        }
    }
}
