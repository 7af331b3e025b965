// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
public import PathModel

/// A resolv.conf(5), read once.
public enum ResolverFile {
    /// What the C library makes of a file; a file that is missing or cannot be read means the server on this machine.
    public static func configuration(at path: String = "/etc/resolv.conf") -> DNSConfiguration {
        guard let bytes = try? ResolverConfigurationWatcher.read(path) else { return DNSConfiguration(source: path) }
        return ResolvConf(parsing: bytes.span).configuration(source: path)
    }

    /// Whether a file names a server at all; without one the C library asks this machine.
    public static func namesServer(at path: String = "/etc/resolv.conf") -> Bool {
        guard let bytes = try? ResolverConfigurationWatcher.read(path) else { return false }
        return !ResolvConf(parsing: bytes.span).servers.isEmpty
    }
}
