// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

@testable import PathEngine

@Suite(.inNamespace) struct AnticipatingTableTests {
    private let namespace = Namespace.current
    private let peer: Namespace
    private let kernel: LiveKernel
    private let table: AnticipatingTable
    private let query = RouteQuery(.v4(0x0101_0101), kind: .entry)
    private let other = RouteQuery(.v4(0x0808_0808), kind: .entry)

    init() throws {
        peer = try Namespace()
        kernel = try LiveKernel()
        table = AnticipatingTable(kernel, KernelTable(kernel))
    }

    private var gateway: IPAddress? { (try? table.lookup(query).get())?.nexthops.first?.gateway }

    @Test func `every evaluation asks the kernel anew`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        for number in 1...5 {
            let address = "10.1.0.\(10 + number)"
            try namespace.ip("route replace default via \(address) dev v0 metric 100")
            #expect(gateway == .of(address))
            table.end()
        }
        try namespace.ip("route flush default")
        #expect(table.lookup(query) == .failure(.noRoute))
    }

    @Test func `an answer serves one question`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        _ = gateway
        table.end()
        #expect(gateway != nil)
        try namespace.ip("route flush default")
        #expect(gateway == nil, "the second question of an evaluation that asked once before")
    }

    @Test func `questions that were not foreseen are asked, and foreseen next time`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        _ = table.lookup(query)
        table.end()
        let before = kernel.questions
        let answers = [other, query].map(table.lookup)
        #expect(answers == [other, query].map(kernel.lookup))
        #expect(kernel.questions - before == 4, "one together, one alone, and two to compare")
        table.end()
        _ = table.lookup(query)
        #expect(kernel.questions - before == 6)
        _ = table.lookup(other)
        #expect(kernel.questions - before == 6)
    }

    @Test func `answers that are the same again are recognised (S42)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        func evaluate(_ others: () -> Void = {}) {
            table.begin()
            _ = gateway
            others()
            table.end()
        }
        #expect(!table.givesSameAnswers(), "nothing was asked yet")
        evaluate()
        evaluate()
        #expect(table.givesSameAnswers())
        try namespace.ip("route replace default via 10.1.0.77 dev v0 metric 100")
        #expect(!table.givesSameAnswers())
        evaluate { _ = table.connect(query) }
        #expect(!table.givesSameAnswers(), "what else routes decide is not asked again")
        evaluate()
        #expect(table.givesSameAnswers())
        try namespace.ip("route flush default")
        #expect(!table.givesSameAnswers())
    }

    @Test func `rules and default routes are read once for all, until something may have become of them`() throws {
        try namespace.uplink("v0", 1, to: peer)
        let shared = KernelTable(kernel)
        let tables: [any ForwardingTable] = [AnticipatingTable(kernel, shared), shared, shared]
        let before = kernel.questions
        for table in tables {
            #expect(!table.selectsByTransport)
            #expect(table.defaultRoutes(.ipv4, table: 254).count == 1)
        }
        #expect(kernel.questions - before == 2)
        try namespace.ip("rule add ipproto tcp lookup 254")
        #expect(!shared.selectsByTransport)
        shared.outdate()
        #expect(shared.selectsByTransport)
    }

    @Test func `more questions than the socket holds answers to are all answered`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let queries = (0..<500).map { RouteQuery(.v4(0x0101_0000 + $0), kind: .decision) }
        for _ in 0..<3 {
            #expect(queries.map(table.lookup).allSatisfy { (try? $0.get().type) == .unicast })
            table.end()
        }
    }
}
