// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import DNSWire
internal import Documents
internal import MulticastDNS
internal import OrderedJSON
internal import Spelling
internal import StatusServer

extension DocumentStore {
    func services(_ filter: ServiceFilter) -> [ServiceDocument] {
        (services?.census.services ?? []).filter(filter.includes).map(document)
    }

    /// One service, on each interface where it is heard.
    /// - Throws: ``Problem`` with status 404 that names what may have been meant.
    func services(type: String, named name: String) throws(Problem) -> [ServiceDocument] {
        let all = services?.census.services ?? []
        let ofType = all.filter { $0.type.lowercased() == type.lowercased() }
        let wanted = ServiceName(name)
        let found = ofType.filter { wanted.matches($0.name, $0.instance) }
        guard found.isEmpty else { return found.map(document) }
        var detail = "There is no service \(PrintableText.quote(name)) of type \(PrintableText.quote(type))"
        let isName = !ofType.isEmpty
        let candidates = isName ? ofType.map(\.name) : Array(Set(all.map(\.type))).sorted()
        if let nearest = NearestSpelling.nearest(to: isName ? name : type, among: candidates) {
            detail += "; did you mean \(PrintableText.quote(nearest))?"
        } else {
            detail += "."
        }
        throw Problem(.unknownService, status: 404, detail: detail)
    }

    /// What is remembered of services, those that are gone included; sorted by instance and interface.
    func pastServices(_ filter: ServiceFilter) -> [PastServiceDocument] {
        guard let history = services?.history else { return [] }
        return history.entries.sorted { $0.key < $1.key }
            .map { PastServiceDocument($0.key, $0.value) }
            .filter {
                filter.includes(type: $0.type, name: $0.name, instance: $0.instance, interface: $0.interface.name)
            }
    }

    func scrapeTargets(_ filter: ServiceFilter, family: String?) -> [ScrapeTarget] {
        let services = (services?.census.services ?? []).filter(filter.includes)
        return ScrapeTarget.list(services, family: family.flatMap { AddressFamily(rawValue: $0) })
    }

    private func document(_ service: Service) -> ServiceDocument {
        ServiceDocument(service, clock: clock, firstSeen: services?.history.firstSeen(service))
    }
}

/// The types that have a service, with their names.
struct ServiceTypesDocument: MemberDeclaring {
    let types: [String]
    let typeNames: JSONValue

    static let members = Members<Self>(
        StateDocument.form("ServiceTypes", "Types that have a service.", isFoundDirectly: true)
    )
    .member("types", as: .serviceType) { $0.types }
    .member(
        "type_names",
        as: .map(of: .text),
        "The types in plain words, by type; the type itself where there are none."
    ) { $0.typeNames }

    init(_ types: [String]) {
        self.types = types
        typeNames = ServiceTypeNames.names(of: types)
    }
}

struct PastServiceDocument: MemberDeclaring {
    let instance: DomainName
    let name: String
    let type: String
    let typeName: String
    let domain: String
    let interface: InterfaceReference
    let present: Bool
    let firstSeen: String
    let lastSeen: String
    let appearances: Int
    var removed: Removed?

    struct Removed: MemberDeclaring, Sendable {
        let reason: String

        static let members = Members<Self>.object("How it went.")
            .member("reason", as: .oneOf(RemovalReason.self)) { $0.reason }
    }

    static let members = Members<Self>.named("PastService", "A service that was ever seen.")
        .member("name") { $0.name }
        .member("type") { $0.type }
        .typeName { $0.typeName }
        .member("domain") { $0.domain }
        .member("interface") { $0.interface }
        .member("present") { $0.present }
        .member("first_seen", as: .time) { $0.firstSeen }
        .member("last_seen", as: .time) { $0.lastSeen }
        .member("appearances", "How often it came, the first time included.") { $0.appearances }
        .member("removed") { $0.removed }

    init(_ key: ServiceHistory.Key, _ entry: ServiceHistory.Entry) {
        instance = key.instance
        let labels = key.instance.labels
        name = SafeText.text(of: labels.first ?? [])
        type = "\(key.instance.parent.prefix(2))"
        typeName = ServiceTypeNames.name(of: type)
        domain = "\(key.instance.parent.parent.parent)"
        interface = InterfaceReference(named: key.interface)
        present = entry.isPresent
        firstSeen = "\(entry.firstSeen)"
        lastSeen = "\(entry.lastSeen)"
        appearances = entry.appearances
        removed = entry.removal.map { Removed(reason: $0.rawValue) }
    }
}

extension WatchedService {
    func includes(_ service: Service) -> Bool {
        guard type.lowercased() == service.type.lowercased() else { return false }
        return name.map { ServiceName($0).matches(service.name, service.instance) } ?? true
    }
}
