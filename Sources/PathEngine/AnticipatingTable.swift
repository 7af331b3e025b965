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

    /// The default routes of a table, as they were read since something last happened to routes.
    func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer] {
        let key = DefaultsKey(family: family, table: table)
        if let known = defaults[key] { return known }
        let read = KernelTable(kernel).defaultRoutes(family, table: table)
        defaults[key] = read
        return read
    }

    func forgetDefaultRoutes() { defaults = [:] }

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
