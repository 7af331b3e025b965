// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Which `Host` a request may name.
///
/// A web page can make a browser send requests to an address of its choice under a name of its choice (DNS
/// rebinding). Only a name that nobody else can point at this machine is served.
struct HostPolicy: Equatable {
    /// Names the operator configured, in lower case.
    let names: Set<String>

    init(names: [String]) {
        self.names = Set(names.map { $0.lowercased() })
    }

    /// Whether `host`, a `Host` field or an authority, is served: `localhost`, an IP literal, or a configured name.
    func allows(_ host: String) -> Bool {
        guard let name = Self.name(of: host) else { return false }
        if name == "localhost" || names.contains(name) { return true }
        return IPAddress(name) != nil
    }

    /// The name without port and trailing dot, in lower case; `nil` when the text is no host at all.
    static func name(of host: String) -> String? {
        var name = host[...]
        var port: Substring?
        if name.hasPrefix("[") {
            guard let end = name.firstIndex(of: "]") else { return nil }
            let after = name[name.index(after: end)...]
            guard after.isEmpty || after.hasPrefix(":") else { return nil }
            port = after.isEmpty ? nil : after.dropFirst()
            name = name[..<end].dropFirst()
            guard IPAddress(String(name))?.family == .ipv6 else { return nil }
        } else if let colon = name.firstIndex(of: ":") {
            port = name[colon...].dropFirst()
            name = name[..<colon]
        }
        if let port {
            guard port.utf8.allSatisfy({ (48...57).contains($0) }), port.utf8.count <= 5 else { return nil }
        }
        if name.hasSuffix(".") { name.removeLast() }
        return name.isEmpty ? nil : name.lowercased()
    }
}
