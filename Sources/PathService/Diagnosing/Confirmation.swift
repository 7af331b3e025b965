// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Examination
internal import LinuxIO
internal import PathModel
internal import Probes

/// Repeats the cheapest tests of an examination that found nothing wrong: one packet by each family, and one query.
///
/// Confined to the daemon's loop.
final class Confirmation {
    private var attempts: [ProbeAttempt] = []
    private var results: [ProbeResult] = []

    /// Starts at least one attempt; `completion` receives once whether all were answered, and never after ``cancel()``.
    init(_ definitions: [ProbeDefinition], loop: EventLoop, pages: PageClient, completion: @escaping (Bool) -> Void) {
        attempts = definitions.map { definition in
            ProbeAttempt(definition, context: ProbeContext(), loop: loop, pages: pages) { [weak self] result in
                guard let self else { return }
                results.append(result)
                if results.count == definitions.count { completion(results.allSatisfy(\.isSuccess)) }
            }
        }
    }

    func cancel() {
        for attempt in attempts { attempt.cancel() }
    }

    /// What is to be sent: nothing where a probe of the service got an answer.
    /// - Parameters:
    ///   - evidence: What the examination found.
    ///   - servers: The name servers, as the standard tests query them.
    ///   - recent: What answered since the last confirmation.
    /// - Returns: The attempts to make.
    static func definitions(
        _ evidence: Evidence,
        servers: [ProbeDefinition],
        recent: RecentAnswers
    ) -> [ProbeDefinition] {
        let hosts = evidence.reach.compactMap { reach -> ProbeDefinition? in
            guard !reach.anchors.contains(where: { recent.isAnswered(by: $0.address) }) else { return nil }
            return reach.anchors.lazy.compactMap(\.confirmation).first
        }
        return hosts + (recent.hasNames ? [] : servers.prefix(1))
    }
}

extension ReachEvidence.Anchor {
    /// One echo request, or a connection to a port; `nil` where it answered neither.
    fileprivate var confirmation: ProbeDefinition? {
        let host = ProbeHost.address(ScopedAddress(address))
        if echo.value == true { return ProbeDefinition(name: name, method: .icmp, target: .host(host, port: nil)) }
        guard let port = ports.filter({ $0.value == .connected }).keys.min() else { return nil }
        return ProbeDefinition(name: name, method: .tcp, target: .host(host, port: port))
    }
}
