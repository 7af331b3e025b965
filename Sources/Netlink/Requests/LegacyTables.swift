// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import LinuxIO

/// The tables of iptables that are no part of nf_tables (`iptables-legacy`).
enum LegacyTables {
    /// More than this is not read.
    private static let mostBytes = 16 << 20

    /// What their rules may do; `nil` where those could not be read.
    ///
    /// Which tables there are only root may read.
    static func rules() -> FilterRules? {
        var rules = FilterRules()
        for family in AddressFamily.allCases {
            for name in names(family) {
                guard let table = entries(of: name, family) else { return nil }
                add(table.span, family, to: &rules)
            }
        }
        return rules
    }

    /// The tables of the network namespace; a request for another one would make it.
    private static func names(_ family: AddressFamily) -> [Substring] {
        let file = family == .ipv4 ? "ip_tables_names" : "ip6_tables_names"
        // /proc/net is that of the process's first thread.
        guard let descriptor = try? FileDescriptor(opening: "/proc/thread-self/net/\(file)", flags: O_RDONLY),
            let bytes = try? descriptor.readAll(upTo: 65_536)
        else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    /// Adds each `struct ipt_entry` or `struct ip6t_entry`, whose `next_offset` is its length.
    private static func add(_ entries: Span<UInt8>, _ family: AddressFamily, to rules: inout FilterRules) {
        let header = family == .ipv4 ? 112 : 168
        var next = 0
        while next + header <= entries.count {
            let end = next + Int(entries.host16(at: next + (family == .ipv4 ? 90 : 142)))
            guard end >= next + header, end <= entries.count else { return }
            rules.add(entry: entries.extracting(next..<end), family: family)
            next = end
        }
    }

    /// Reads a table with IPT_SO_GET_INFO and IPT_SO_GET_ENTRIES of linux/netfilter_ipv4/ip_tables.h, which are the same for
    /// IPv6; `nil` where that fails, as it does where the table changes in between.
    private static func entries(of name: Substring, _ family: AddressFamily) -> [UInt8]? {
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
        return Array(table.dropFirst(40))
    }

    private static func read(_ number: Int32, _ level: Int32, _ option: Int32, into bytes: inout [UInt8]) -> Bool {
        var length = socklen_t(bytes.count)
        let code = unsafe bytes.withUnsafeMutableBytes {
            unsafe getsockopt(number, level, option, $0.baseAddress, &length)
        }
        return code == 0
    }
}
