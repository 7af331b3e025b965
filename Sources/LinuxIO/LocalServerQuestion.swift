// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import Glibc

/// One question to a name server on this machine, to see whether it answers at all; nothing leaves the machine.
///
/// It asks for the address of `localhost`, which no server has to look for (RFC 6761 section 6.3), without wishing for
/// recursion. Any answer counts.
public struct LocalServerQuestion: ~Copyable {
    /// What became of it.
    public enum Outcome: Hashable, Sendable {
        case answered, refused, waiting
    }

    private let socket: FileDescriptor
    private let id: UInt16

    /// Asks the server at an address of this machine.
    /// - Throws: The kernel's error, such as `ENETUNREACH`.
    public init(to address: IPAddress) throws(Errno) {
        id = .random(in: 0 ... .max)
        let bytes = address.bytes
        var question: [UInt8] = [UInt8(id >> 8), UInt8(id & 0xFF), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 9]
        question += Array("localhost".utf8) + [0, 0, 1, 0, 1]
        let descriptor = try Errno.check(
            unsafe nwp_ask_local_server(bytes, Int32(bytes.count), question, Int32(question.count))
        )
        socket = FileDescriptor(owning: descriptor)
    }

    /// The socket's number, for an event loop to watch.
    public var descriptor: Int32 { socket.rawValue }

    /// Looks whether the answer has come.
    public func look() -> Outcome {
        while true {
            do {
                let answer = try socket.read(upTo: 512)
                if answer.count >= 12, answer[0] == UInt8(id >> 8), answer[1] == UInt8(id & 0xFF), answer[2] & 0x80 != 0
                {
                    return .answered
                }
            } catch {
                return error == .again ? .waiting : .refused
            }
        }
    }

    /// Waits for the answer, but not longer than `limit`.
    public func wait(atMost limit: Duration) -> Outcome {
        let clock = KernelClock()
        let deadline = clock.boot + limit
        while true {
            let outcome = look()
            let left = deadline - clock.boot
            guard outcome == .waiting, left > .zero else { return outcome }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            _ = unsafe poll(&entry, 1, Int32(clamping: milliseconds + 1))
        }
    }
}
