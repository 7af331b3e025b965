// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The interface that new sockets of this process are bound to without having requested it.
///
/// `ip vrf exec` runs a program in a control group whose BPF program binds each new socket of IPv4 and IPv6.
public enum SocketBinding {
    /// The name of the interface or VRF; `nil` where sockets are bound to nothing, or none can be made.
    public static func inherited() -> String? {
        let number = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var name = [UInt8](repeating: 0, count: Int(IF_NAMESIZE))
        var size = socklen_t(name.count)
        guard unsafe getsockopt(number, SOL_SOCKET, SO_BINDTODEVICE, &name, &size) == 0, size > 1 else { return nil }
        return String(decoding: name.prefix(Int(size)).prefix { $0 != 0 }, as: UTF8.self)
    }
}
