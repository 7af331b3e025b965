// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import LinuxIO

/// Why the server cannot serve.
public enum StatusServerError: Error, Equatable {
    /// The TCP port or unix socket `address` is served by somebody else; `owner` names who, where that can be seen.
    case addressInUse(address: String, owner: String?)
    /// `path` exists and is no socket, so it is not touched.
    case pathTaken(path: String)
    /// Something else stands where the file of our unix socket was, and is not touched.
    case replaced(path: String)
    /// The user may not listen there.
    case permissionDenied(address: String)
    case addressNotAvailable(address: String)
    /// The directory of the socket does not exist.
    case noDirectory(path: String)
    case badAddress(text: String)
    /// The socket that was handed over under `name` is no listening stream socket.
    case notListening(name: String, errno: Errno)
    /// Anything else the kernel said.
    case failed(address: String, errno: Errno)
    /// The HTTP library did not start.
    case libraryFailed
}

extension StatusServerError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .addressInUse(let address, let owner?): "cannot listen on \(address): in use by \(owner)"
        case .addressInUse(let address, nil): "cannot listen on \(address): in use by another program"
        case .pathTaken(let path): "cannot listen on unix:\(path): the path exists and is not a socket"
        case .replaced(let path):
            "unix:\(path) is no longer reachable: the socket was replaced by another file, which was not touched"
        case .permissionDenied(let address): "cannot listen on \(address): permission denied"
        case .addressNotAvailable(let address): "cannot listen on \(address): no interface has this address"
        case .noDirectory(let path): "cannot listen on unix:\(path): the directory does not exist"
        case .badAddress(let text):
            "'\(text)' is not an address to listen on; expected unix:PATH, ADDRESS:PORT or [ADDRESS]:PORT"
        case .notListening(let name, let errno):
            "cannot serve the passed socket '\(name)': \(errno); expected a listening stream socket"
        case .failed(let address, let errno): "cannot listen on \(address): \(errno)"
        case .libraryFailed: "the HTTP server did not start: libmicrohttpd refused"
        }
    }

    /// Sorts an error number of bind(2) and its companions.
    static func from(_ errno: Errno, address: String) -> StatusServerError {
        switch errno {
        case .accessDenied, .notPermitted: .permissionDenied(address: address)
        case Errno(EADDRNOTAVAIL), Errno(EAFNOSUPPORT): .addressNotAvailable(address: address)
        default: .failed(address: address, errno: errno)
        }
    }
}
