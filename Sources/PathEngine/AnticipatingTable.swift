// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

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
    private var expected = PreparedLookups([])
    private var answers: [Result<RouteAnswer, RouteFailure>?] = []
    private var asked: [RouteQuery] = []
    private var hasBegun = false
    private var next = 0

    /// Asks `kernel`.
    init(_ kernel: LiveKernel) {
        self.kernel = kernel
    }

    /// Forgets the answers and remembers the questions, after an evaluation.
    func end() {
        if asked != expected.queries { expected = PreparedLookups(Array(asked.prefix(Self.most))) }
        answers = []
        asked.removeAll(keepingCapacity: true)
        hasBegun = false
    }

    /// Where a packet would go now.
    func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        if !hasBegun {
            hasBegun = true
            next = 0
            answers = kernel.lookup(&expected) ?? []
        }
        asked.append(query)
        // Mostly it is the next one in the order.
        if let answer = take(next, for: query) { return answer }
        for place in answers.indices {
            if let answer = take(place, for: query) { return answer }
        }
        return kernel.lookup(query)
    }

    private func take(_ place: Int, for query: RouteQuery) -> Result<RouteAnswer, RouteFailure>? {
        guard place < answers.count, expected.queries[place] == query, let answer = answers[place] else { return nil }
        answers[place] = nil
        next = place + 1
        return answer
    }
}
