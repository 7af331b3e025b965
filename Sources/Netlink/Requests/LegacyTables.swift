// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import LinuxIO

/// The tables of iptables that are no part of nf_tables (`iptables-legacy`).
enum LegacyTables {
    /// More than this is not read.
    private static let mostBytes = 16 << 20

    /// A table that changes while it is read is read again, so many times at most.
    private static let mostReadings = 3

    /// What their rules may do; `nil` where those could not be read.
    ///
    /// Which tables there are only root may read; for others a datagram to this machine shows some of it.
    static func rules() -> FilterRules? {
        var rules = FilterRules()
        for family in AddressFamily.allCases {
            guard let names = names(family) else {
                rules.add(effects(of: OutputTest.keptHeader(family)), family)
                continue
            }
            if names.contains("nat") { rules.add(.translate, family) }
            for name in names {
                var table: Table?
                for _ in 0..<mostReadings where table == nil { table = Table(name, family) }
                guard let table else { return nil }
                add(table, family, to: &rules)
            }
        }
        return rules
    }

    private static func effects(of kept: KeptHeader) -> FilterEffects {
        var effects = FilterEffects.translate
        if !kept.contains(.dontFragment) { effects.insert(.release) }
        if !kept.contains(.hopLimit) { effects.insert(.writeHopLimit) }
        return effects
    }

    /// The tables of the network namespace, a request for another of which would make it; `nil` where they may not be read.
    private static func names(_ family: AddressFamily) -> [Substring]? {
        let file = family == .ipv4 ? "ip_tables_names" : "ip6_tables_names"
        do throws(Errno) {
            // /proc/net is that of the process's first thread.
            let descriptor = try FileDescriptor(opening: "/proc/thread-self/net/\(file)", flags: O_RDONLY)
            let bytes = try descriptor.readAll(upTo: 65_536)
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        } catch .noEntry {
            return []
        } catch {
            return nil
        }
    }

    /// Adds each `struct ipt_entry` or `struct ip6t_entry`, whose `next_offset` is its length, but those of chains that packets
    /// of this machine do not pass when they leave.
    private static func add(_ table: Table, _ family: AddressFamily, to rules: inout FilterRules) {
        let header = family == .ipv4 ? 112 : 168
        let entries = table.entries.span
        var next = 0
        while next + header <= entries.count {
            let end = next + Int(entries.host16(at: next + (family == .ipv4 ? 90 : 142)))
            guard end >= next + header, end <= entries.count else { return }
            let hook = table.hook(at: next)
            if hook == nil || hook == Table.output || hook == Table.postrouting {
                let leads = hook != Table.postrouting
                rules.add(entry: entries.extracting(next..<end), family: family, leads: leads)
            }
            next = end
        }
    }

    /// What IPT_SO_GET_INFO and IPT_SO_GET_ENTRIES of linux/netfilter_ipv4/ip_tables.h give, which are the same for IPv6.
    private struct Table {
        /// `NF_INET_LOCAL_OUT` and `NF_INET_POST_ROUTING`.
        static let (output, postrouting) = (3, 4)

        let entries: [UInt8]
        private let info: [UInt8]

        /// - Returns: `nil` where it cannot be read, as where it changes between both calls.
        init?(_ name: Substring, _ family: AddressFamily) {
            let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
            let number = socket(family == .ipv4 ? AF_INET : AF_INET6, kind, 0)
            guard number >= 0 else { return nil }
            defer { close(number) }
            let level = Int32(family == .ipv4 ? IPPROTO_IP : IPPROTO_IPV6)
            // Both structures begin with the name; in `struct ipt_getinfo` the size comes last, in `struct ipt_get_entries` next.
            let title = Array(name.utf8.prefix(31)) + [UInt8](repeating: 0, count: 32 - min(name.utf8.count, 31))
            var info = title + [UInt8](repeating: 0, count: 52)
            guard read(number, level, 64, into: &info) else { return nil }
            let size = info.span.host32(at: 80)
            guard size <= mostBytes else { return nil }
            var table = title + Question.bytes(of: size) + [UInt8](repeating: 0, count: 4 + Int(size))
            guard read(number, level, 65, into: &table) else { return nil }
            entries = Array(table.dropFirst(40))
            self.info = info
        }

        /// The hook that calls the chain at an offset; `nil` for a chain of the user's, which any of them may call.
        func hook(at offset: Int) -> Int? {
            // `valid_hooks`, then the offsets of the first and the last entry of each of the five hooks.
            let info = info.span
            let valid = info.host32(at: 32)
            return (0..<5).first { hook in
                valid & 1 << UInt32(hook) != 0 && offset >= Int(info.host32(at: 36 + 4 * hook))
                    && offset <= Int(info.host32(at: 56 + 4 * hook))
            }
        }
    }

    private static func read(_ number: Int32, _ level: Int32, _ option: Int32, into bytes: inout [UInt8]) -> Bool {
        var length = socklen_t(bytes.count)
        let code = unsafe bytes.withUnsafeMutableBytes {
            unsafe getsockopt(number, level, option, $0.baseAddress, &length)
        }
        return code == 0
    }
}
