// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import LinuxIO

/// Something of a namespace that did not become ready.
public struct NotReady: Error, CustomStringConvertible {
    /// What was waited for.
    public let description: String
}

/// What ip(8) sets off and the kernel finishes later, in work of its own that waits for the lock of all namespaces.
extension Namespace {
    /// Waits until the kernel calls a device running: up, with a carrier that was told to everybody (netdevice(7)).
    /// - Throws: ``NotReady`` when it does not within a minute.
    public func waitUntilRunning(_ device: String) throws {
        try wait(for: "\(device) to run") {
            let flags = try? inside { () throws(Errno) in try InterfaceFlags(of: device).flags }
            return flags.map { $0 & IFF_RUNNING != 0 } ?? false
        }
    }

    /// Waits until a device has IPv6 addresses of a scope, and all of them can be used: checked for duplicates, or free
    /// from that check, and routed.
    /// - Throws: ``NotReady`` when it has not within a minute.
    public func waitForAddresses(on device: String, isLinkLocal: Bool = false) throws {
        try wait(for: "the IPv6 addresses of \(device)") {
            let scope: Substring = isLinkLocal ? "20" : "00"
            let addresses = try lines(of: "if_inet6").filter { $0.count == 6 && $0[5] == device && $0[3] == scope }
            let isTentative = addresses.contains { UInt32($0[4], radix: 16).map { $0 & 0x40 != 0 } ?? true }
            guard !addresses.isEmpty, !isTentative else { return false }
            let hosts = Set(try lines(of: "ipv6_route").filter { $0.count > 1 && $0[1] == "80" }.map { $0[0] })
            return addresses.allSatisfy { hosts.contains($0[0]) }
        }
    }

    /// The words of each line of a file of `/proc/net`, as this namespace has it.
    private func lines(of file: String) throws(Errno) -> [[Substring]] {
        var bytes: [UInt8] = []
        try inside { () throws(Errno) in
            let descriptor = try FileDescriptor(opening: "/proc/thread-self/net/\(file)", flags: O_RDONLY)
            while case let chunk = try descriptor.read(upTo: 65_536), !chunk.isEmpty { bytes += chunk }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.split(separator: "\n").map { $0.split(separator: " ") }
    }

    /// Waits without giving the thread away.
    /// - Throws: ``NotReady`` when it does not hold within a minute.
    public func wait(for what: String, until condition: () throws -> Bool) throws {
        let deadline = loop.clock.boot + .seconds(60)
        while try !condition() {
            guard loop.clock.boot < deadline else { throw NotReady(description: what) }
            poll(nil, 0, 1)
        }
    }

    /// Sets a device up or down as `ip link set` does, without starting a program.
    /// - Throws: The errno of ioctl(2): `ENODEV` for a device that is not there.
    public func set(_ device: String, isUp: Bool) throws(Errno) {
        try inside { () throws(Errno) in
            let link = try InterfaceFlags(of: device)
            link.flags = isUp ? link.flags | IFF_UP : link.flags & ~IFF_UP
            try link.control(SIOCSIFFLAGS)
        }
    }
}

/// The flags of a device in the calling thread's namespace (netdevice(7)).
private final class InterfaceFlags {
    private let socket: FileDescriptor
    /// `struct ifreq`: a name of 16 bytes, then the flags.
    private var request: [UInt8]

    var flags: Int {
        get { Int(request[16]) | Int(request[17]) << 8 }
        set { request.replaceSubrange(16..<18, with: [UInt8(newValue & 0xFF), UInt8(newValue >> 8)]) }
    }

    init(of device: String) throws(Errno) {
        let name = Array(device.utf8)
        guard name.count < 16 else { throw Errno(ENODEV) }
        let raw = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        guard raw >= 0 else { throw .current }
        socket = FileDescriptor(owning: raw)
        request = name + [UInt8](repeating: 0, count: 40 - name.count)
        try control(SIOCGIFFLAGS)
    }

    func control(_ operation: Int32) throws(Errno) {
        let code = unsafe request.withUnsafeMutableBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe ioctl(socket.rawValue, UInt(operation), $0) } ?? -1
        }
        guard code == 0 else { throw .current }
    }
}
