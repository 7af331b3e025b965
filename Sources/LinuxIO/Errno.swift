// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc

/// A positive error number of the kernel, errno(3).
public struct Errno: Error, Hashable, Sendable {
    /// The number, such as 105 for `ENOBUFS`.
    public let rawValue: Int32

    /// Wraps an error number; a negative one, as netlink and our shims return it, is turned around.
    public init(_ number: Int32) {
        rawValue = number < 0 ? -number : number
    }

    /// The calling thread's `errno`.
    public static var current: Errno { Errno(errno) }

    /// The symbolic name, such as `ENOBUFS`; `E` and the number where the C library knows none.
    public var name: String {
        let name = unsafe String(cString: nwp_errno_name(rawValue))
        return name.isEmpty ? "E\(rawValue)" : name
    }

    /// Converts the result of a shim (a value, or a negative error number) into a value or a throw.
    static func check(_ result: Int32) throws(Errno) -> Int32 {
        guard result >= 0 else { throw Errno(result) }
        return result
    }
}

extension Errno {
    /// Whether this machine or process lacks what the call needs: local ports, descriptors or memory.
    ///
    /// `ENOBUFS` may as well mean that a queue of an interface drops a packet.
    public var isShortage: Bool {
        [EAGAIN, EADDRINUSE, EMFILE, ENFILE, ENOMEM].contains(rawValue)
    }
}

extension Errno: CustomStringConvertible {
    /// The text of strerror(3) with the name, such as `No buffer space available (ENOBUFS)`.
    public var description: String {
        let text = unsafe String(cString: nwp_errno_text(rawValue))
        return text.isEmpty ? name : "\(text) (\(name))"
    }
}

extension Errno {
    /// `EAGAIN`: nothing to read now, or no room to write.
    public static let again = Errno(EAGAIN)
    /// `EINTR`: a signal arrived first.
    public static let interrupted = Errno(EINTR)
    /// `ENOBUFS`: the socket's receive buffer overran and messages were lost.
    public static let noBufferSpace = Errno(ENOBUFS)
    /// `ENOSPC`: the device is full.
    public static let noSpace = Errno(ENOSPC)
    /// `ENOENT`: there is no such file.
    public static let noEntry = Errno(ENOENT)
    /// `EEXIST`: the file exists.
    public static let exists = Errno(EEXIST)
    /// `EACCES`: permission denied.
    public static let accessDenied = Errno(EACCES)
    /// `EPERM`: operation not permitted.
    public static let notPermitted = Errno(EPERM)
    /// `EADDRNOTAVAIL`: the address is none of this machine's.
    public static let addressNotAvailable = Errno(EADDRNOTAVAIL)
    /// `EADDRINUSE`: the address or port is in use.
    public static let addressInUse = Errno(EADDRINUSE)
    /// `EINVAL`: an argument is not valid.
    public static let invalid = Errno(EINVAL)
    /// `EPIPE`: the reader is gone.
    public static let brokenPipe = Errno(EPIPE)
    /// `ETIMEDOUT`: no answer in time.
    public static let timedOut = Errno(ETIMEDOUT)
}
