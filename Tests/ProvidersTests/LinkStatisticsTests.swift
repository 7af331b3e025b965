// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Providers

/// What the running kernel counts.
@Suite(.inNamespace) struct LinkStatisticsTests {
    private let namespace = Namespace.current

    init() throws {
        try namespace.ipBatch([
            "link add eth0 type veth peer name far0", "link set eth0 up", "link set far0 up",
            "address add 192.0.2.1/24 dev eth0", "neigh add 192.0.2.2 lladdr 02:00:00:00:00:01 dev eth0",
        ])
    }

    private func index(_ name: String) throws -> Int { try #require(InterfaceNames.kernel.index(name)) }

    /// Sends datagrams as fast as it can, which no queue of a slow link holds.
    private func flood(_ count: Int = 400) throws {
        let program = """
            import socket
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            for _ in range(\(count)):
                try: sender.sendto(bytes(1000), ("192.0.2.2", 9))
                except OSError: pass
            """
        try namespace.run(["python3", "-c", program])
    }

    @Test func `packets and what a full queue dropped are counted`() throws {
        try namespace.run("tc qdisc add dev eth0 root tbf rate 64kbit burst 3k limit 6k")
        let eth0 = try index("eth0")
        let before = try #require(LinkStatistics.read([eth0]).counters[eth0])
        try flood()
        let after = try #require(LinkStatistics.read([eth0]).counters[eth0])
        let growth = try #require(after.growth(since: before))
        let queue = try #require(growth.queue)
        #expect(queue.kind == "tbf" && queue.isTailDrop)
        #expect(queue.drops >= 380 && queue.drops <= 400, "\(queue)")
        #expect(queue.backlog > 0 && queue.backlog <= 6144)
        // The same as ip(8) prints.
        let printed = try namespace.run(["cat", "/sys/class/net/eth0/statistics/tx_packets"])
        #expect(after.sent > 0 && (after.sent <= UInt64(printed.trimmed) ?? 0))
    }

    @Test func `a discipline that drops on purpose is known as such, whatever is above it`() {
        func discipline(_ index: Int, _ kind: String, isRoot: Bool = false) -> LinkStatistics.Discipline {
            LinkStatistics.Discipline(index: index, isRoot: isRoot, queue: QueueCounters(kind: kind))
        }
        let roots = LinkStatistics.roots(of: [
            discipline(2, "mq", isRoot: true), discipline(2, "fq_codel"), discipline(2, "fq_codel"),
            discipline(3, "pfifo_fast", isRoot: true), discipline(4, "cake", isRoot: true),
            discipline(5, "tbf", isRoot: true), discipline(5, "pfifo"), discipline(6, "codel"),
            discipline(7, "one of the next kernel", isRoot: true), discipline(8, "htb", isRoot: true),
        ])
        #expect(roots.mapValues(\.isTailDrop) == [2: false, 3: true, 4: false, 5: true, 7: false, 8: false])
        #expect(roots[2]?.kind == "mq")
    }

    @Test func `a class below the root counts for its root`() throws {
        try namespace.run("tc qdisc add dev eth0 root handle 1: htb default 1")
        try namespace.run("tc class add dev eth0 parent 1: classid 1:1 htb rate 64kbit burst 3k")
        try namespace.run("tc qdisc add dev eth0 parent 1:1 pfifo limit 5")
        try flood()
        let eth0 = try index("eth0")
        let queue = LinkStatistics.read([eth0]).counters[eth0]?.queue
        #expect(queue?.kind == "htb" && queue?.isTailDrop == false && queue?.drops ?? 0 >= 380)
    }

    @Test func `what arrives is not queued, and a link without a queue has none`() throws {
        try namespace.run("tc qdisc add dev eth0 clsact")
        try namespace.ip("link add br0 type bridge")
        let (eth0, br0) = (try index("eth0"), try index("br0"))
        let reading = LinkStatistics.read([eth0, br0, 4711, -1, 0, Int.max])
        let counters = reading.counters
        #expect(reading.problem == nil)
        #expect(Set(counters.keys) == [eth0, br0])
        #expect(counters[br0] != nil && counters[br0]?.queue == nil && counters[eth0]?.queue == nil)
        #expect(LinkStatistics.read([]).counters.isEmpty)
    }
}

extension String {
    fileprivate var trimmed: Substring { prefix { $0 != "\n" } }
}
