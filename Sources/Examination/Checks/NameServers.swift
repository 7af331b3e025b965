// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import PathModel
internal import Probes

extension Check {
    /// Name servers, each by itself: up to five queries by datagrams, three times if it does not answer, up to two over
    /// connections, and two echo requests.
    static let nameServers = Check(.network) { $0.queryNameServers() }
}

extension ExaminationState {
    fileprivate mutating func queryNameServers() {
        guard let servers = order.servers, !servers.isEmpty else { return }
        let plan = NamePlan(order.targets, searching: order.searchDomains)
        guard !plan.questions.isEmpty else {
            evidence.gaps[.dns] = "no name to query is configured"
            return
        }
        for (index, server) in servers.enumerated() {
            let address = SocketAddress(server.address, port: server.port ?? 53)
            if server.isQueriedOverTCP {
                queryByStream(address, plan, index)
            } else {
                query(address, plan, index)
            }
            measure(address, index)
        }
    }

    private mutating func change(_ index: Int, _ body: (inout NameServerEvidence) -> Void) {
        guard case .known(var servers) = evidence.dns, servers.indices.contains(index) else { return }
        body(&servers[index])
        evidence.dns = .known(servers)
    }

    private mutating func query(_ server: SocketAddress, _ plan: NamePlan, _ index: Int) {
        let address = server.address.address
        let probe = DNSServerProbe(server, plan.questions.map(\.question))
        run(.dns, probe, family: address.isLoopback ? nil : address.family) { state, result, traffic in
            if let shortage = traffic.shortage { state.record(shortage: shortage, at: .dns) }
            guard !result.isUnreachable else { return }
            state.change(index) { plan.fill(&$0, from: result, traffic.shortage) }
            state.queryByStream(server, plan, index)
        }
    }

    /// Over connections too, once it is known that the server answers at all.
    private mutating func queryByStream(_ server: SocketAddress, _ plan: NamePlan, _ index: Int) {
        guard case .known(let servers) = evidence.dns, servers[index].isAnswering || servers[index].isQueriedOverTCP
        else { return }
        // The large text, unless the server said that it has none; what answers that answers a short query too.
        guard let name = plan.textName, servers[index].textByDatagram != .missing else {
            return queryBriefly(server, plan, index)
        }
        queryByStream(server, name, .text, index) { state, result in
            state.change(index) { evidence in
                switch result.reason {
                case nil: evidence.textByStream = .whole(bytes: result.received)
                case .timeout: evidence.textByStream = .silent
                case .dns: evidence.textByStream = .missing
                default: break
                }
                if result.isSuccess, !evidence.isQueriedOverTCP { evidence.stream = .answered([]) }
            }
            if !result.isSuccess { state.queryBriefly(server, plan, index) }
        }
        guard !servers[index].isQueriedOverTCP else { return queryBriefly(server, plan, index) }
        // A large answer that is slow, or lost, delays nothing else.
        let task = CheckTask(layer: .dns) { context in
            Pause(for: Self.streamDelay, loop: context.loop) {
                context.finish { $0.queryBriefly(server, plan, index) }
            }
        }
        tasks.append(task)
    }

    private static let streamDelay = Duration.milliseconds(300)

    /// A short query over a connection, unless one was answered or made before.
    private mutating func queryBriefly(_ server: SocketAddress, _ plan: NamePlan, _ index: Int) {
        if case .known(let servers) = evidence.dns, case .answered = servers[index].stream { return }
        guard briefQueries.insert(index).inserted else { return }
        queryByStream(server, plan.streamName, .a, index) { state, result in
            state.change(index) { evidence in
                switch result.reason {
                case .timeout, .refused, .unreachable, .blocked: evidence.stream = .silent
                case .resources: break
                default: evidence.stream = .answered(Set(result.addresses))
                }
            }
        }
    }

    private mutating func queryByStream(
        _ server: SocketAddress,
        _ name: String,
        _ record: ServerQuestion.Record,
        _ index: Int,
        completion: @escaping (inout ExaminationState, ProbeResult) -> Void
    ) {
        let question = ServerQuestion(server: server, record: record, transport: .tcp)
        let definition = ProbeDefinition(name: "stream", method: .dns, target: .domain(name), question: question)
        attempt(.dns, definition) { state, result in if result.isAssessed { completion(&state, result) } }
    }

