// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import OrderedJSON
internal import PathService
internal import StatusServer
internal import TestSupport
internal import nwpath

/// The forms of everything that the service publishes and commands print, by what an object says of itself.
enum PublishedForms {
    private static let documents: [String: Form] = {
        let named = (DocumentForms.all + [EventPage.form] + CommandForms.all).compactMap { form in
            schema(of: form).map { ($0, form) }
        }
        return Dictionary(named) { first, _ in first }
    }()

    private static let targets = DocumentForms.all.first { form in
        guard case .named(let name, _) = form.kind else { return false }
        return name.component == "ScrapeTargets"
    }

    private static let events = Dictionary(
        uniqueKeysWithValues: EventName.allCases.map { name in
            (name.rawValue, Form.object().members(of: Event.form).members(of: name.form))
        }
    )

    /// What an object or a list of them breaks.
    static func problems(of value: JSONValue, by author: LiveJSON.Author) -> [String] {
        if let list = value.array {
            return list.first?["targets"] == nil
                ? list.flatMap { problems(of: $0, by: author) } : targets?.problems(in: value) ?? []
        }
        if let type = value["type"]?.string, type.hasPrefix("about:") || type.hasPrefix("/problems/") {
            return Problem.form.problems(in: value)
        }
        guard let schema = value["schema"]?.string, schema.hasPrefix("nwpath.") else { return [] }
        if schema == Event.schema { return problems(ofEvent: value, author) }
        guard let form = documents[schema] else { return ["\(schema): nowhere declared"] }
        return problems(ofDocument: value, form, author)
    }

    private static func problems(ofEvent value: JSONValue, _ author: LiveJSON.Author) -> [String] {
        guard let form = value["event"]?.string.flatMap({ events[$0] }) else { return ["event: nowhere declared"] }
        // A whole document, in `stream.reset`.
        let snapshot = value["snapshot"].map { problems(of: $0, by: author) } ?? []
        return form.problems(in: value) + snapshot
    }

    /// The records of a page are declared by their envelope only.
    private static func problems(ofDocument value: JSONValue, _ form: Form, _ author: LiveJSON.Author) -> [String] {
        guard let records = value["events"]?.array, var object = value.object else {
            let problems = form.problems(in: value)
            guard author == .command, !problems.isEmpty else { return problems }
            let direct = form.problems(in: value, withoutService: true)
            return direct.count < problems.count ? direct : problems
        }
        object["events"] = []
        return form.problems(in: .object(object)) + records.flatMap { problems(of: $0, by: author) }
    }

    /// What an object of the form says of itself.
    private static func schema(of form: Form) -> String? {
        switch form.kind {
        case .constant(let schema): schema
        case .named(_, let form): schema(of: form)
        case .either(let forms): forms.first.flatMap(schema)
        default: form.members.first { $0.key == "schema" }.flatMap { schema(of: $0.form) }
        }
    }
}
