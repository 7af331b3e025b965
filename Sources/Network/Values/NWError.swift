// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Glibc
internal import LinuxIO

/// Why something of the network did not work.
public enum NWError: Error, Hashable, Sendable {
    /// The kernel said so.
    ///
    /// Indirect because the code's size is known only at run time: every state that may hold an error would be copied and
    /// compared through the runtime.
    indirect case posix(POSIXErrorCode)
    /// A name or a service could not be looked up or registered.
    case dns(DNSServiceErrorType)
    /// TLS failed, with a code of Apple's Security framework.
    case tls(OSStatus)

    /// The error of an error number of the kernel; one that Swift has no name for becomes `EIO`.
    init(_ number: Errno) { self = .posix(POSIXErrorCode(rawValue: number.rawValue) ?? .EIO) }

    /// The domain of the error, as `NSError` would have it.
    public static var errorDomain: String { "Network.NWError" }

    /// The code, without its kind.
    public var errorCode: Int {
        switch self {
        case .posix(let code): Int(code.rawValue)
        case .dns(let code): Int(code)
        case .tls(let code): Int(code)
        }
    }

    /// What people read.
    public var localizedDescription: String {
        "The operation couldn’t be completed. (\(Self.errorDomain) error \(errorCode) - \(words))"
    }

    private var words: String {
        switch self {
        case .posix(let code): Self.text(of: Errno(code.rawValue))
        case .dns(let code): DNSServiceErrorText.text(of: code)
        case .tls: "TLS"
        }
    }

    /// The words of strerror(3), without the name of the number.
    private static func text(of number: Errno) -> String {
        let (text, name) = (number.description, " (\(number.name))")
        return text.hasSuffix(name) ? String(text.dropLast(name.count)) : text
    }
}

extension NWError: CustomDebugStringConvertible {
    /// Such as `POSIXErrorCode(rawValue: 111): Connection refused` or `-65554: NoSuchRecord`.
    public var debugDescription: String {
        switch self {
        case .posix(let code): "POSIXErrorCode(rawValue: \(code.rawValue)): \(words)"
        case .dns(let code), .tls(let code): "\(code): \(words)"
        }
    }
}
