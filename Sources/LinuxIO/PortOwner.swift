// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import Glibc

/// Whose socket has an address that we wanted.
public struct PortOwner: Hashable, Sendable {
    /// The user that the socket belongs to.
    public let user: UInt32
    /// The process, as far as `/proc` shows it to this user.
    public let process: Int32?
    /// The name of the process (proc(5), `comm`).
    public let name: String?

    /// Describes an owner.
    public init(user: UInt32, process: Int32? = nil, name: String? = nil) {
        self.user = user
        self.process = process
        self.name = name
    }

    /// The process at the other end of a connected unix socket; `nil` when it is none.
    public static func peer(of descriptor: Int32) -> PortOwner? {
        var process: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
        guard unsafe nwp_peer_credentials(descriptor, &process, &user, &group) == 0 else { return nil }
        var name = [CChar](repeating: 0, count: 32)
        let isNamed = unsafe nwp_process_name(process, &name, name.count) == 0
        return PortOwner(user: user, process: process, name: isNamed ? text(name) : nil)
    }

    /// Who listens on a TCP port of this network namespace; `nil` when nobody does.
    public static func listener(family: AddressFamily, port: UInt16) -> PortOwner? {
        owners(of: "tcp", family, port: port).first
    }

    /// What program other than this one has a UDP port of this network namespace; `nil` when none has.
    public static func holder(family: AddressFamily, port: UInt16) -> PortOwner? {
        owners(of: "udp", family, port: port).first { $0.process != getpid() }
    }

    /// A socket in a table of `/proc/net`.
    package struct Entry: Hashable, Sendable {
        package let user: UInt32
        package let inode: UInt64
        /// Whether it is bound to a group, and receives nothing that is sent to this host alone.
        package let isOfGroup: Bool
    }

    /// The UDP sockets of this network namespace that have a port of a family; `nil` where they cannot be seen.
    static func datagramSockets(_ family: AddressFamily, port: UInt16) -> [Entry]? {
        ProcFile.text("/proc/thread-self/net/udp" + (family == .ipv4 ? "" : "6")).map {
            entries(in: $0, port: port, listening: false)
        }
    }

    /// The sockets on `port` in the text of `/proc/net/tcp` (those that listen, state 0A) or `/proc/net/udp` (all).
    package static func entries(in text: String, port: UInt16, listening: Bool) -> [Entry] {
        text.split(separator: "\n").dropFirst().compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 9, !listening || words[3] == "0A", let colon = words[1].lastIndex(of: ":"),
                UInt16(words[1][words[1].index(after: colon)...], radix: 16) == port,
                let user = UInt32(words[7]), let inode = UInt64(words[9])
            else { return nil }
            // In words of 32 bits as the kernel has them in memory, the first byte of the address first.
            let first = UInt32(words[1].prefix(8), radix: 16)?.bigEndian ?? 0
            let isOfGroup = words[1].utf8.count > 13 ? first >> 24 == 0xFF : first >> 28 == 0xE
            return Entry(user: user, inode: inode, isOfGroup: isOfGroup)
        }
    }

    /// A socket of IPv6 may have the port of both families.
    private static func owners(of kind: String, _ family: AddressFamily, port: UInt16) -> [PortOwner] {
        let tables = family == .ipv4 ? [kind, kind + "6"] : [kind + "6"]
        return tables.flatMap { table -> [PortOwner] in
            guard let lines = ProcFile.text("/proc/thread-self/net/\(table)") else { return [] }
            return entries(in: lines, port: port, listening: kind == "tcp").map { entry in
                var name = [CChar](repeating: 0, count: 32)
                let process = unsafe nwp_socket_owner(entry.inode, &name, name.count)
                guard process > 0 else { return PortOwner(user: entry.user) }
                return PortOwner(user: entry.user, process: process, name: text(name))
            }
        }
    }

    private static func text(_ name: [CChar]) -> String? {
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.isEmpty ? nil : text
    }
}

extension PortOwner: CustomStringConvertible {
    /// The owner in a few words, such as `dnsmasq (process 812)`.
    public var description: String {
        guard let process else { return "a program of user \(user)" }
        return name.map { "\($0) (process \(process))" } ?? "process \(process)"
    }
}
