// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Renders forms as JSON Schema (draft 2020-12) and gathers the named ones, to which references lead.
public struct SchemaWriter {
    public enum Style: Sendable {
        /// The components of an OpenAPI document.
        case components
        /// The definitions of a schema of one document.
        case definitions
        /// The definitions of the schema of records, which is true of what earlier versions wrote as well.
        case records
    }

    /// The named forms so far, by name.
    public private(set) var definitions = JSONObject()
    /// What they were rendered from.
    public private(set) var forms: [String: Form] = [:]
    private let style: Style

    public init(_ style: Style) { self.style = style }

    /// The schema of a form; what it refers to is among ``definitions`` from then on.
    public mutating func schema(of form: Form) -> JSONValue { .object(object(of: form)) }

    /// The members of an object as the keywords `properties` and `required`, where there are any.
    public mutating func members(of form: Form) -> JSONObject { keywords(of: form.members) }

    private mutating func keywords(of members: [Form.Member]) -> JSONObject {
        var (properties, schema) = (JSONObject(), JSONObject())
        for member in members {
            var property = object(of: member.form)
            if let sentence = sentence(of: member) { property["description"] = .string(sentence) }
            properties[member.key] = .object(property)
        }
        let required = members.filter { isRequired($0) }.map { JSONValue.string($0.key) }
        if !members.isEmpty { schema["properties"] = .object(properties) }
        if !required.isEmpty { schema["required"] = .array(required) }
        return schema
    }

    private func isRequired(_ member: Form.Member) -> Bool {
        switch member.presence {
        case .always: true
        case .added: style != .records
        // Only the service writes records.
        case .served: style == .records
        case .optional: false
        }
    }

    private func sentence(of member: Form.Member) -> String? {
        let isAbsent = member.presence == .served && !isRequired(member)
        let parts = [member.sentence, isAbsent ? "Absent in what a command finds out without the service." : nil]
        let text = parts.compactMap(\.self).joined(separator: " ")
        return text.isEmpty ? nil : text
    }

    private mutating func object(of form: Form) -> JSONObject {
        var schema = keywords(of: form.kind)
        if let sentence = form.sentence { schema["description"] = .string(sentence) }
        return schema
    }

    private mutating func keywords(of kind: Form.Kind) -> JSONObject {
        switch kind {
        case .truth: typed("boolean")
        case .text(let pattern): typed("string", ("pattern", pattern.map { .string($0) }))
        case .integer(let least, let most): bounded("integer", least, most)
        case .number(let least, let most): bounded("number", least, most)
        case .choice(let words): typed("string", ("enum", .array(words.map { .string($0) })))
        case .constant(let text): typed("string", ("const", .string(text)))
        case .list(let element): typed("array", ("items", schema(of: element)))
        case .map(let value): typed("object", ("additionalProperties", schema(of: value)))
        case .object(let members): typed("object", keywords(of: members))
        case .anyObject: typed("object")
        case .nullable(let form): nullable(form)
        case .either(let forms): one("anyOf", .array(forms.map { schema(of: $0) }))
        case .extended(let form, let members):
            one("allOf", .array([schema(of: form), .object(typed("object", keywords(of: members)))]))
        case .named(let name, let form): reference(to: name, form)
        }
    }

    private mutating func reference(to name: Form.Name, _ form: Form) -> JSONObject {
        let key = style == .records ? name.definition : name.component
        if definitions[key] == nil {
            // Its position is before those of the types it refers to.
            definitions[key] = .null
            forms[key] = Form(.named(name, form))
            definitions[key] = schema(of: form)
        }
        return one("$ref", .string((style == .components ? "#/components/schemas/" : "#/$defs/") + key))
    }

    private mutating func nullable(_ form: Form) -> JSONObject {
        var schema = object(of: form)
        guard let type = schema["type"], schema["properties"] == nil else {
            return one("anyOf", .array([.object(schema), .object(typed("null"))]))
        }
        schema["type"] = .array([type, .string("null")])
        if let words = schema["enum"]?.array { schema["enum"] = .array(words + [.null]) }
        return schema
    }

    private func bounded(_ type: String, _ least: Int?, _ most: Int?) -> JSONObject {
        typed(
            type,
            ("minimum", least.map { .integer(Int64($0)) }),
            ("maximum", most.map { .integer(Int64($0)) })
        )
    }

    private func typed(_ type: String, _ keywords: (key: String, value: JSONValue?)...) -> JSONObject {
        var schema = one("type", .string(type))
        for keyword in keywords { schema[keyword.key] = keyword.value }
        return schema
    }

    private func typed(_ type: String, _ keywords: JSONObject) -> JSONObject {
        var schema = one("type", .string(type))
        for keyword in keywords.members { schema[keyword.key] = keyword.value }
        return schema
    }

    private func one(_ key: String, _ value: JSONValue) -> JSONObject {
        var schema = JSONObject()
        schema[key] = value
        return schema
    }
}
