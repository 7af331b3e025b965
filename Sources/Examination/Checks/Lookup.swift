// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import LinuxIO
internal import PathModel
internal import Probes

extension Check {
    /// A name by the C library, as programs resolve it: that of an anchor whose addresses are known.
    static let lookup = Check(.network) { $0.lookUpAnchor() }

    /// The name of a destination that /etc/hosts has, as a name server answers it: one query for each family.
    static let hostsFile = Check(.network) { $0.queryHostsName() }
}

extension ExaminationState {
    private static let lookupLimit = Duration.milliseconds(2500)

    fileprivate mutating func lookUpAnchor() {
        let anchor = order.targets.anchors.first { $0.host != nil && ($0.ipv4 ?? $0.ipv6) != nil }
        guard let anchor, let name = anchor.host, order.servers?.isEmpty == false, !order.isRepeated else { return }
        let expected = Set([anchor.ipv4, anchor.ipv6].compactMap(\.self))
        lookUp(.dns, name, limit: Self.lookupLimit) { state, result in
            var found = LookupEvidence(name, result.duration, expected: expected)
            switch result.outcome {
            case .addresses(let addresses): found.addresses = Set(addresses.map(\.address))
            case .noSuchName, .noAddress: found.failure = "no such name"
            case .failed(let text): found.failure = text
            case .impossible: return
            }
            found.sourcesWithoutDNS = NameServiceFiles.sourcesWithoutDNS()
            found.hostsLine = NameServiceFiles.entry(of: name)?.line
            state.evidence.lookup = found
        }
    }
}

extension ExaminationState {
    fileprivate mutating func queryHostsName() {
        guard let host = evidence.destination?.host, evidence.destination?.lookup != nil,
            let entry = NameServiceFiles.entry(of: host), let server = order.servers?.first
        else { return }
        for record in [ServerQuestion.Record.a, .aaaa] {
            let address = SocketAddress(server.address, port: server.port ?? 53)
            let definition = ProbeDefinition(
                name: "hosts",
                method: .dns,
                target: .domain(host),
                question: ServerQuestion(server: address, record: record),
                timeout: Self.lookupLimit
            )
            attempt(.dns, definition) { state, result in
                guard !result.addresses.isEmpty else { return }
                var found = state.evidence.destination?.hosts ?? LookupEvidence(host, result.duration, expected: [])
                (found.addresses, found.hostsLine) = (entry.addresses, entry.line)
                found.expected.formUnion(result.addresses)
                state.evidence.destination?.hosts = found
            }
        }
    }
}

/// What the files say that the C library reads before it queries name servers.
enum NameServiceFiles {
    /// The services of nsswitch.conf(5) that lead to name servers.
    private static let services: Set<Substring> = ["dns", "resolve", "wins", "nis", "ldap"]

    /// The line `hosts:` of nsswitch.conf(5), where none of its services queries name servers.
    static func sourcesWithoutDNS(_ text: String? = ProcFile.text("/etc/nsswitch.conf")) -> String? {
        for line in (text ?? "").split(whereSeparator: \.isNewline) {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
            guard words.first == "hosts:" else { continue }
            return services.isDisjoint(with: words) ? words.joined(separator: " ") : nil
        }
        return nil
    }

    /// What hosts(5) says of a name: the file and number of its first line, and all of its addresses.
    static func entry(
        of name: String,
        _ text: String? = ProcFile.text("/etc/hosts")
    ) -> (line: String, addresses: Set<IPAddress>)? {
        let wanted = name.lowercased()
        var found: (line: String, addresses: Set<IPAddress>)?
        let lines = (text ?? "").split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
            guard let address = words.first.flatMap({ IPAddress($0) }),
                words.dropFirst().contains(where: { $0.lowercased() == wanted })
            else { continue }
            if found == nil { found = ("/etc/hosts:\(number + 1)", []) }
            found?.addresses.insert(address)
        }
        return found
    }
}