    /// How far away the server is, so that a long path is not mistaken for a slow server.
    private mutating func measure(_ server: SocketAddress, _ index: Int) {
        let pace = Duration.milliseconds(50)
        let train = PacketTrain(
            .echo,
            to: server.address,
            count: 2,
            pace: pace,
            timeout: .seconds(1),
            isOneEnough: true
        )
        send(.dns, train) { state, result, _ in state.change(index) { $0.roundTrip = result.median } }
    }
}

extension NameServerEvidence {
    var isAnswering: Bool {
        [ipv4, ipv6, nonexistent, root, known, isQueriedOverTCP ? stream : .notAsked]
            .contains { $0 != .notAsked && $0 != .silent }
    }
}

/// What every name server is queried for, and where the answers belong.
struct NamePlan {
    enum Purpose {
        case ipv4
        case ipv6
        case nonexistent
        case root
        case known
        case text
        case search(String)
    }

    let questions: [(purpose: Purpose, question: DNSServerProbe.Question)]
    /// The name that is queried over a connection.
    let streamName: String
    /// The name that has a large text.
    let textName: String?
    /// What the known name's addresses must be among.
    let expected: Set<IPAddress>
    /// The address of every name below the wildcard.
    let wildcard: IPAddress?

    /// Plans by what is configured; what is not, is not queried.
    init(_ targets: Targets, searching domains: [String] = []) {
        var questions: [(Purpose, DNSServerProbe.Question)] = []
        let unique = targets.names.wildcard.map { "\(RandomLabel.make()).\($0)" }
        let knownAnchor = targets.anchors.first { $0.host != nil && ($0.ipv4 ?? $0.ipv6) != nil }
        if let name = unique ?? knownAnchor?.host {
            questions += [(.ipv4, .init(name)), (.ipv6, .init(name, .aaaa))]
        }
        if let zone = targets.names.nonexistentZone {
            questions.append((.nonexistent, .init("\(RandomLabel.make()).\(zone)")))
        }
        if questions.isEmpty, targets.names.queriesRoot { questions.append((.root, .init(".", .nameServers))) }
        if let anchor = knownAnchor, let host = anchor.host, let address = anchor.ipv4 ?? anchor.ipv6 {
            questions.append((.known, .init(host, address.family == .ipv4 ? .a : .aaaa)))
            expected = [address]
        } else {
            expected = []
        }
        wildcard = unique == nil ? nil : targets.names.wildcardAddress
        streamName = questions.first?.1.name ?? ""
        textName = questions.isEmpty ? nil : targets.names.bigText
        if let textName { questions.append((.text, .init(textName, .text))) }
        if !questions.isEmpty {
            questions += domains.prefix(3).map { (.search($0), .init("\(RandomLabel.make()).\($0)")) }
        }
        self.questions = questions
    }

    /// Puts the answers where they belong.
    func fill(_ evidence: inout NameServerEvidence, from result: DNSServerResult, _ shortage: String?) {
        for (index, entry) in questions.enumerated() where result.replies.indices.contains(index) {
            if result.isDelayed || shortage != nil, result.replies[index] == .silent { continue }
            let answer = NameServerEvidence.Answer(result.replies[index])
            switch entry.purpose {
            case .ipv4:
                evidence.ipv4 = answer
                evidence.wildcard = wildcard
                evidence.latency = result.durations[index]
            case .ipv6: evidence.ipv6 = answer
            case .nonexistent: evidence.nonexistent = answer
            case .root:
                evidence.root = answer
                evidence.latency = result.durations[index]
            case .known:
                evidence.known = answer
                evidence.expected = expected
            case .search(let domain): if result.replies[index] == .silent { evidence.silentDomains.append(domain) }
            case .text: evidence.textByDatagram = .init(result.replies[index])
            }
        }
    }
}

extension NameServerEvidence.Answer {
    init(_ reply: NameReply) {
        switch reply {
        case .silent: self = .silent
        case .addresses(let addresses): self = .answered(Set(addresses))
        case .text: self = .answered([])
        case .noSuchName: self = .noSuchName
        case .failed(let code): self = .failed(code: code)
        }
    }
}

extension NameServerEvidence.Delivery {
    init(_ reply: NameReply) {
        switch reply {
        case .silent: self = .silent
        case .text(_, isCut: true): self = .cut
        case .text(let count, isCut: false) where count > 0: self = .whole(bytes: count)
        case .text, .addresses, .noSuchName, .failed: self = .missing
        }
    }
}
