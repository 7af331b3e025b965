// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

extension Check {
    /// The proxies of the environment, as programs use them: a page of an anchor by HTTPS and one by HTTP.
    static let proxies = Check(.network) { $0.requestThroughProxies() }
}

extension ExaminationState {
    private static let limit = Duration.milliseconds(2500)

    fileprivate mutating func requestThroughProxies() {
        // The request to a destination may have shown it; one that got no answer may be the destination's fault.
        guard order.usesProxy, evidence.proxies.allSatisfy({ $0.isReached && $0.failure != nil }) else { return }
        guard let anchor = order.targets.anchors.first(where: { $0.host != nil }) else { return }
        for isSecure in anchor.hasPage ? [true, false] : [true] {
            guard var definition = page(of: anchor, .ipv4, isSecure: isSecure) else { continue }
            definition.throughProxy(limit: Self.limit)
            attempt(.application, definition) { state, result in
                // Any answer over a verified connection is the server's own.
                let isAnswered = isSecure ? result.page != nil : result.isSuccess
                state.record(result, of: anchor.host ?? anchor.name, isAnswered: isAnswered)
            }
        }
    }

    /// Records what became of a request through a proxy; nothing where the environment names none for the URL.
    mutating func record(_ result: ProbeResult, of host: String, isAnswered: Bool) {
        guard let proxy = result.proxy, result.gap == nil else { return }
        var failure = "no answer in time"
        if case .failure(let reason, let detail) = result.outcome, reason != .timeout { failure = detail }
        var found = ProxyEvidence(
            proxy.variable,
            proxy.url,
            host: host,
            isReached: result.isConnected,
            failure: isAnswered ? nil : failure
        )
        found.domain = proxy.address.map { domain(of: $0) }
        evidence.proxies.append(found)
    }

    private func domain(of address: IPAddress) -> FaultDomain {
        if evidence.gateways.contains(where: { $0.address == address }) { return .gateway }
        return address.isLoopback || isOnLink(address) ? .host : .remote
    }
}

extension ProbeDefinition {
    /// Makes it use the proxy of the environment, which looks up the name.
    mutating func throughProxy(limit: Duration) {
        page.usesProxy = true
        page.limit = limit
        timeout = limit + .milliseconds(500)
        (family, address) = (nil, nil)
    }
}
