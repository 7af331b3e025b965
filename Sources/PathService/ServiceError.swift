// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventLog
public import LinuxIO
public import Netlink
public import StatusServer

/// Why the service cannot run.
public enum ServiceError: Error, Equatable {
    /// The event log cannot be used.
    case log(EventLogError)
    /// The kernel cannot be asked or heard.
    case netlink(NetlinkError)
    /// The endpoint cannot listen.
    case server(StatusServerError)
    /// The file for the recording cannot be written.
    case recording(file: String, reason: Errno)
    /// A directory cannot be made or used.
    case directory(path: String, reason: Errno)
    /// Somebody else may have prepared a file or a directory.
    case refused(FileRefusal)
    /// A socket that was handed over can be reached by others, which the configuration does not allow.
    case exposed(address: String, name: String)
    /// A certificate, a key or the token that the configuration names cannot be used.
    case unprotected(key: String, reason: String)
    /// Too few files may be open at a time.
    case tooFewDescriptors(limit: Int, needed: Int)
    /// The event loop cannot be made.
    case loop(Errno)
}

extension ServiceError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .log(let error): error.description
        case .netlink(.noSocket(let step, let code)):
            "no netlink: \(step): \(Errno(code)); the service needs AF_NETLINK sockets (a sandbox may forbid them)"
        case .netlink(let error): "the kernel did not answer over netlink: \(error)"
        case .server(let error): error.description
        case .recording(let file, let reason): "\(file): cannot write the recording: \(reason)"
        case .directory(let path, let reason): "\(path): cannot use the directory: \(reason)"
        case .refused(let refusal): refusal.description
        case .exposed(let address, let name):
            "\(address), passed as socket '\(name)', is reachable from other hosts: set TLS, passwords or a token, "
                + "use a loopback address, or set insecure: true"
        case .unprotected(let key, let reason): "\(key): \(reason)"
        case .tooFewDescriptors(let limit, let needed):
            "the limit of open files is \(limit), and the service needs \(needed) at least: "
                + "raise it with 'ulimit -n \(needed)', or with LimitNOFILE= in its systemd unit"
        case .loop(let reason): "cannot make an event loop: \(reason)"
        }
    }
}
