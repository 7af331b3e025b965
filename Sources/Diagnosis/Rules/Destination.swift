// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    /// What keeps a destination from being reached: the first step that fails, and addresses of which others work.
    func destinationFaults(_ evidence: Evidence) -> [Verdict] {
        guard let destination = evidence.destination else { return [] }
        guard destination.proxy == nil else { return [exchangeFault(destination)].compactMap(\.self) }
        if let fault = lookupFault(destination) ?? routeFault(destination) { return [fault] }
        let others = evidence.isNetworkExamined && evidence.reach.contains { $0.isAlive == true }
        func counted(_ fault: Verdict?, _ paths: [DestinationEvidence.Path]) -> Verdict? {
            guard var fault, Self.unanswered.contains(fault.code) else { return fault }
            let addresses = Set(paths.map(\.address.address))
            let flows = evidence.queries.filter { $0.target == .destination && addresses.contains($0.address) }
            fault.unanswered = flows.map(\.flows).reduce(1, +)
            return fault
        }
        if let fault = reachFault(destination, doOthersAnswer: others) {
            return [counted(fault, destination.paths) ?? fault]
        }
        let dead = destination.paths.filter { destination.works($0) == false }
        let last = portFault(destination) ?? exchangeFault(destination)
        return [counted(last, destination.paths), counted(partialFault(destination), dead)].compactMap(\.self)
    }

    /// Those that rest on queries without an answer.
    private static let unanswered: Set<VerdictCode> = [
        .destinationSilent, .destinationPortSilent, .destinationPartlySilent,
    ]

    // MARK: - Finding it

    private func lookupFault(_ destination: DestinationEvidence) -> Verdict? {
        let host = destination.host
        switch destination.lookup?.value {
        case .noSuchName:
            return Verdict(
                .destinationNoSuchName,
                .broken,
                about: host,
                say: "there is no host named \(host)",
                action: "check the spelling, or contact the operator of the domain"
            )
        case .noAddress:
            return Verdict(
                .destinationNoAddress,
                .broken,
                about: host,
                say: "the name \(host) has no address",
                action: "check the spelling, or ask the operator of the domain to add an A or AAAA record"
            )
        case .failed(let text):
            return Verdict(
                .destinationUnresolved,
                .broken,
                .likely,
                about: host,
                say: "the name \(host) could not be looked up: \(text)",
                action: "contact the operator of the name servers of \(host); `nwpath dns` shows those of this machine"
            )
        case .found, nil: return nil
        }
    }

    /// A route for one of the addresses is enough: many machines have no IPv6.
    private func routeFault(_ destination: DestinationEvidence) -> Verdict? {
        let tested = destination.paths.filter { $0.route.value != nil }
        guard let first = tested.first, !tested.contains(where: \.isRouted) else { return nil }
        let names = Figures.list(tested.map { "\($0.address)" })
        let family = tested.allSatisfy { $0.family == first.family } ? first.family : nil
        for path in tested {
            guard case .discarded(let type, let text)? = path.route.value else { continue }
            return Verdict(
                .destinationDiscarded,
                .broken,
                family: family,
                about: destination.host,
                say: "the \(path.family.name) route `\(text)` discards packets to \(destination.host) (\(type))",
                action: "`\(path.family.command) route del \(text)`",
                evidence: [.init("route", text)]
            )
        }
        return Verdict(
            .destinationNoRoute,
            .broken,
            family: family,
            about: destination.host,
            say: "there is no route to \(destination.host)" + (names == destination.host ? "" : " (\(names))"),
            action: "`\(first.family.command) route get \(first.address.address)`, then add a route or a default route"
        )
    }

    // MARK: - Reaching it

    private func reachFault(_ destination: DestinationEvidence, doOthersAnswer: Bool) -> Verdict? {
        let tested = destination.paths.filter { $0.isReachable != nil }
        guard let first = tested.first, tested.allSatisfy({ $0.isReachable == false }) else { return nil }
        let family = tested.allSatisfy { $0.family == first.family } ? first.family : nil
        let host = destination.named(tested)
        if let obstacle = first.obstacle, tested.allSatisfy({ $0.obstacle != nil }) {
            return obstructed(destination, host, obstacle, family)
        }
        if tested.allSatisfy(\.isRefused) {
            return Verdict(
                .destinationBlocked,
                .broken,
                family: family,
                about: destination.host,
                say: "a local firewall rule drops packets to \(host)",
                action: "`nft list ruleset`: check the output hook"
            )
        }
        if !destination.isNear, let speaker = tested.lazy.compactMap(\.unreachableFrom).first {
            return Verdict(
                .destinationUnreachable,
                .broken,
                family: family,
                about: destination.host,
                say: "\(speaker) reports that \(host) is unreachable",
                action: "contact the operator of \(speaker), or \(destination.host) itself",
                evidence: [.init("speaker", "\(speaker)")]
            )
        }
        let location = destination.isNear ? " on the local link" : ""
        let command = "`nwpath diagnose \(destination.host):PORT`"
        let hint = destination.service == .host ? "; \(command) tests a port that matters" : ""
        return Verdict(
            .destinationSilent,
            .broken,
            destination.service == .host ? .possible : .likely,
            family: family,
            about: destination.host,
            say: "no reply comes from \(host)\(location)" + (doOthersAnswer ? "; other hosts do answer" : ""),
            action: destination.isNear
                ? "check that \(destination.host) is on, and that its address is correct"
                : "contact the operator of \(destination.host): it is down, or a filter drops packets to it\(hint)"
        )
    }

    private func obstructed(
        _ destination: DestinationEvidence,
        _ host: String,
        _ obstacle: LocalObstacle,
        _ family: AddressFamily?
    ) -> Verdict {
        let isReturned = obstacle.kind == .inputFilter || obstacle.kind == .reversePath
        return Verdict(
            .destinationBlocked,
            .broken,
            family: family,
            about: destination.host,
            say: isReturned
                ? "replies from \(host) arrive, and \(obstacle.text) drops them"
                : "\(obstacle.text) drops packets to \(host), before they leave this machine",
            action: obstacle.hint ?? "`nwpath why \(destination.host)`"
        )
    }

    /// Programs try one address after another: one that is dead costs time, even where another one works.
    private func partialFault(_ destination: DestinationEvidence) -> Verdict? {
        let tested = destination.paths.filter { destination.works($0) != nil }
        let dead = tested.filter { destination.works($0) == false }
        guard let first = dead.first, let alive = tested.first(where: { destination.works($0) == true }) else {
            return nil
        }
        let isWhole = dead.allSatisfy { $0.family == first.family } && alive.family != first.family
        if let obstacle = first.obstacle, dead.allSatisfy({ $0.obstacle != nil }) {
            var fault = obstructed(destination, destination.named(dead), obstacle, isWhole ? first.family : nil)
            fault.severity = .degraded
            return fault
        }
        let fate = dead.allSatisfy { $0.connection.value == .refused } ? "refuses connections" : "does not answer"
        let names = Figures.list(dead.map { "\($0.address)" })
        return Verdict(
            .destinationPartlySilent,
            .degraded,
            .likely,
            family: isWhole ? first.family : nil,
            about: destination.host,
            say: "\(destination.host) \(fate) at \(names); it works at \(alive.address)",
            action: "contact the operator of \(destination.host): its name has an address that does not work",
            evidence: [.init("addresses", dead.map { "\($0.address)" }.joined(separator: " "))]
        )
    }

    private func portFault(_ destination: DestinationEvidence) -> Verdict? {
        guard destination.service != .host, let port = destination.port else { return nil }
        let tested = destination.paths.filter { $0.connection.value != nil }
        guard !tested.isEmpty, !tested.contains(where: { $0.connection.value == .connected }) else { return nil }
        let families = Set(tested.map(\.family))
        let family = families.count == 1 ? families.first : nil
        if let obstacle = tested.first?.obstacle, tested.allSatisfy({ $0.obstacle != nil }) {
            return obstructed(destination, destination.named(tested), obstacle, family)
        }
        guard tested.contains(where: { $0.connection.value == .refused }) else {
            return Verdict(
                .destinationPortSilent,
                .broken,
                .likely,
                family: family,
                about: port,
                say: "\(destination.named(tested)) answers ping but drops connections to TCP port \(port)",
                action: "ask the operator of \(destination.host), or of the firewall in front of it, "
                    + "to open TCP port \(port)",
                evidence: [.init("port", Int(port))]
            )
        }
        return Verdict(
            .destinationPortClosed,
            .broken,
            family: family,
            about: port,
            say: "TCP port \(port) of \(destination.named(tested)) is closed; the host is up",
            action: "start the service at \(destination.host), or check the port number",
            evidence: [.init("port", Int(port))]
        )
    }

    // MARK: - Its answer

    private func exchangeFault(_ destination: DestinationEvidence) -> Verdict? {
        let text = destination.text
        switch destination.exchange.value {
        case .untrusted(let detail, let isAboutTime):
            return Verdict(
                isAboutTime ? .destinationCertificateDates : .destinationCertificate,
                .broken,
                about: destination.host,
                say: "the certificate of \(destination.host) "
                    + (isAboutTime ? "is out of date: " : "does not verify: ") + detail,
                action: isAboutTime
                    ? "ask the operator of \(destination.host) to renew it, and check the clock of this machine"
                    : "check the name, or ask the operator of \(destination.host) for a certificate of a trusted authority"
            )
        case .unencrypted(let detail):
            return Verdict(
                .destinationTLS,
                .broken,
                about: destination.host,
                say: "no encrypted connection to \(destination.host) can be made: \(detail)",
                action: "check that port \(destination.port ?? 443) of \(destination.host) uses TLS"
            )
        case .unanswered(let detail):
            return Verdict(
                .destinationNoAnswer,
                .broken,
                about: destination.host,
                say: destination.proxy.map { "\($0) gets no response of \(destination.host): \(detail)" }
                    ?? "\(destination.host) accepts connections but sends no HTTP response: \(detail)",
                action: "check the service at \(destination.host): it hangs, or uses another protocol"
            )
        case .stalled(let status, let read, let length):
            return Verdict(
                .destinationStalled,
                .broken,
                .likely,
                about: destination.host,
                say: "\(text) returns status \(status), but its body stops after \(read) of \(length) bytes",
                action: "check the service at \(destination.host): it stops in the middle of a response",
                evidence: [.init("received_bytes", read), .init("length", length)]
            )
        case .answered(let status, let location, let isUpgraded):
            if case .webSocket = destination.service { return isUpgraded ? nil : refusal(destination, status) }
            guard status >= 400 else { return nil }
            return Verdict(
                .destinationStatus,
                status >= 500 ? .broken : .warning,
                about: destination.host,
                say: "\(text) returns status \(status)" + (location.map { " to \($0)" } ?? ""),
                action: status >= 500
                    ? "check the service at \(destination.host): the network works"
                    : "check the URL, or log in: the network works",
                evidence: [.init("http_status", status)]
            )
        case nil: return nil
        }
    }

    private func refusal(_ destination: DestinationEvidence, _ status: Int) -> Verdict {
        let what = status == 101 ? "with a wrong Sec-WebSocket-Accept" : "with status \(status)"
        return Verdict(
            .destinationNoUpgrade,
            .broken,
            about: destination.host,
            say: "\(destination.text) does not open a WebSocket: it answers \(what)",
            action: "check the path of the URL, and that no proxy removes the Upgrade header",
            evidence: [.init("http_status", status)]
        )
    }
}

extension DestinationEvidence {
    /// The host with the addresses that were tested.
    fileprivate func named(_ paths: [Path]) -> String {
        let names = Figures.list(paths.map { "\($0.address)" })
        return names == host ? host : "\(host) (\(names))"
    }

    /// Whether an address provides the service; `nil` when it was not tested.
    fileprivate func works(_ path: Path) -> Bool? {
        if case .host = service { return path.isReachable }
        return path.connection.value.map { $0 == .connected }
    }
}

extension DestinationEvidence.Path {
    fileprivate var family: AddressFamily { address.address.family }
}
