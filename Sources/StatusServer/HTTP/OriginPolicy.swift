// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Which `Origin` a request may have that changes something or opens a WebSocket.
///
/// A browser lets any page send such requests to any server, and only tells the page's origin (RFC 6454; Fetch standard
/// section 3.2). A page of somebody else's must not act, or listen, through the browser of somebody who may. Programs
/// send no `Origin`.
struct OriginPolicy: Equatable {
    let hosts: HostPolicy

    private static let ports = ["http": "80", "https": "443"]

    /// Whether a request from a page of `origin` is wanted at `host`, the authority that was asked.
    ///
    /// The page that this server sent has the same authority, one that is served here. Behind a proxy, whose authority
    /// is another one, the configured names count.
    func allows(_ origin: String?, at host: String?) -> Bool {
        guard let origin = origin?.lowercased() else { return true }
        let scheme = origin.prefix { $0 != ":" }
        let authority = origin.dropFirst(scheme.count + 3)
        guard let port = Self.ports[String(scheme)], origin.hasPrefix("\(scheme)://"), !authority.isEmpty else {
            return false
        }
        // Which scheme the client used is not known behind a proxy: a port that is left out is that of the origin's.
        let host = host?.lowercased() ?? ""
        if Self.full(authority, port: port) == Self.full(host[...], port: port) { return hosts.allows(host) }
        return HostPolicy.name(of: String(authority)).map(hosts.names.contains) ?? false
    }

    private static func full(_ authority: Substring, port: String) -> String {
        let hasPort = authority.last != "]" && authority.split(separator: "]").last?.contains(":") == true
        return hasPort ? String(authority) : "\(authority):\(port)"
    }
}
