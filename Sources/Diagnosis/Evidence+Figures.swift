// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension Evidence {
    /// What was measured at a layer where nothing is wrong; seconds, bytes and percent by the ends of the names.
    func figures(at layer: Layer) -> [Verdict.Fact] {
        switch layer {
        case .link: links.first.map { [.init("mtu", $0.mtu)] } ?? []
        case .gateway: Self.roundTrip(performance.gateway.map { [$0] } ?? [])
        case .wan:
            [
                .init("answering", reach.flatMap(\.anchors).count { $0.isReachable == true }),
                .init("asked", reach.flatMap(\.anchors).count { $0.isReachable != nil }),
            ]
        case .dns:
            (dns.value ?? []).compactMap(\.latency).min().map { [.init("answer_seconds", Self.seconds($0))] } ?? []
        case .transport: transport.packetSizes.map(\.largest).min().map { [.init("largest_bytes", $0)] } ?? []
        case .application:
            application.clockOffset.value.map { [.init("offset_seconds", Self.seconds($0))] } ?? []
        case .performance:
            Self.roundTrip(performance.anchors)
                + (performance.anchors.map(\.loss).min().map { [.init("loss_percent", Figures.tenths($0))] } ?? [])
        case .address, .local, .captive, .resolve, .route, .reach, .tcp, .tls, .http, .websocket: []
        }
    }

    private static func roundTrip(_ trains: [PerformanceEvidence.Train]) -> [Verdict.Fact] {
        trains.filter { $0.received > 0 }.map(\.median).min().map { [.init("round_trip_seconds", seconds($0))] } ?? []
    }

    private static func seconds(_ duration: Duration) -> Double { (duration / .microseconds(1)).rounded() / 1e6 }
}
