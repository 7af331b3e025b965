// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import MulticastDNS
internal import Spelling

/// What `nwpath advertise` was told to advertise, as people write it.
struct AdvertiseRequest: Hashable, Sendable {
    var name = ""
    /// The type, such as `_http._tcp`.
    var type = ""
    /// Its port, from 0 to 65535.
    var port = ""
    /// The pairs of the text, `key=value`, or `key` alone.
    var pairs: [String] = []
    var subtypes: [String] = []
    /// Where it runs; `nil` is this machine.
    var host: String?
    /// The addresses of `host`, when nobody else answers for it.
    var addresses: [IPAddress] = []
    var interface: String?

    /// The registration.
    /// - Throws: What is wrong with it.
    func registration() throws(RegistrationError) -> ServiceRegistration {
        guard let port = portNumber else { throw .serviceType(type) }
        let name = ComposedText.compose(name) ?? name
        var service = ServiceRegistration(name: Array(name.utf8), type: type, port: port)
        service.text = pairs.map(Self.entry)
        service.subtypes = subtypes.map { Array((ComposedText.compose($0) ?? $0).utf8) }
        service.interfaces = interface.map { [$0] }
        if let host {
            let name = try NameRules.hostName(host)
            service.host = addresses.isEmpty ? .existing(name) : .claimed(name, addresses: addresses)
        }
        try service.validate()
        return service
    }

    private var portNumber: UInt16? { Self.number(port) }

    private static func number(_ text: String) -> UInt16? {
        text.utf8.allSatisfy { (48...57).contains($0) } ? UInt16(text) : nil
    }

    /// The arguments in the right order, when they are in another one.
    private var reordered: String? {
        guard BrowseTarget(type) == nil || portNumber == nil else { return nil }
        var words = [name, type, port]
        guard let typeIndex = words.firstIndex(where: { BrowseTarget($0) != nil }) else { return nil }
        let type = words.remove(at: typeIndex)
        guard let portIndex = words.lastIndex(where: { Self.number($0) != nil }) else { return nil }
        let port = words.remove(at: portIndex)
        return [words[0], type, port].map { PrintableText.quote($0) }.joined(separator: " ")
    }

    /// What is wrong with the command line; `nil` when nothing is.
    var complaint: String? {
        if let reordered { return "the order is NAME TYPE PORT (did you mean \(reordered)?)" }
        if portNumber == nil {
            return "PORT is \(PrintableText.quote(port)), expected a whole number from 0 to 65535"
        }
        if host == nil && !addresses.isEmpty { return "--address needs --host" }
        do {
            _ = try registration()
            return nil
        } catch {
            var sentence = error.description
            if case .serviceType = error, let nearest = BrowseTarget.nearest(to: type), nearest != type {
                sentence += " (did you mean \(PrintableText.quote(nearest))?)"
            }
            return sentence
        }
    }

    /// A key without `=` has no value, which differs from an empty one (rule D7).
    private static func entry(_ pair: String) -> TextRecord.Entry {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return TextRecord.Entry(key: String(parts[0]), value: parts.count == 2 ? Array(parts[1].utf8) : nil)
    }
}
