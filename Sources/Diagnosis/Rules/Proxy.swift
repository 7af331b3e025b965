// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension RuleEvaluator {
    /// Programs that use the environment's proxy get nowhere without it.
    func proxyFaults(_ evidence: Evidence) -> [Verdict] {
        var found: [Verdict] = []
        let working = Set(evidence.proxies.filter { $0.failure == nil }.map(\.name))
        let failed = evidence.proxies.filter { $0.failure != nil && !working.contains($0.name) }
        for proxy in failed where !found.contains(where: { $0.subject == proxy.name }) {
            // One that several variables name is one fault.
            let variables = Figures.list(failed.filter { $0.name == proxy.name }.map(\.variable))
            let (failure, name) = (proxy.failure ?? "", "\(proxy.name) (\(variables))")
            found.append(
                Verdict(
                    proxy.isReached ? .proxyFailing : .proxyUnreachable,
                    .broken,
                    about: proxy.name,
                    say: proxy.isReached
                        ? "\(name) accepts connections but gets no answer of \(proxy.host): \(failure)"
                        : "\(name) does not answer: \(failure)",
                    action: proxy.isReached
                        ? "check the log of the proxy: it gets no answer, or wants a password"
                        : "start the proxy, or correct \(variables); unset it where no proxy is needed",
                    domain: proxy.domain
                )
            )
        }
        return found
    }

    /// Where requests through the proxy are answered, connections that go around it may be forbidden.
    func withoutDirectPath(_ found: [Verdict], _ evidence: Evidence) -> [Verdict] {
        // A destination that is reached around the proxy is none of its business.
        guard let proxy = evidence.proxies.first, evidence.proxies.allSatisfy({ $0.failure == nil }),
            evidence.destination.map({ $0.proxy != nil }) ?? true,
            !evidence.reach.flatMap(\.anchors).contains(where: { $0.ports.values.contains(.connected) })
        else { return found }
        let rest = found.filter { !Self.direct.contains($0.code) }
        guard rest.count < found.count else { return found }
        return rest + [
            Verdict(
                .proxyRequired,
                .info,
                say:
                    "the web is reached through \(proxy.name) (\(proxy.variable)) only: direct connections are dropped",
                action: "nothing; programs need \(proxy.variable)"
            )
        ]
    }

    private static let direct: Set<VerdictCode> = [
        .wanDown, .gatewayBlocksHost, .upstreamBlackhole, .transportPortBlocked, .transportPortReset,
        .transportUDPBlocked, .transportTCPBlocked, .transportTLSBlocked, .transportQUICBlocked, .dnsTCPBlocked,
        .targetDown,
    ]
}
