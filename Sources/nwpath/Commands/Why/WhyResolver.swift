// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import LinuxIO
internal import Synchronization

/// Asks the C library for the addresses of a name, on a thread of its own: it may take as long as it likes.
enum WhyResolver {
    enum Answer: Equatable {
        case addresses([IPAddress])
        case failed(String)
        case timedOut
    }

    /// What the thread and its maker share.
    private final class Box: Sendable {
        let answer = Mutex<Answer?>(nil)
    }

    /// Resolves `name`, giving up after `limit`.
    static func resolve(_ name: String, limit: Duration) -> Answer {
        let box = Box()
        do {
            try DetachedThread.start {
                let answer = lookUp(name)
                box.answer.withLock { $0 = answer }
            }
        } catch {
            return .failed("no thread: error \(error.rawValue)")
        }
        var rest = limit
        while rest > .zero {
            if let answer = box.answer.withLock({ $0 }) { return answer }
            usleep(2000)
            rest -= .milliseconds(2)
        }
        return box.answer.withLock { $0 } ?? .timedOut
    }

    private static func lookUp(_ name: String) -> Answer {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
        guard code == 0 else { return .failed(unsafe String(cString: gai_strerror(code)).lowercased()) }
        var addresses: [IPAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe address(entry.pointee), !addresses.contains(address), addresses.count < 64 {
                addresses.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        return .addresses(addresses)
    }

    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let socket = unsafe entry.ai_addr else { return nil }
        let offset: Int
        let count: Int
        switch unsafe entry.ai_family {
        case AF_INET: (offset, count) = (4, 4)
        case AF_INET6: (offset, count) = (8, 16)
        default: return nil
        }
        guard unsafe Int(entry.ai_addrlen) >= offset + count else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(start: socket, count: offset + count)
        return IPAddress(bytes: unsafe Array(bytes.dropFirst(offset)).span)
    }
}
