// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import LinuxIO

/// The tables of iptables that are no part of nf_tables (`iptables-legacy`); their rules have no API that is worth its use.
enum LegacyTables {
    /// Whether there is a table `mangle`, whose rules may write the TTL or the hop limit; `false` where that may not be read.
    static func mayWriteHopLimit(_ family: AddressFamily) -> Bool {
        let (tables, target) = family == .ipv4 ? ("ip_tables", "TTL") : ("ip6_tables", "HL")
        return contains("mangle", "\(tables)_names") && contains(target, "\(tables)_targets")
    }

    private static func contains(_ word: String, _ file: String) -> Bool {
        // /proc/net is that of the process's first thread.
        guard let descriptor = try? FileDescriptor(opening: "/proc/thread-self/net/\(file)", flags: O_RDONLY),
            let bytes = try? descriptor.readAll(upTo: 65_536)
        else { return false }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains { $0 == word }
    }
}
