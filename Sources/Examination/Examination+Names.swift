// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import PathModel
internal import Probes

/// Name servers, each by itself: up to five questions by datagrams, thrice if nobody answers, up to two over
/// connections, and two echo requests.
extension Examination {
    func askNameServers() {
        guard let servers = order.servers, !servers.isEmpty else { return }
        let plan = NamePlan(order.targets)
        guard !plan.questions.isEmpty else {
            evidence.gaps[.dns] = "no name to query is configured"
            return
        }
        for (index, server) in servers.enumerated() {
            let address = SocketAddress(server.address, port: server.port ?? 53)
            if server.isQueriedOverTCP {
                queryByStream(address, plan, index)
            } else {
                interview(address, plan, index)
            }
            measure(address, index)
        }
    }

    private func change(_ place: Int, _ body: (inout NameServerEvidence) -> Void) {
        guard case .known(var servers) = evidence.dns, servers.indices.contains(place) else { return }
        body(&servers[place])
        evidence.dns = .known(servers)
    }

    private func interview(_ server: SocketAddress, _ plan: NamePlan, _ place: Int) {
        let questions = plan.questions.map(\.question)
        send(.dns) { done in
            NameInterview(server, questions, loop: loop) { [weak self] result in
                self?.count(sent: result.bytesSent, received: result.bytesReceived)
                let family = server.address.address.family
                if !server.address.address.isLoopback {
                    self?.count(family, attempts: result.sent, refused: result.refused)
                }
                if let shortage = result.shortage { self?.note(shortage, at: .dns) }
                if !result.isUnreachable {
                    self?.change(place) { plan.fill(&$0, from: result) }
                    self?.queryByStream(server, plan, place)
                }
                done()
            }
        }
    }

    /// Over connections too, once it is known that the server answers at all.
    private func queryByStream(_ server: SocketAddress, _ plan: NamePlan, _ place: Int) {
        guard case .known(let servers) = evidence.dns, servers[place].isAnswering || servers[place].isQueriedOverTCP
        else { return }
        queryByStream(server, plan.streamName, .a, place) { evidence, result in
            switch result.reason {
            case .timeout, .refused, .unreachable, .blocked: evidence.stream = .silent
            case .resources: break
            default: evidence.stream = .answered(Set(result.addresses))
            }
        }
        // The large text, unless the server said that it has none.
        guard let name = plan.textName, servers[place].textByDatagram != .missing else { return }
        queryByStream(server, name, .text, place) { evidence, result in
            switch result.reason {
            case nil: evidence.textByStream = .whole(bytes: result.received)
            case .timeout: evidence.textByStream = .silent
            case .dns: evidence.textByStream = .missing
            default: break
            }
        }
    }

    private func queryByStream(
        _ server: SocketAddress,
        _ name: String,
        _ record: ServerQuestion.Record,
        _ place: Int,
        take: @escaping (inout NameServerEvidence, ProbeResult) -> Void
    ) {
        let definition = ProbeDefinition(
            name: "stream",
            method: .dns,
            target: .domain(name),
            question: ServerQuestion(server: server, record: record, transport: .tcp),
            timeout: .seconds(2)
        )
        send(.dns) { done in
            ProbeAttempt(definition, surroundings: ProbeSurroundings(), loop: loop, pages: pages) {
                [weak self] result in
                self?.count(sent: result.sent, received: result.received)
                if result.isAssessed { self?.change(place) { take(&$0, result) } }
                done()
            }
        }
    }

    /// How far away the server is, so that a long way is not taken for a slow server.
    private func measure(_ server: SocketAddress, _ place: Int) {
        send(.dns) { done in
            PacketTrain(
                .echo,
                to: server.address,
                count: 2,
                pace: .milliseconds(50),
                patience: .seconds(1),
                loop: loop
            ) { [weak self] result in
                self?.take(result, of: .echo, from: server.address.address.family)
                self?.change(place) { $0.roundTrip = result.median }
                done()
            }
        }
    }
}

extension NameServerEvidence {
    var isAnswering: Bool {
        [ipv4, ipv6, nonexistent, root, known, isQueriedOverTCP ? stream : .notAsked]
            .contains { $0 != .notAsked && $0 != .silent }
    }
}

/// What every name server is asked, and where the answers belong.
struct NamePlan {
    enum Purpose {
        case ipv4
        case ipv6
        case nonexistent
        case root
        case known
        case text
    }

    let questions: [(purpose: Purpose, question: NameInterview.Question)]
    /// The name that is asked for over a connection.
    let streamName: String
    /// The name that has a large text.
    let textName: String?
    /// What the known name's addresses must be among.
    let expected: Set<IPAddress>
    /// The address of every name below the wildcard.
    let wildcard: IPAddress?

    /// Plans by what is configured; what is not, is not asked.
    init(_ targets: Targets) {
        var questions: [(Purpose, NameInterview.Question)] = []
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
        self.questions = questions
    }

    /// Puts the answers where they belong.
    func fill(_ evidence: inout NameServerEvidence, from result: NameInterviewResult) {
        for (index, entry) in questions.enumerated() where result.replies.indices.contains(index) {
            if result.isStarved || result.shortage != nil, result.replies[index] == .silent { continue }
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
