// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CNetlink

extension MessageSource {
    /// All links, without their statistics.
    public func links() throws(NetlinkError) -> Dump<Link> {
        try dump(.links) { Link(decoding: $0) }
    }

    /// One link; `nil` when there is none.
    public func link(index: Int) throws(NetlinkError) -> Link? {
        try one(.link(index: index)) { Link(decoding: $0) }
    }

    /// One link, by its name or an alternative one; `nil` when there is none, as for a name that cannot be one.
    public func link(named name: String) throws(NetlinkError) -> Link? {
        guard (1...Link.longestName).contains(name.utf8.count) else { return nil }
        return try one(.link(named: name)) { Link(decoding: $0) }
    }

    public func addresses() throws(NetlinkError) -> Dump<InterfaceAddress> {
        try dump(.addresses) { InterfaceAddress(decoding: $0) }
    }

    /// All policy rules of both families, in the order the kernel evaluates them.
    public func rules() throws(NetlinkError) -> Dump<PolicyRule> {
        try dump(.rules) { PolicyRule(decoding: $0) }
    }

    public func nexthops() throws(NetlinkError) -> Dump<Nexthop> {
        try dump(.nexthops) { Nexthop(decoding: $0) }
    }

    /// One nexthop object; `nil` when there is none.
    public func nexthop(id: UInt32) throws(NetlinkError) -> Nexthop? {
        try one(.nexthop(id: id)) { Nexthop(decoding: $0) }
    }

    /// The neighbours of one interface, or of all.
    public func neighbors(index: Int? = nil) throws(NetlinkError) -> Dump<Neighbor> {
        try dump(.neighbors(index: index)) { Neighbor(decoding: $0) }
    }

    /// One neighbour; `nil` when there is no entry.
    public func neighbor(_ address: IPAddress, index: Int) throws(NetlinkError) -> Neighbor? {
        try one(.neighbor(address, index: index)) { Neighbor(decoding: $0) }
    }

    /// The port behind which a bridge last saw a hardware address; `nil` when it does not know it.
    ///
    /// A bridge that knows VLANs has an entry for each of them, which only a dump finds.
    public func bridgePort(of hardwareAddress: [UInt8], bridge: Int) throws(NetlinkError) -> Int? {
        let question = Question.bridgeEntry(hardwareAddress, bridge: bridge)
        if let entry = try? one(question, { BridgeEntry(decoding: $0) }) { return entry.port }
        var port: Int?
        _ = try request(.bridgeEntries(bridge: bridge)) { _, body in
            if let entry = BridgeEntry(decoding: body), entry.hardwareAddress == hardwareAddress { port = entry.port }
            return true
        }
        return port
    }

    /// The default routes of one table, or of one interface in it.
    ///
    /// The kernel sends IPv4 defaults first, so that reading ends with the first other route; IPv6 defaults come
    /// last, and a table of more than `limit` entries is given up (`isComplete` is then `false`).
    public func defaultRoutes(
        _ family: AddressFamily,
        table: UInt32 = 254,
        index: Int? = nil,
        limit: Int = 10_000
    ) throws(NetlinkError) -> Dump<RouteEntry> {
        var result = Dump<RouteEntry>([])
        for attempt in 1...5 {
            result = try readDefaults(.routes(family, table: table, index: index), limit: limit)
            if result.isConsistent || attempt == 5 { break }
            pauseBeforeRetry()
        }
        return result
    }

    private func readDefaults(_ question: Question, limit: Int) throws(NetlinkError) -> Dump<RouteEntry> {
        var result = Dump<RouteEntry>([])
        var seen = 0
        do {
            let completion = try request(question) { _, body in
                seen += 1
                guard let entry = RouteEntry(decoding: body) else {
                    result.undecodable += 1
                    return seen < limit
                }
                if entry.destination.length == 0 {
                    result.values.append(entry)
                } else if entry.destination.address.family == .ipv4, !entry.destination.address.isUnspecified {
                    return false
                }
                result.isComplete = seen < limit
                return result.isComplete
            }
            result.isConsistent = completion != .done(isConsistent: false)
        } catch {
            // A table that has never had a route does not exist.
            guard error.code == 2 else { throw error }
        }
        return result
    }

    /// Reads a table, again when it changed meanwhile; five attempts in all (rule S6).
    private func dump<Element>(
        _ question: Question,
        _ decode: (Span<UInt8>) -> Element?
    ) throws(NetlinkError) -> Dump<Element> {
        var result = Dump<Element>([])
        for attempt in 1...5 {
            result = Dump([])
            let completion = try request(question) { _, body in
                if let value = decode(body) {
                    result.values.append(value)
                } else if question.isOfOurFamilies(body) {
                    result.undecodable += 1
                }
                return true
            }
            result.isConsistent = completion != .done(isConsistent: false)
            if result.isConsistent || attempt == 5 { break }
            pauseBeforeRetry()
        }
        return result
    }

    /// Reads one entry; `nil` when the kernel says that there is none.
    func one<Element>(
        _ question: Question,
        _ decode: (Span<UInt8>) -> Element?
    ) throws(NetlinkError) -> Element? {
        var result: Element?
        do {
            _ = try request(question) { _, body in
                result = decode(body)
                return false
            }
        } catch {
            // ENOENT, ENODEV
            if error.code == 2 || error.code == 19 { return nil }
            throw error
        }
        guard let result else {
            throw .malformedAnswer(request: MessageType(rawValue: question.type))
        }
        return result
    }
}

extension Question {
    /// Whether a message of a dump is of a family that the question is about; multicast routing rules are not.
    fileprivate func isOfOurFamilies(_ body: Span<UInt8>) -> Bool {
        body.isEmpty || [0, 2, 10].contains(body[0])
    }
}
