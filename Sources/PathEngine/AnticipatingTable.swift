// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO
internal import Netlink
internal import PathModel

/// The running kernel's table for one evaluation after another.
///
/// An evaluation mostly asks what the one before it asked, so those questions are asked anew in one request with its
/// first one. Every answer is the kernel's of this very moment and serves one question; whatever else is asked goes to the
/// kernel by itself.
final class AnticipatingTable: ForwardingTable {
    /// More questions than this are asked one by one: their answers might not fit the socket's buffer.
    static let most = 64

    private let kernel: LiveKernel
    private var plan = Plan()
    private var defaults: [DefaultsKey: [RouteAnswer]] = [:]
    /// Those of which something may have become since they were read.
    private var staleDefaults: Set<DefaultsKey> = []
    /// Those that the last answer asked for; others are forgotten.
    private var askedDefaults: Set<DefaultsKey> = []
    private var rulesAskForTransport: Bool?
    private var refusals: [Datagram: Bool] = [:]
    /// Datagrams that were let out although a multicast group is refused: they are not sent again and again.
    private var letOut: Set<Datagram> = []

    private struct Datagram: Hashable {
        let destination: IPAddress
        let port: UInt16
        let index: Int
    }

    private struct DefaultsKey: Hashable {
        let family: AddressFamily
        let table: UInt32
    }

    /// Asks `kernel`.
    init(_ kernel: LiveKernel) {
        self.kernel = kernel
    }

    /// Forgets the answers and remembers the questions, after an evaluation.
    func end() { plan.end() }

    /// Where a packet would go now.
    func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        plan.begin(asking: kernel)
        return plan.take(query) ?? kernel.lookup(query)
    }

    /// What connect(2) of a UDP socket gives.
    func connect(_ query: RouteQuery) -> ConnectAnswer? { kernel.connect(query) }

    /// The default routes of a table.
    ///
    /// Where there was one at most, what is known is given at once, and read again after the answer: a single route decides
    /// nothing that the kernel's own answer does not say.
    func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer] {
        let key = DefaultsKey(family: family, table: table)
        askedDefaults.insert(key)
        if let known = defaults[key], known.count <= 1 || !staleDefaults.contains(key) { return known }
        return read(key)
    }

    /// Default routes may have come or gone.
    func outdateDefaultRoutes() { staleDefaults = Set(defaults.keys) }

    /// Reads what was not read for the last answer.
    /// - Returns: Whether another answer may follow from it.
    func readDefaultRoutes() -> Bool {
        defaults = defaults.filter { askedDefaults.contains($0.key) }
        askedDefaults = []
        return staleDefaults.filter { defaults[$0] != nil }.map { key in
            let routes = read(key)
            return routes.count > 1 || routes.contains { $0.hasLapsed }
        }.contains(true)
    }

    private func read(_ key: DefaultsKey) -> [RouteAnswer] {
        let routes = KernelTable(kernel).defaultRoutes(key.family, table: key.table)
        defaults[key] = routes
        staleDefaults.remove(key)
        return routes
    }

    /// Whether a rule asks for protocol or ports, as was read since something last happened to rules.
    var asksForTransport: Bool {
        if let known = rulesAskForTransport { return known }
        let read = KernelTable(kernel).asksForTransport
        rulesAskForTransport = read
        return read
    }

    func forgetRules() { rulesAskForTransport = nil }

    /// Whether datagrams are refused, as was found out since everything was last read.
    func refusesDatagrams(to destination: IPAddress, port: UInt16, by index: Int) -> Bool {
        let datagram = Datagram(destination: destination, port: port, index: index)
        if let known = refusals[datagram] { return known }
        let wasLetOut = letOut.remove(datagram) != nil
        let verdict = kernel.output(to: destination, port: port, by: index, confirms: !wasLetOut)
        if verdict == .doubtful { letOut.insert(datagram) }
        refusals[datagram] = verdict == .refused
        return verdict == .refused
    }

    func forgetRefusals() { refusals = [:] }
}

/// The questions that are expected, and their answers as long as nobody took them.
private struct Plan {
    private var expected = PreparedLookups([])
    private var answers: [Result<RouteAnswer, RouteFailure>?] = []
    /// What was asked in this evaluation, once it was something else than expected.
    private var asked: [RouteQuery]?
    private var hasBegun = false
    private var next = 0

    /// Asks everything that is expected, once in an evaluation.
    mutating func begin(asking kernel: LiveKernel) {
        guard !hasBegun else { return }
        hasBegun = true
        kernel.lookup(&expected, into: &answers)
    }

    mutating func end() {
        if let asked {
            expected = PreparedLookups(Array(asked.prefix(AnticipatingTable.most)))
        } else if next < expected.queries.count {
            expected = PreparedLookups(Array(expected.queries.prefix(next)))
        }
        answers.removeAll(keepingCapacity: true)
        asked = nil
        next = 0
        hasBegun = false
    }

    /// Takes the answer to a question; `nil` when it was not expected.
    mutating func take(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure>? {
        // Mostly it is the next one in the order.
        if asked == nil, next < answers.count, expected.queries[next] == query, let answer = answers[next] {
            answers[next] = nil
            next += 1
            return answer
        }
        if asked == nil { asked = Array(expected.queries.prefix(next)) }
        asked?.append(query)
        for place in answers.indices where expected.queries[place] == query {
            guard let answer = answers[place] else { continue }
            answers[place] = nil
            return answer
        }
        return nil
    }
}
