// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import MulticastDNS
internal import Spelling
internal import StatusServer

struct ServiceFilter {
    private let types: [String]
    private let name: ServiceName?
    private let glob: Glob?
    private let interface: String?

    /// Takes the parameters of a query; `nil` is any.
    ///
    /// - Parameters:
    ///   - type: A type, or several with commas between them; letter case does not count (RFC 6762 section 16).
    ///   - name: A name, or a pattern for names. A name that looks like a pattern, such as `Printer [A1]`, matches
    ///     itself too.
    ///   - interface: The interface's name.
    /// - Throws: ``Problem`` with status 400 when `name` is no pattern.
    init(type: String? = nil, name: String? = nil, interface: String? = nil) throws(Problem) {
        types = type?.split(separator: ",").map { $0.lowercased() } ?? []
        self.name = name.map(ServiceName.init)
        glob = name.flatMap { Glob($0) }
        self.interface = interface
        if let name, glob == nil, name.isEmpty || name.utf8.contains(UInt8(ascii: "[")) {
            let detail = "Parameter 'name' is \(PrintableText.quote(name)); expected \(Glob.expectation)."
            throw Problem(.badParameter, status: 400, detail: detail)
        }
    }

    func includes(_ service: Service) -> Bool {
        includes(type: service.type, name: service.name, instance: service.instance, interface: service.interface)
    }

    func includes(type: String, name shown: String, instance: DomainName, interface place: String) -> Bool {
        guard types.isEmpty || types.contains(type.lowercased()), (interface ?? place) == place else { return false }
        guard let name else { return true }
        return name.matches(shown, instance) || glob?.matches(shown) == true
    }
}

/// The name of a service as somebody wrote it: as documents show it, or as the service spells it.
///
/// Documents escape what could harm a reader, so `Lamp\n2` is shown as `Lamp\0102`. Either text names it.
struct ServiceName {
    private let text: String

    init(_ text: String) { self.text = text }

    /// Whether it names the instance, which is shown as `shown`; ASCII letter case does not count.
    func matches(_ shown: String, _ instance: DomainName) -> Bool {
        if text == shown { return true }
        guard let label = instance.firstLabel else { return false }
        let folded = Self.fold(label)
        return Self.fold(Array(text.utf8)) == folded || SafeText.bytes(of: text).map(Self.fold) == folded
    }

    private static func fold(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
    }
}
