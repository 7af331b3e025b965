// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink
internal import PathModel

/// The running kernel's table for one evaluation after another.
///
/// An evaluation mostly repeats the lookups of the one before it, so those are sent again in one request with its
/// first one. Every answer is the kernel's present one and serves one lookup; whatever else is looked up goes to the
/// kernel by itself.
final class AnticipatingTable: ForwardingTable {
    /// More lookups than this are sent one by one: their answers might not fit the socket's buffer.
    static let most = 64

    private let kernel: LiveKernel
    private let table: KernelTable
    private var plan = Plan()
    /// Whether the evaluation rests on lookups and on what is kept until a change of it is announced, and on nothing else.
    private var isLookupsOnly = false

    /// Queries `kernel` for the expected lookups, and `table` for others.
    init(_ kernel: LiveKernel, _ table: KernelTable) {
        self.kernel = kernel
        self.table = table
    }

    /// Begins an evaluation.
    func begin() { isLookupsOnly = true }

    /// Remembers the questions, after an evaluation.
    func end() { plan.end() }

    /// Whether the kernel gives the answers of the last evaluation again, which rested on nothing else that routes decide.
    func givesSameAnswers() -> Bool { isLookupsOnly && table.restsOnLookups && plan.isRepeated(by: kernel) }

    /// Where a packet would go now.
    func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        plan.begin(querying: kernel)
        return plan.dequeue(query) ?? table.lookup(query)
    }

    func connect(_ query: RouteQuery) -> ConnectAnswer? {
        isLookupsOnly = false
        return table.connect(query)
    }

    func defaultRoutes(_ family: AddressFamily, table number: UInt32) -> [RouteAnswer] {
        table.defaultRoutes(family, table: number)
    }

    var selectsByTransport: Bool { table.selectsByTransport }

    func marksExempt(fromTable number: UInt32, _ family: AddressFamily) -> [UInt32] {
        table.marksExempt(fromTable: number, family)
    }

    func refuses(mark: UInt32, _ family: AddressFamily) -> Bool { table.refuses(mark: mark, family) }

    func carriesRoutes(_ index: Int, _ family: AddressFamily?) -> Bool {
        isLookupsOnly = false
        return table.carriesRoutes(index, family)
    }

    func refreshCarriers() -> Bool { table.refreshCarriers() }

    func neighbors(on index: Int) -> [Neighbor] { table.neighbors(on: index) }

    func tunnel(_ tunnel: Link, to destination: IPAddress, isOwn: Bool) -> TunnelAnswer {
        isLookupsOnly = false
        return table.tunnel(tunnel, to: destination, isOwn: isOwn)
    }

    func program(of tunnel: Link) -> TunnelProgram { table.program(of: tunnel) }

    func acceptsFromVRFs(_ transport: Transport) -> Bool { table.acceptsFromVRFs(transport) }

    func output(
        of transport: Transport,
        from source: IPAddress?,
        to destination: IPAddress,
        by index: Int
    ) -> OutputAnswer {
        let answer = table.output(of: transport, from: source, to: destination, by: index)
        if table.reroutes { isLookupsOnly = false }
        return answer
    }
}

/// The questions that are expected, and their answers, each of which serves one question.
private struct Plan {
    private var expected = PreparedLookups([])
    private var answers: [Result<RouteAnswer, RouteFailure>?] = []
    /// What the kernel answers to the same questions after an evaluation.
    private var repeated: [Result<RouteAnswer, RouteFailure>?] = []
    /// The lookups of this evaluation, once one of them was not expected.
    private var requested: [RouteQuery]?
    /// The indices of answers that were used in another order than expected.
    private var used: Set<Int> = []
    private var hasBegun = false
    private var next = 0

    /// Sends all expected lookups, once in an evaluation.
    mutating func begin(querying kernel: LiveKernel) {
        guard !hasBegun else { return }
        hasBegun = true
        kernel.lookup(&expected, into: &answers)
    }

    mutating func end() {
        if let requested {
            expected = PreparedLookups(Array(requested.prefix(AnticipatingTable.most)))
            answers.removeAll(keepingCapacity: true)
            used = []
        } else if next < expected.queries.count {
            expected = PreparedLookups(Array(expected.queries.prefix(next)))
            answers.removeLast(max(answers.count - next, 0))
        }
        requested = nil
        next = 0
        hasBegun = false
    }

    /// Between evaluations: whether every answer that the last one rested on is the same again.
    mutating func isRepeated(by kernel: LiveKernel) -> Bool {
        guard !answers.isEmpty else { return false }
        kernel.lookup(&expected, into: &repeated)
        if answers == repeated { return true }
        return answers.count == repeated.count
            && answers.indices.allSatisfy { Self.isSame(answers[$0], repeated[$0]) }
    }

    /// Compares answers but for the time that is left.
    private static func isSame(
        _ old: Result<RouteAnswer, RouteFailure>?,
        _ new: Result<RouteAnswer, RouteFailure>?
    ) -> Bool {
        switch (old, new) {
        case (.success(let old)?, .success(let new)?):
            guard old != new else { return true }
            var new = new
            if isNear(old.expiresIn, new.expiresIn), old.hasLapsed == new.hasLapsed { new.expiresIn = old.expiresIn }
            if isNear(old.exception?.expiresIn, new.exception?.expiresIn) {
                new.exception?.expiresIn = old.exception?.expiresIn
            }
            return old == new
        case (.failure(let old)?, .failure(let new)?): return old == new
        default: return false
        }
    }

    /// Whether so many seconds are left as before, but for the time that has passed.
    private static func isNear(_ old: Double?, _ new: Double?) -> Bool {
        guard let old, let new else { return false }
        return abs(old - new) < 1
    }

    /// Dequeues the answer to a lookup; `nil` when it was not expected.
    mutating func dequeue(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure>? {
        // Mostly it is the next one in the order.
        if requested == nil, next < answers.count, expected.queries[next] == query, let answer = answers[next] {
            next += 1
            return answer
        }
        if requested == nil { requested = Array(expected.queries.prefix(next)) }
        requested?.append(query)
        for index in answers.indices.dropFirst(next) where expected.queries[index] == query {
            guard let answer = answers[index], used.insert(index).inserted else { continue }
            return answer
        }
        return nil
    }
}
