// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// In which network namespace the program runs that serves a tun or tap interface.
public enum TunnelProgram: Hashable, Sendable {
    /// In that of the calling thread.
    case here
    /// In others only, where what it sends leaves from.
    case elsewhere
    /// Nobody serves it, or the program belongs to another user, or is of another PID namespace.
    case unknown
}

/// The programs that have `/dev/net/tun` open, as `/proc` shows them (proc(5)).
package enum TunPrograms {
    /// How many processes and descriptors are examined.
    static let most = 20_000

    /// The interface in the text of `/proc/PID/fdinfo/FD`, which has the line `iff:` for a descriptor of `/dev/net/tun`
    /// (`tun_chr_show_fdinfo`); `nil` for others, and for one that is attached to none.
    package static func interface(in text: String) -> String? {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("iff:") }) else { return nil }
        let name = line.dropFirst(4).drop { $0 == "\t" || $0 == " " }
        return name.isEmpty ? nil : String(name)
    }

    /// Finds out where the program runs that serves an interface of the calling thread's network namespace.
    ///
    /// One with the same name in another namespace counts as this one.
    static func find(serving interface: String) -> TunnelProgram {
        guard let own = FilePath.target(ofLink: "/proc/thread-self/ns/net"),
            let names = try? FilePath.names(in: "/proc")
        else { return .unknown }
        var left = most
        var found = TunnelProgram.unknown
        for process in names where process.utf8.allSatisfy({ (48...57).contains($0) }) {
            guard left > 0 else { break }
            let descriptors = (try? FilePath.names(in: "/proc/\(process)/fd", limit: left)) ?? []
            left -= descriptors.count + 1
            let serves = descriptors.contains { isAttached($0, of: process, to: interface) }
            guard serves, let namespace = FilePath.target(ofLink: "/proc/\(process)/ns/net") else { continue }
            if namespace == own { return .here }
            found = .elsewhere
        }
        return found
    }

    private static func isAttached(_ descriptor: String, of process: String, to interface: String) -> Bool {
        // In a container `/dev` may be a mount of its own, which the path begins with then.
        guard let file = FilePath.target(ofLink: "/proc/\(process)/fd/\(descriptor)"), file.hasSuffix("/net/tun"),
            let text = ProcFile.text("/proc/\(process)/fdinfo/\(descriptor)")
        else { return false }
        return self.interface(in: text) == interface
    }
}
