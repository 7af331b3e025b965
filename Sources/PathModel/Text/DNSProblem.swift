// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What keeps programs from a name server before any query (rule S35).
public enum DNSProblem: Hashable, Sendable, CustomStringConvertible {
    /// The file that has the servers could not be read; `error` is such as `Permission denied (EACCES)`.
    case unreadable(source: String, error: String)
    /// The file has no server, and none on this machine answers, which programs query instead.
    case noServer(source: String)
    /// A stub on this machine has no server to pass queries on to.
    case noUpstream(stub: String)
    /// The stub uses all its servers for some domains only.
    case domainsOnly(stub: String)

    /// Such as `/etc/resolv.conf cannot be read: Permission denied (EACCES)`.
    public var description: String {
        switch self {
        case .unreadable(let source, let error): "\(source) cannot be read: \(error)"
        case .noServer(let source): "no name server in \(source), and none answers at 127.0.0.1"
        case .noUpstream(let stub): "\(stub) has no server to pass queries on to"
        case .domainsOnly(let stub): "\(stub) uses its servers for some domains only"
        }
    }
}

extension DNSState {
    /// Why no name server is usable, such as `no name server is reachable: 192.0.2.53`.
    public var unusableText: String {
        let servers = servers.map(\.description).joined(separator: ", ")
        switch problem {
        case .unreadable(let source, let error):
            return "no name server is known, because \(source) cannot be read: \(error)"
        case .domainsOnly: return "no name server for all domains is configured: \(servers) is for some domains only"
        case .noServer(let source): return "no name server is configured in \(source), and none answers at 127.0.0.1"
        case .noUpstream, nil:
            return servers.isEmpty ? "no name server is configured" : "no name server is reachable: \(servers)"
        }
    }
}
