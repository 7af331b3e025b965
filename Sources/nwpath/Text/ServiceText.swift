// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

struct ServiceText {
    let renderer: TextRenderer

    /// All services, a line each; with the TXT records below when asked for.
    func list(_ services: [JSONValue], hasText: Bool = false) -> String {
        guard !services.isEmpty else { return "" }
        var table = TextTable([
            .init("TYPE"), .init("NAME", canShrink: true), .init("INTERFACE"), .init("HOST", canShrink: true),
            .init("PORT", isTrailing: true), .init("ADDRESSES", keepsWords: true), .init("WHAT", canShrink: true),
        ])
        for service in services {
            table.add([
                .init(service.text("type")), .init(service.text("name"), .strong), .init(service.interfaceName),
                .init(service.text("host")), .init(service["port"]?.int.map(String.init) ?? ""),
                .init(service.texts("addresses").joined(separator: " ")), .init(Self.typeName(service)),
            ])
            guard hasText else { continue }
            for pair in Self.pairs(of: service) { table.addNote(.init(pair, .faint)) }
        }
        return renderer.table(table)
    }

    /// What is remembered of services, a line each.
    func past(_ services: [JSONValue]) -> String {
        guard !services.isEmpty else { return "" }
        var table = TextTable([
            .init("TYPE"), .init("NAME", canShrink: true), .init("INTERFACE"), .init("FIRST SEEN"),
            .init("LAST SEEN"), .init("CAME", isTrailing: true), .init("STATE"),
        ])
        for service in services {
            let isPresent = service.isTrue("present")
            let reason = service["removed"]?.text("reason") ?? ""
            table.add([
                .init(service.text("type")), .init(service.text("name"), .strong), .init(service.interfaceName),
                .init(AgeText.dayAndTime(service["first_seen"]?.string)),
                .init(AgeText.dayAndTime(service["last_seen"]?.string)),
                .init(service["appearances"]?.int.map { "\($0)×" } ?? ""),
                .init(isPresent ? "present" : reason.isEmpty ? "missing" : reason, isPresent ? .good : .faint),
            ])
        }
        return renderer.table(table)
    }

    /// The types, a line each, with their names.
    func types(_ answer: JSONValue) -> String {
        var table = TextTable([.init(""), .init("")])
        for type in answer.texts("types") {
            let name = answer["type_names"]?[type]?.string ?? type
            table.add([.init(type), .init(name == type ? "" : name, .faint)])
        }
        return renderer.table(table)
    }

    /// What such a service is called; empty when that is its type.
    static func typeName(_ service: JSONValue) -> String {
        let name = service.text("type_name")
        return name == service.text("type") ? "" : name
    }

    /// The pairs of the TXT record as they are, each with what it means.
    static func pairs(of service: JSONValue) -> [String] {
        (service["txt"]?.object?.members ?? []).map { pair in
            let meaning = service["txt_meanings"]?[pair.key]?.string
            return pair.key + (pair.value.string.map { "=\($0)" } ?? "") + (meaning.map { "  (\($0))" } ?? "")
        }
    }
}
