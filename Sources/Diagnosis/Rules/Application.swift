// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func applicationFaults(_ evidence: Evidence) -> [Verdict] {
        let clock = skew(evidence.application)
        let chains = interception(evidence.application, isClockWrong: clock?.severity == .degraded)
        return [clock, chains].compactMap(\.self) + targets(evidence)
    }

    private func skew(_ application: ApplicationEvidence) -> Verdict? {
        guard let offset = application.clockOffset.value else { return nil }
        let size = offset < .zero ? .zero - offset : offset
        guard size > .seconds(1) else { return nil }
        return Verdict(
            .clockSkew,
            size > .seconds(5) ? .degraded : .warning,
            say: "the clock of this machine is \(Figures.text(size)) \(offset < .zero ? "slow" : "fast")",
            action: "`timedatectl set-ntp true`, or check the time service: certificates depend on it",
            evidence: [.init("offset_seconds", Figures.tenths(offset / .seconds(1)))]
        )
    }

    /// Certificates that fail everywhere are replaced on the path, unless the own clock is wrong.
    private func interception(_ application: ApplicationEvidence, isClockWrong: Bool) -> Verdict? {
        let failures = application.certificates.compactMap(\.failure)
        guard let failure = failures.first, failures.count == application.certificates.count else { return nil }
        if isClockWrong && application.certificates.allSatisfy(\.isAboutTime) { return nil }
        let issuer = application.certificates.lazy.compactMap(\.issuer).first
        return Verdict(
            .tlsIntercepted,
            .broken,
            failures.count > 1 ? .likely : .possible,
            say: "the TLS certificates of all tested hosts fail to verify: \(failure)"
                + (issuer.map { ", issued by \($0)" } ?? ""),
            action: "check for a proxy that intercepts TLS, and decide whether to trust its certificate authority"
        )
    }

    /// One that is down while another one of its family works is down itself.
    private func targets(_ evidence: Evidence) -> [Verdict] {
        // The destination has rules of its own.
        let own = Set((evidence.destination?.paths ?? []).map(\.address.address))
        let dead = evidence.reach.filter { $0.isAlive == true }.flatMap { reach in
            reach.anchors.filter { $0.isReachable == false && !own.contains($0.address) }
                .map { (family: reach.family, anchor: $0) }
        }
        let closed = evidence.reach.flatMap { reach in
            let isUsed = reach.anchors.contains { $0.ports.values.contains(.connected) }
            return reach.anchors.filter { anchor in
                isUsed && !own.contains(anchor.address) && anchor.isReachable == true && !anchor.ports.isEmpty
                    && anchor.ports.values.allSatisfy { $0 == .silent || $0 == .refused }
            }.map { (family: reach.family, anchor: $0) }
        }
        var names: [String] = []
        for entry in dead where !names.contains(entry.anchor.name) { names.append(entry.anchor.name) }
        return names.map { name in
            let entries = dead.filter { $0.anchor.name == name }
            return Verdict(
                .targetDown,
                .warning,
                family: entries.count == 1 ? entries.first?.family : nil,
                about: name,
                say: "\(name) (\(Figures.list(entries.map { "\($0.anchor.address)" }))) does not answer; others do",
                action: "contact the operator of \(name)",
                evidence: [.init("target", name)]
            )
        } + refusals(closed.filter { !names.contains($0.anchor.name) })
    }

    /// Hosts that are there and accept no connection, while others do.
    private func refusals(_ closed: [(family: AddressFamily, anchor: ReachEvidence.Anchor)]) -> [Verdict] {
        var names: [String] = []
        for entry in closed where !names.contains(entry.anchor.name) { names.append(entry.anchor.name) }
        return names.map { name in
            let entries = closed.filter { $0.anchor.name == name }
            let ports = Set(entries.flatMap(\.anchor.ports.keys)).sorted().map { "\($0)" }
            return Verdict(
                .targetDown,
                .warning,
                family: entries.count == 1 ? entries.first?.family : nil,
                about: name,
                say:
                    "\(name) (\(Figures.list(entries.map { "\($0.anchor.address)" }))) answers, but accepts no connection to "
                    + "TCP port \(Figures.list(ports)); others do",
                action: "contact the operator of \(name)",
                evidence: [.init("target", name)]
            )
        }
    }
}
