// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import LinuxIO

/// The tables of iptables that are no part of nf_tables (`iptables-legacy`); their rules have no API that is worth its use.
enum LegacyTables {
    /// What its rules may do: by the targets that the kernel has loaded, if there is a table; nothing where that may not be
    /// read.
    static func effects(_ family: AddressFamily) -> FilterEffects {
        let tables = family == .ipv4 ? "ip_tables" : "ip6_tables"
        let targets = lines("\(tables)_targets")
        let names = lines("\(tables)_names")
        var effects: FilterEffects = []
        if names.contains("mangle"), targets.contains(family == .ipv4 ? "TTL" : "HL") { effects.insert(.writeHopLimit) }
        if !names.isEmpty, targets.contains("TEE") || targets.contains("NFQUEUE") { effects.insert(.release) }
        return effects
    }

    private static func lines(_ file: String) -> Set<Substring> {
        // /proc/net is that of the process's first thread.
        guard let descriptor = try? FileDescriptor(opening: "/proc/thread-self/net/\(file)", flags: O_RDONLY),
            let bytes = try? descriptor.readAll(upTo: 65_536)
        else { return [] }
        return Set(String(decoding: bytes, as: UTF8.self).split(separator: "\n"))
    }
}
