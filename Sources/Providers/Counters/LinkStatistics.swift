// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetlinkRoute
internal import Glibc
internal import LinuxIO
public import PathModel

/// Reads what the kernel counts of links and their queues, with libnl-route.
public enum LinkStatistics {
    /// What was read.
    public struct Reading: Sendable {
        /// By index; links that are gone by now are missing.
        public var counters: [Int: LinkCounters] = [:]
        /// Why something could not be read.
        public var problem: ProviderError?

        public init(problem: ProviderError? = nil) { self.problem = problem }
    }

    /// Reads the counters of links, by index, in the calling thread's network namespace; of those in `cards`, which are among
    /// them, also what the driver counts of its MAC layer.
    ///
    /// Drivers read them from their devices within the call, which a faulty device can hold up: not for a thread that others
    /// wait for.
    public static func read(_ indexes: [Int], cards: [Int] = []) -> Reading {
        var reading = Reading()
        // libnl ends the process where there is no number.
        let numbers = indexes.compactMap(Int32.init(exactly:)).filter { $0 > 0 }
        guard !numbers.isEmpty else { return reading }
        for number in numbers {
            do {
                // A socket of its own: the late answer of a driver is none of the next link's.
                reading.counters[Int(number)] = try link(number, over: Socket())
            } catch {
                reading.problem = error
            }
        }
        do { try readMAC(of: cards, into: &reading) } catch { reading.problem = error }
        do {
            let socket = try Socket()
            for (index, queue) in try queues(of: Set(reading.counters.keys), over: socket) {
                reading.counters[index]?.queue = queue
            }
        } catch {
            reading.problem = error
            for index in reading.counters.keys { reading.counters[index]?.isQueueKnown = false }
        }
        return reading
    }

    private static func readMAC(of links: [Int], into reading: inout Reading) throws(ProviderError) {
        guard !links.isEmpty, var statistics = try MACStatistics() else { return }
        for index in links { reading.counters[index]?.mac = try statistics.read(index) }
    }

    /// A socket of libnl that waits ten seconds for an answer at most.
    @safe private final class Socket {
        let raw: OpaquePointer

        init() throws(ProviderError) {
            guard let raw = unsafe nl_socket_alloc() else {
                throw .system(call: "nl_socket_alloc", code: Errno(ENOMEM))
            }
            guard unsafe nl_connect(raw, NETLINK_ROUTE) >= 0 else {
                let code = Errno.current
                unsafe nl_socket_free(raw)
                throw .system(call: "nl_connect", code: code)
            }
            unsafe self.raw = raw
            unsafe nl_socket_enable_msg_peek(raw)
            var limit = timeval(tv_sec: 10, tv_usec: 0)
            let size = socklen_t(MemoryLayout<timeval>.size)
            unsafe setsockopt(nl_socket_get_fd(raw), SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        }

        deinit { unsafe nl_socket_free(raw) }
    }

    /// Reads one link; `nil` when it is gone.
    private static func link(_ index: Int32, over socket: Socket) throws(ProviderError) -> LinkCounters? {
        var link: OpaquePointer?
        let code = unsafe rtnl_link_get_kernel(socket.raw, index, nil, &link)
        guard ![-NLE_NODEV, -NLE_OBJ_NOTFOUND].contains(code) else { return nil }
        guard code >= 0, let link = unsafe link else { throw .malformed(what: "link \(index) (libnl error \(-code))") }
        defer { unsafe rtnl_link_put(link) }
        func count(_ counter: rtnl_link_stat_id_t) -> UInt64 { unsafe rtnl_link_get_stat(link, counter) }
        var counters = LinkCounters()
        counters.received = count(RTNL_LINK_RX_PACKETS)
        counters.sent = count(RTNL_LINK_TX_PACKETS)
        counters.receiveErrors = count(RTNL_LINK_RX_ERRORS)
        counters.transmitErrors = count(RTNL_LINK_TX_ERRORS)
        counters.crcErrors = count(RTNL_LINK_RX_CRC_ERR)
        counters.frameErrors = count(RTNL_LINK_RX_FRAME_ERR)
        counters.overruns = max(count(RTNL_LINK_RX_FIFO_ERR), count(RTNL_LINK_RX_MISSED_ERR))
        counters.lateCollisions = count(RTNL_LINK_TX_WIN_ERR)
        return counters
    }

    /// The kinds that drop a packet only when they are full, or pass it on to such ones.
    ///
    /// Those with classes of traffic also count what a filter is made to drop.
    private static let tailDropping: Set<String> = ["pfifo_fast", "pfifo", "bfifo", "tbf", "mq", "mqprio"]

    /// The queues of links; a link without one (`noqueue`) is missing.
    private static func queues(
        of links: Set<Int>,
        over socket: Socket
    ) throws(ProviderError) -> [Int: QueueCounters] {
        var cache: OpaquePointer?
        let code = unsafe rtnl_qdisc_alloc_cache(socket.raw, &cache)
        // A kernel without queueing disciplines has no such message.
        guard code != -NLE_OPNOTSUPP else { return [:] }
        guard code >= 0, let cache = unsafe cache else { throw .malformed(what: "qdiscs (libnl error \(-code))") }
        defer { unsafe nl_cache_free(cache) }
        var disciplines: [Discipline] = []
        var next = unsafe nl_cache_get_first(cache)
        while let qdisc = unsafe next {
            unsafe next = nl_cache_get_next(qdisc)
            let index = unsafe Int(rtnl_tc_get_ifindex(qdisc))
            guard links.contains(index), let queue = unsafe queue(qdisc) else { continue }
            let isRoot = unsafe rtnl_tc_get_parent(qdisc) == tcRoot
            disciplines.append(Discipline(index: index, isRoot: isRoot, queue: queue))
        }
        return roots(of: disciplines)
    }

    struct Discipline {
        var index: Int
        var isRoot: Bool
        var queue: QueueCounters
    }

    /// The root of each link, which counts what its children drop; one child that drops on purpose is enough.
    static func roots(of disciplines: [Discipline]) -> [Int: QueueCounters] {
        var roots: [Int: QueueCounters] = [:]
        for discipline in disciplines where discipline.isRoot { roots[discipline.index] = discipline.queue }
        for discipline in disciplines {
            if !tailDropping.contains(discipline.queue.kind) { roots[discipline.index]?.isTailDrop = false }
            if discipline.queue.kind == "tbf" { roots[discipline.index]?.isShaped = true }
        }
        return roots
    }

    /// What a discipline counted; `nil` where nothing is queued for sending.
    private static func queue(_ qdisc: OpaquePointer) -> QueueCounters? {
        guard let name = unsafe rtnl_tc_get_kind(qdisc) else { return nil }
        let kind = unsafe String(cString: name)
        guard !["ingress", "clsact", "noqueue"].contains(kind) else { return nil }
        return unsafe QueueCounters(
            kind: kind,
            sent: rtnl_tc_get_stat(qdisc, RTNL_TC_PACKETS),
            drops: rtnl_tc_get_stat(qdisc, RTNL_TC_DROPS),
            backlog: rtnl_tc_get_stat(qdisc, RTNL_TC_BACKLOG)
        )
    }

    /// `TC_H_ROOT` of linux/pkt_sched.h.
    private static let tcRoot: UInt32 = 0xFFFF_FFFF
}
