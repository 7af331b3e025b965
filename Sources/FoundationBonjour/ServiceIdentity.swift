// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import MulticastDNS
internal import Network

/// The name of a service as programs write it, checked.
struct ServiceIdentity: Hashable, Sendable {
    /// One label; empty for the name of the machine.
    let name: String
    /// The full name of the type.
    let type: DomainName
    /// The type without the domain, such as `_http._tcp`; whether it may be registered is checked by who publishes.
    let registeredType: String
    /// Further names under which it can be found.
    let subtypes: [String]

    /// Checks the parts of a service.
    /// - Throws: ``NetService/ErrorCode/badArgumentError``.
    init(domain: String, type: String, name: String) throws(NetService.ErrorCode) {
        let parts = type.split(separator: ",", omittingEmptySubsequences: false).map { Self.withoutDot(String($0)) }
        guard ServiceNames.isLinkLocal(domain), let first = parts.first.flatMap({ BrowsableType($0) }),
            !parts.contains(""), name.utf8.count <= DomainName.maximumLabelLength
        else { throw .badArgumentError }
        self.name = name
        self.type = first.name
        registeredType = first.description
        subtypes = Array(parts.dropFirst())
    }

    /// The full names that the instance may have; none when it has no name.
    var instances: [DomainName] { ServiceNames.instances(name, of: type) }

    private static func withoutDot(_ text: String) -> String { text.hasSuffix(".") ? String(text.dropLast()) : text }
}
