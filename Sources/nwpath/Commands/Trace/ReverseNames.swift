// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import LinuxIO
internal import Synchronization

/// Looks up the names of addresses by the C library (nsswitch.conf(5)), on threads of their own: they may wait.
enum ReverseNames {
    /// How many wait at a time.
    private static let threads = 16
    private static let longest = 1025

    /// What the threads and their maker share.
    private final class Box: Sendable {
        struct Work {
            var pending: [IPAddress]
            var running = 0
            var names: [IPAddress: String] = [:]
        }

        let work: Mutex<Work>

        init(_ addresses: [IPAddress]) { work = Mutex(Work(pending: addresses)) }

        func next() -> IPAddress? {
            work.withLock { work in
                let address = work.pending.popLast()
                if address == nil { work.running -= 1 }
                return address
            }
        }
    }

    /// The names that are found in time.
    static func find(_ addresses: [IPAddress], limit: Duration) -> [IPAddress: String] {
        let box = Box(addresses.reversed())
        for _ in addresses.prefix(threads) {
            box.work.withLock { $0.running += 1 }
            do {
                try DetachedThread.start {
                    while let address = box.next() {
                        guard let name = name(of: address) else { continue }
                        box.work.withLock { $0.names[address] = name }
                    }
                }
            } catch {
                box.work.withLock { $0.running -= 1 }
            }
        }
        let (clock, step) = (KernelClock(), Duration.milliseconds(2))
        let end = clock.boot + limit
        while clock.boot < end, box.work.withLock({ $0.running > 0 }) { Pause.sleep(step) }
        return box.work.withLock { $0.names }
    }

    /// The name of getnameinfo(3), `nil` without one.
    private static func name(of address: IPAddress) -> String? {
        var name = [CChar](repeating: 0, count: longest)
        let code: Int32
        switch address {
        case .v4(let value):
            var raw = sockaddr_in()
            raw.sin_family = sa_family_t(AF_INET)
            raw.sin_addr.s_addr = value.bigEndian
            code = read(&raw, &name)
        case .v6:
            var raw = sockaddr_in6()
            raw.sin6_family = sa_family_t(AF_INET6)
            unsafe withUnsafeMutableBytes(of: &raw.sin6_addr) { unsafe $0.copyBytes(from: address.bytes) }
            code = read(&raw, &name)
        }
        guard code == 0 else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func read<Raw>(_ raw: inout Raw, _ name: inout [CChar]) -> Int32 {
        unsafe withUnsafePointer(to: &raw) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let length = socklen_t(MemoryLayout<Raw>.size)
                return unsafe getnameinfo(address, length, &name, socklen_t(name.count), nil, 0, NI_NAMEREQD)
            }
        }
    }
}
