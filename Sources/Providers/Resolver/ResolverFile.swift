// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO
public import PathModel

/// A resolv.conf(5), read once.
public enum ResolverFile {
    /// What the C library makes of a file; a file that is missing or cannot be read means the server on this machine.
    public static func configuration(at path: String = "/etc/resolv.conf") -> DNSConfiguration {
        do throws(Errno) {
            let bytes = try ResolverConfigurationMonitor.read(path)
            return ResolvConf(parsing: bytes.span).configuration(source: path)
        } catch {
            return DNSConfiguration(without: path, error)
        }
    }

    /// Whether a file has a server at all; without one the C library queries this machine.
    public static func namesServer(at path: String = "/etc/resolv.conf") -> Bool {
        guard let bytes = try? ResolverConfigurationMonitor.read(path) else { return false }
        return !ResolvConf(parsing: bytes.span).servers.isEmpty
    }
}

extension DNSConfiguration {
    /// What the C library does without its file: it queries the server on this machine.
    ///
    /// A directory can be opened, but not read: then it resolves nothing (measured with glibc 2.36).
    init(without path: String, _ error: Errno) {
        self.init(source: path, unreadable: error == .noEntry ? nil : "\(error)")
        isWithoutServer = error == .noEntry
        if error.rawValue == EISDIR { servers = [] }
    }
}

extension Errno {
    /// Whether the C library goes on as if there was no resolv.conf, since the file system does not let anybody like it read
    /// the file (`__resolv_conf_load`).
    var isOfFile: Bool {
        switch rawValue {
        case EACCES, EISDIR, ELOOP, ENOENT, ENOTDIR, EPERM: true
        default: false
        }
    }
}
