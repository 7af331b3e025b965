// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON
internal import Spelling

struct ServiceSelection: Equatable {
    var type: String?
    /// A pattern for names; one that looks like a name, such as `Printer [A1]`, means that name too.
    var name: Glob?
    var interface: String?

    func includes(_ service: JSONValue) -> Bool {
        (type ?? service.text("type")) == service.text("type")
            && (interface ?? service.interfaceName) == service.interfaceName
            && (name.map { $0.matches(service.text("name")) || $0.description == service.text("name") } ?? true)
    }

    func concerns(_ event: JSONValue) -> Bool {
        if let service = event["service"] { return includes(service) }
        if let names = event["names"]?.array?.compactMap(\.string) {
            guard (interface ?? event.interfaceName) == event.interfaceName else { return false }
            // Of more than are named, any may be meant.
            return names.count < event["count"]?.int ?? 0 || names.contains(where: concerns(label:))
        }
        guard let found = event["service_type"]?.string else { return true }
        return (type ?? found) == found
    }

    /// Whether a name with its type, such as `Printer (_ipp._tcp)`, is meant.
    private func concerns(label: String) -> Bool {
        guard let end = label.lastIndex(of: "("), end > label.startIndex else { return true }
        let (found, kind) = (String(label[..<label.index(before: end)]), label[end...].dropFirst().dropLast())
        return (type ?? String(kind)) == kind && (name.map { $0.matches(found) || $0.description == found } ?? true)
    }

    /// The same object with those services only.
    func applied(to answer: JSONValue) -> JSONValue {
        guard var object = answer.object else { return answer }
        object["services"] = .array(answer.list("services").filter(includes))
        return .object(object)
    }
}
