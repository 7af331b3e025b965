// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventHub
internal import OrderedJSON
internal import PathService
internal import StatusServer
internal import TestSupport

/// The forms of everything that the service publishes, by what an object says of itself.
enum PublishedForms {
    /// The command's own documents, which are not published as schemas.
    private static let ofCommands: Set = [
        "advertise", "attempt", "browse", "bugreport", "census", "check", "configcheck", "logverify", "resolve",
        "summary", "version", "wait", "why",
    ]

    private static let documents: [String: Form] = {
        let named = (DocumentForms.all + [EventPage.form]).compactMap { form in
            form.members.first { $0.key == "schema" }.flatMap { schema(of: $0.form) }.map { ($0, form) }
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

    /// Documents of the same name that a command makes by itself: nobody watched before, and no log counts.
    private static let direct: [String: Form] = {
        let status = documents[DocumentSchema.name(of: "status")] ?? .object()
        let placeless = ["stream", "seq", "time", "host"]
        let replaced: [String: Form] = [
            "daemon": Form.text.orNull, "headline": without(["since"], status, "headline"),
            "monitors": .list(of: without(["since"], MonitorDocument.form)),
        ]
        return [
            "nwpath.diagnosis/1": DiagnosisDocument.form,
            "nwpath.status/1": without(["stream", "seq", "chains", "since"], status, replaced: replaced),
            "nwpath.services/1": without(placeless, documents["nwpath.services/1"] ?? .object()),
            "nwpath.servicetypes/1": without(placeless, documents["nwpath.servicetypes/1"] ?? .object()),
        ]
    }()

    private static func without(_ keys: [String], _ form: Form, _ member: String) -> Form {
        without(keys, form.members.first { $0.key == member }?.form ?? .object())
    }

    private static func without(_ keys: [String], _ form: Form, replaced: [String: Form] = [:]) -> Form {
        form.members.filter { !keys.contains($0.key) }.reduce(Form.object()) { form, member in
            let declared = replaced[member.key] ?? member.form
            return member.presence == .optional
                ? form.optional(member.key, declared) : form.member(member.key, declared)
        }
    }

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
        if author == .command, let form = direct[schema], form.problems(in: value).isEmpty { return [] }
        if let form = documents[schema] { return problems(ofDocument: value, form, author) }
        return ofCommands.contains { schema == "nwpath.\($0)/1" } ? [] : ["\(schema): nowhere declared"]
    }

    private static func problems(ofEvent value: JSONValue, _ author: LiveJSON.Author) -> [String] {
        guard let form = value["event"]?.string.flatMap({ events[$0] }) else { return ["event: nowhere declared"] }
        // A whole document, in `stream.reset`.
        let snapshot = value["snapshot"].map { problems(of: $0, by: author) } ?? []
        return form.problems(in: value) + snapshot
    }

    /// The records of a page are declared by their envelope only.
    private static func problems(ofDocument value: JSONValue, _ form: Form, _ author: LiveJSON.Author) -> [String] {
        guard let records = value["events"]?.array, var object = value.object else { return form.problems(in: value) }
        object["events"] = []
        return form.problems(in: .object(object)) + records.flatMap { problems(of: $0, by: author) }
    }

    private static func schema(of form: Form) -> String? {
        guard case .constant(let schema) = form.kind else { return nil }
        return schema
    }
}
