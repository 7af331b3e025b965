// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON

extension Event {
    /// The envelope of every record.
    public static var form: Form { EventEnvelope.form }
}

/// The JSON Schema of records (draft 2020-12).
public enum EventSchema {
    public static var document: JSONValue {
        var writer = SchemaWriter(.records)
        let envelope = writer.members(of: .object().members(of: Event.form).optional("cause", EventCause.form))
        var schema = JSONObject()
        schema["$schema"] = .string("https://json-schema.org/draft/2020-12/schema")
        schema["$id"] = .string("https://nwpath.invalid/schema/event-1.json")
        schema["title"] = .string(Event.schema)
        schema["description"] = .string(sentence)
        schema["type"] = .string("object")
        for member in envelope.members { schema[member.key] = member.value }
        schema["allOf"] = .array(EventName.allCases.map { .object(rule(of: $0, &writer)) })
        // Of the identifiers in streams: no record has one.
        _ = writer.schema(of: .position)
        schema["$defs"] = .object(writer.definitions)
        return .object(schema)
    }

    private static let sentence =
        "One record of the event log and of the event streams. Additive changes keep the schema: readers must ignore "
        + "unknown members. The members of the envelope come first, in the order of `required`."

    /// A record of that name has the data of the name, or says why it could not be written.
    private static func rule(of name: EventName, _ writer: inout SchemaWriter) -> JSONObject {
        let unencodable = object("required", .array([.string("encoding_error")]))
        let isNamed = object("event", .object(object("const", .string(name.rawValue))))
        var rule = object("if", .object(object("properties", .object(isNamed))))
        rule["then"] = .object(
            object("anyOf", .array([.object(writer.members(of: name.form)), .object(unencodable)]))
        )
        return rule
    }

    private static func object(_ key: String, _ value: JSONValue) -> JSONObject {
        var object = JSONObject()
        object[key] = value
        return object
    }
}
