// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
import PathModel
import TestSupport
import Testing

@testable import PathEngine

/// How often what answers rest on is read, and packets are tried.
@Suite(.inNamespace) struct KernelTableTests {
    private static func batch(_ event: KernelEvent) -> EventBatch {
        let notice = KernelNotice(type: MessageType(rawValue: 24), event: event)
        return EventBatch(notices: [notice], boot: .zero, wall: KernelClock().wall)
    }

    private static let defaultRoute = KernelEvent.route(
        RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: false)
    )

    @Test(arguments: [(10, true), (2_000, false)])
    func `many routes are not read again after each change of one (S18)`(count: Int, isReadAgain: Bool) throws {
        let namespace = Namespace.current
        let peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer)
        let index = try #require(try LiveKernel().link(named: "v0")).index
        let routes = (0..<count).map { "route add 198.18.\($0 / 250).\($0 % 250) via 10.1.0.1 dev v0" }
        try namespace.ipBatch(routes)
        let kernel = try LiveKernel()
        let table = KernelTable(kernel)
        #expect(table.carriesRoutes(index))
        let once = kernel.questions
        table.outdate(by: Self.batch(Self.defaultRoute))
        #expect(table.carriesRoutes(index) && (kernel.questions > once) == isReadAgain)
        // What closes a tunnel is read again first, once.
        let before = kernel.questions
        #expect(table.refreshCarriers() != isReadAgain && (kernel.questions > before) != isReadAgain)
        #expect(!table.refreshCarriers() && table.carriesRoutes(index))
        try namespace.ip("route flush root 198.18.0.0/15")
        try namespace.ip("route flush default")
        try namespace.ip("-6 route flush default")
        table.outdate(by: Self.batch(.linkRemoved(index: 9, name: "gone")))
        #expect(!table.carriesRoutes(index))
        withExtendedLifetime(peer) {}
    }

    /// A kernel where another network namespace serves every tunnel.
    private final class Served: MessageSource {
        private(set) var asked: [String] = []

        func request(
            _ question: Question,
            each: (UInt16, Span<UInt8>) -> Bool
        ) throws(NetlinkError) -> Completion { .done(isConsistent: true) }

        func pauseBeforeRetry() {}

        func tunnelProgram(named interface: String) -> TunnelProgram {
            asked.append(interface)
            return .elsewhere
        }
    }

    @Test func `the program of a tunnel is searched for again when it is renamed or removed, and by audits (S18)`() {
        let kernel = Served()
        let table = KernelTable(kernel)
        let link = Link(index: 7, name: "t0", flags: [.up])
        for _ in 0..<2 { #expect(table.program(of: link) == .elsewhere) }
        table.outdate(by: Self.batch(Self.defaultRoute))
        table.outdate(by: Self.batch(.link(link)))
        _ = table.program(of: link)
        #expect(kernel.asked == ["t0"])
        _ = table.program(of: Link(index: 7, name: "t1", flags: [.up]))
        #expect(kernel.asked == ["t0", "t1"])
        table.outdate(by: Self.batch(.linkRemoved(index: 7, name: "t1")))
        _ = table.program(of: link)
        table.outdate()
        _ = table.program(of: link)
        #expect(kernel.asked == ["t0", "t1", "t0", "t0"])
    }

    /// A kernel where nobody may read the rules, unless there is a `filter`.
    private final class Unreadable: MessageSource {
        private(set) var tried = 0
        var filter: PacketFilter?
        /// What becomes of what is tried.
        var verdict: OutputVerdict

        init(_ verdict: OutputVerdict) { self.verdict = verdict }

        func request(
            _ question: Question,
            each: (UInt16, Span<UInt8>) -> Bool
        ) throws(NetlinkError) -> Completion { .done(isConsistent: true) }

        func pauseBeforeRetry() {}

        func packetFilter(after previous: PacketFilter?) -> PacketFilter? { filter }

        func keptHeader(_ family: AddressFamily) -> KeptHeader { [.dontFragment, .hopLimit] }

        func output(
            of transport: Transport,
            to destination: IPAddress,
            by index: Int?,
            sends: Bool
        ) -> OutputVerdict {
            tried += sends ? 1 : 0
            return sends ? verdict : .unknown
        }
    }

    @Test func `what a rule let go is not tried again for a day, unless the interface is another one (S55)`() {
        let kernel = Unreadable(.released)
        let table = KernelTable(kernel)
        func answer() -> OutputAnswer { table.output(of: .quic, from: nil, to: .v4(0x0101_0101), by: 2) }
        for _ in 0..<2_880 {
            #expect(answer() == .unknown)
            table.outdate()
        }
        #expect(kernel.tried == 1)
        #expect(answer() == .unknown && kernel.tried == 2)
        table.outdate(by: Self.batch(.linkRemoved(index: 2, name: "v0")))
        #expect(answer() == .unknown && kernel.tried == 3)
    }

    @Test func `where the rules are not read, what is refused is tried again after a change of a route (S55)`() {
        let kernel = Unreadable(.filtered)
        let table = KernelTable(kernel)
        func answer() -> OutputAnswer { table.output(of: .quic, from: nil, to: .v4(0x0101_0101), by: 2) }
        #expect(answer().isRefused)
        kernel.verdict = .open
        #expect(answer().isRefused && kernel.tried == 1)
        table.outdate(by: Self.batch(Self.defaultRoute))
        #expect(answer() == .open && kernel.tried == 2)
    }

    @Test func `where the rules are read, packets are tried again for another source, not for another route (S55)`() {
        let kernel = Unreadable(.filtered)
        kernel.filter = PacketFilter(generation: 1, chains: [])
        let table = KernelTable(kernel)
        func answer(from source: UInt32) -> OutputAnswer {
            table.output(of: .quic, from: .v4(source), to: .v4(0x0101_0101), by: 2)
        }
        #expect(answer(from: 1).isRefused)
        kernel.verdict = .open
        table.outdate(by: Self.batch(Self.defaultRoute))
        #expect(answer(from: 1).isRefused && kernel.tried == 1)
        #expect(answer(from: 2) == .open && kernel.tried == 2)
        kernel.verdict = .filtered
        #expect(answer(from: 2) == .open && answer(from: 1).isRefused && kernel.tried == 3)
    }
}
