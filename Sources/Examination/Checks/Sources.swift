// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import LinuxIO
internal import Netlink
internal import Probes

extension Check {
    /// Whether packets from each own address are answered: five echo requests to one anchor from up to four addresses
    /// that the kernel would not choose by itself.
    static let sources = Check(.depth) { state in
        for index in state.evidence.reach.indices where state.evidence.reach[index].isAlive != nil {
            state.testSources(index)
        }
    }
}

extension ExaminationState {
    fileprivate mutating func testSources(_ index: Int) {
        let reach = evidence.reach[index]
        // Where nothing answers, the kernel may choose the wrong address.
        let isAlive = reach.isAlive == true
        let anchors = reach.anchors.compactMap { anchor in
            (isAlive ? kind(of: anchor) : .echo).map { (anchor.address, $0) }
        }
        guard let (anchor, kind) = anchors.first,
            let number = evidence.sending.firstIndex(where: { $0.family == reach.family }),
            case .success(let answer) = kernel.lookup(RouteQuery(anchor, kind: .decision)),
            let usual = answer.preferredSource
        else { return }
        // What goes into a tunnel has its address.
        guard answer.nexthops.allSatisfy({ !facts.tunnels.contains($0.index) }) else { return }
        let choice = SourceChoice(usual: usual, mainIndex: answer.nexthops.first?.index ?? 0)
        let candidates = facts.links.flatMap { link -> [IPAddress] in
            let held = choice.sources(of: facts.addresses[link.index] ?? [], on: link)
            return link.index == choice.mainIndex || leads(link, to: anchor) ? held : []
        }
        guard !candidates.isEmpty else { return }
        let used = isAlive ? LocalSockets.addresses() : []
        let others = candidates.filter { !isAlive || used.contains($0) }
        guard !others.isEmpty else { return }
        evidence.sending[number].sources = [.init(usual, answers: isAlive)]
        for source in others.prefix(4) {
            var route = ProbeRoute()
            route.source = source
            let train = PacketTrain(
                kind,
                to: ScopedAddress(anchor),
                route: route,
                count: 5,
                pace: .milliseconds(60),
                timeout: .milliseconds(1200)
            )
            send(.local, train, isCounted: false) { state, result, _ in
                guard result.sent > 0, result.failure != .resources else { return }
                guard result.received == 0, isAlive else {
                    state.evidence.sending[number].sources.append(.init(source, answers: result.received > 0))
                    return
                }
                state.confirm(train, to: anchors.last?.0 ?? anchor, from: source, number)
            }
        }
    }

    /// Sends the packets of a silent source once more, to another anchor where there is one.
    private mutating func confirm(_ train: PacketTrain, to anchor: IPAddress, from source: IPAddress, _ number: Int) {
        var route = ProbeRoute()
        route.source = source
        let again = PacketTrain(
            train.kind,
            to: ScopedAddress(anchor),
            route: route,
            count: 3,
            pace: .milliseconds(60),
            timeout: .milliseconds(1000)
        )
        send(.local, again, isCounted: false) { state, result, _ in
            guard result.sent > 0, result.failure != .resources else { return }
            state.evidence.sending[number].sources.append(.init(source, answers: result.received > 0))
        }
    }
}

/// The local addresses that sockets of this network namespace are bound to, or connected from.
enum LocalSockets {
    static func addresses() -> Set<IPAddress> {
        var found: Set<IPAddress> = []
        for name in ["tcp", "tcp6", "udp", "udp6"] {
            found.formUnion(parse(ProcFile.text("/proc/thread-self/net/\(name)") ?? ""))
        }
        return found
    }

    /// Reads the second column, `ADDRESS:PORT` in hexadecimal digits, each four bytes in host order (proc_net(5)).
    static func parse(_ text: String) -> Set<IPAddress> {
        var found: Set<IPAddress> = []
        for line in text.split(separator: "\n").dropFirst() {
            let columns = line.split(separator: " ", maxSplits: 2)
            guard columns.count > 1, let digits = columns[1].split(separator: ":").first else { continue }
            var bytes: [UInt8] = []
            for start in stride(from: 0, to: digits.count - 7, by: 8) {
                let first = digits.index(digits.startIndex, offsetBy: start)
                guard let word = UInt32(digits[first..<digits.index(first, offsetBy: 8)], radix: 16) else { break }
                bytes += [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> $0) }
            }
            if let address = IPAddress(bytes: bytes.span) { found.insert(address.unmapped) }
        }
        return found
    }
}

/// Which own addresses should be answered from the Internet as the usual one is.
struct SourceChoice {
    /// The address that the kernel chooses.
    let usual: IPAddress
    /// The interface that packets leave by.
    let mainIndex: Int

    /// The further addresses of a link that are good for the same: as public or as private as the usual one, lasting,
    /// and in use.
    func sources(of held: [InterfaceAddress], on link: Link) -> [IPAddress] {
        guard link.flags.contains(.up) else { return [] }
        return held.filter { entry in
            entry.address != usual && entry.address.family == usual.family
                && !entry.address.isLinkLocal && !entry.address.isLoopback
                && entry.address.isPrivate == usual.isPrivate
                && entry.flags.isDisjoint(with: [.tentative, .duplicateDetected, .deprecated])
                // Of IPv4 the same bit says that it is not the first of its subnet.
                && (entry.address.family == .ipv4 || !entry.flags.contains(.temporary))
        }.map(\.address)
    }
}
