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
struct ServiceTypesDocument: JSONObjectWritable {
    let types: [String]
    let typeNames: JSONValue

    func write(to object: inout JSONObjectWriter) {
        object.write("types", types)
        object.write("type_names", typeNames)
    }

    init(_ types: [String]) {
        self.types = types
        typeNames = ServiceTypeNames.names(of: types)
    }
}

struct PastServiceDocument: JSONObjectWritable {
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

    struct Removed: JSONObjectWritable, Sendable {
        let reason: String

        func write(to object: inout JSONObjectWriter) { object.write("reason", reason) }
    }

    func write(to object: inout JSONObjectWriter) {
        object.write("name", name)
        object.write("type", type)
        object.write("type_name", typeName)
        object.write("domain", domain)
        object.write("interface", interface)
        object.write("present", present)
        object.write("first_seen", firstSeen)
        object.write("last_seen", lastSeen)
        object.write("appearances", appearances)
        object.write("removed", removed)
    }

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

// MARK: - Forms

extension ServiceTypesDocument {
    static var form: Form {
        StateDocument.form("ServiceTypes", "Types that have a service.", isFoundDirectly: true)
            .member("types", .list(of: .serviceType))
            .member(
                "type_names",
                .map(of: .text),
                "The types in plain words, by type; the type itself where there are none."
            )
    }
}

extension PastServiceDocument {
    static var form: Form {
        .named("PastService", "A service that was ever seen.")
            .member("name", .text)
            .member("type", .text)
            .typeName
            .member("domain", .text)
            .member("interface", InterfaceReference.form)
            .member("present", .truth)
            .member("first_seen", .time)
            .member("last_seen", .time)
            .member("appearances", .count, "How often it came, the first time included.")
            .member("removed", Removed.form.orNull)
    }
}

extension PastServiceDocument.Removed {
    static var form: Form { .object("How it went.").member("reason", .oneOf(RemovalReason.self)) }
}
