// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension Evidence {
    /// Why nothing can be said of a layer; `nil` when something was found out.
    func gap(at layer: Layer) -> String? {
        switch layer {
        case .link: return nil
        case .address: return links.contains(where: \.isUsable) ? nil : "no link"
        case .local:
            let tried = sending.contains { $0.route.value != nil || $0.attempts > 0 }
            return tried ? nil : sending.lazy.compactMap(\.route.reason).first ?? Self.notAsked
        case .gateway:
            guard !gateways.isEmpty else { return "the path has no gateway" }
            let tested = gateways.contains { $0.hardwareAddresses.value != nil || $0.answersEcho.value != nil }
            return tested ? nil : gateways[0].hardwareAddresses.reason
        case .captive:
            return portal.api.value != nil || !portal.checks.isEmpty ? nil : gaps[.captive] ?? portal.api.reason
        case .wan:
            let isShown = traffic.contains { $0.isBeyond && $0.destination == nil }
            return isShown || reach.contains { $0.isAlive != nil } ? nil : gaps[.wan] ?? Self.noTargets
        case .dns:
            guard let servers = dns.value else { return dns.reason }
            return servers.isEmpty || servers.contains { $0.isAlive != nil } ? nil : gaps[.dns] ?? Self.notAsked
        case .transport:
            let tested = reach.flatMap(\.anchors).contains { !$0.ports.isEmpty || $0.datagrams.value != nil }
            return tested || !transport.packetSizes.isEmpty ? nil : gaps[.transport] ?? Self.noTargets
        case .application:
            let tested = !application.certificates.isEmpty || application.clockOffset.value != nil
            return tested ? nil : gaps[.application] ?? Self.noTargets
        case .performance:
            if let gap = performance.loadGap { return gap }
            let tested = !performance.anchors.isEmpty || performance.gateway != nil || performance.load != nil
            return tested ? nil : gaps[.performance] ?? Self.notAsked
        case .resolve, .route, .reach, .tcp, .tls, .http, .websocket:
            return destination?.isSound(layer) == true ? nil : destination?.gaps[layer] ?? gaps[layer] ?? Self.notAsked
        }
    }

    private static let notAsked = "not tested"
    private static let noTargets = "no targets are configured"
}
