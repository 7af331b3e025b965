// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Netlink
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
        let shaped = LinkStatistics.roots(of: [
            discipline(2, "mq", isRoot: true), discipline(2, "tbf"), discipline(3, "mq", isRoot: true),
            discipline(3, "pfifo_fast"), discipline(4, "tbf", isRoot: true),
        ])
        #expect(shaped.mapValues(\.isShaped) == [2: true, 3: false, 4: true])
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

/// What the ethtool family says of the MAC layer.
///
/// The replies are written by hand, in the format of linux/ethtool_netlink.h: no driver that QEMU or this kernel can give
/// has such counters.
@Suite(.inNamespace) struct MACStatisticsTests {
    private static func attribute(_ kind: Int, _ value: [UInt8]) -> [UInt8] {
        var request = Question(type: 0, flags: 0, body: [])
        request.add(kind, value)
        return request.body
    }

    private static func counter(_ kind: Int, _ value: UInt8) -> [UInt8] {
        attribute(4 | 0x8000, attribute(kind, [value, 1, 0, 0, 0, 0, 0, 0]))
    }

    private static func body(_ counters: [UInt8], command: UInt8 = 33, index: UInt8 = 7) -> [UInt8] {
        let header = attribute(2 | 0x8000, attribute(1, [index, 0, 0, 0]) + attribute(2, Array("eth0".utf8) + [0]))
        let group = attribute(4 | 0x8000, attribute(2, [1, 0, 0, 0]) + attribute(3, [17, 0, 0, 0]) + counters)
        return [command, 1, 0, 0] + header + group
    }

    private static func reply(_ counters: [UInt8], command: UInt8 = 33, index: UInt8 = 7) -> [UInt8] {
        Question(type: 22, flags: 0, body: body(counters, command: command, index: index)).message(sequence: 3)
    }

    private func counters(_ bytes: [UInt8]) -> MACCounters? {
        GenericMessage.parse(bytes[...]).first.flatMap { MACStatistics.counters($0, of: 7) }
    }

    @Test func `damaged frames and late collisions are found among the other counters`() {
        let all =
            Self.counter(0, 9) + Self.counter(4, 1) + Self.counter(5, 2) + Self.counter(8, 3) + Self.counter(13, 4)
        #expect(counters(Self.reply(all)) == MACCounters(crcErrors: 257, frameErrors: 258, lateCollisions: 259))
        #expect(counters(Self.reply(Self.counter(4, 1))) == MACCounters(crcErrors: 257))
    }

    @Test func `a driver without them, another link and other messages have none`() {
        #expect(counters(Self.reply([])) == nil)
        #expect(counters(Self.reply(Self.counter(0, 9) + Self.counter(3, 9))) == nil)
        #expect(counters(Self.reply(Self.counter(4, 1), command: 32)) == nil)
        #expect(counters(Self.reply(Self.counter(4, 1), index: 8)) == nil)
        #expect(counters(Self.reply(Self.attribute(4 | 0x8000, Self.attribute(4, [1, 0, 0, 0])))) == nil)
    }

    @Test func `no cut reply has a counter that was not sent`() {
        let body = Self.body(Self.counter(4, 1) + Self.counter(5, 2))
        var found: Set<MACCounters?> = []
        for length in body.indices {
            found.insert(counters(Question(type: 22, flags: 0, body: Array(body[..<length])).message(sequence: 3)))
        }
        // The group's length is that of both: without its end there is no group.
        #expect(found == [nil])
        for place in body.indices {
            for byte in [0, 1, 3, 4, 8, 127, 255] as [UInt8] {
                var changed = body
                changed[place] = byte
                _ = counters(Question(type: 22, flags: 0, body: changed).message(sequence: 3))
            }
        }
    }

    @Test func `the kernel understands the request, and veth has no such counters`() throws {
        try Namespace.current.ip("link add eth0 type veth peer name far0")
        let index = try #require(InterfaceNames.kernel.index("eth0"))
        guard var statistics = try MACStatistics() else {
            Issue.record("the kernel has no ethtool family")
            return
        }
        #expect(try statistics.read(index) == nil)
        #expect(try statistics.read(4711) == nil)
        #expect(try statistics.read(-1) == nil)
        let reading = LinkStatistics.read([index], cards: [index, 4711])
        #expect(reading.problem == nil && reading.counters[index] != nil && reading.counters[4711] == nil)
    }
}

extension String {
    fileprivate var trimmed: Substring { prefix { $0 != "\n" } }
}
