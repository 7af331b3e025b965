// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import OrderedJSON
import TestSupport
import Testing

@testable import PathService
@testable import StatusServer

/// The rules of docs/api.md for names, held against the schemas of all documents and events.
@Suite struct DocumentNamesTests {
    private static func description() throws -> JSONValue {
        let bytes = try APIDescription { DocumentForms.all }.described().content.bytes
        return try JSONValue(parsing: Array(bytes), limits: JSONLimits(size: 1 << 20))
    }

    /// All objects of the schemas, with the way there; problem documents have the names of RFC 9457.
    private static func everything() throws -> SchemaNames {
        var names = SchemaNames(root: try description())
        names.walk(names.root["components"]?["schemas"] ?? .null, at: "api", skipping: ["Problem"])
        var events = SchemaNames(root: EventSchema.document)
        events.walk(events.root, at: "event")
        names.faults += events.faults
        names.objects += events.objects
        return names
    }

    @Test
    func `one word for the sentence and the action, seconds, interfaces as objects, null only where always there`()
        throws
    {
        let names = try Self.everything()
        #expect(names.faults.isEmpty, "\(names.faults.joined(separator: "\n"))")
        #expect(names.objects > 60)
    }

    @Test(arguments: [
        (#"{"why":{"type":"string"}}"#, "why: not a name"), (#"{"took_ms":{"type":"number"}}"#, "took_ms: not a name"),
        (#"{"ms":{"type":"integer"}}"#, "ms: not a name"),
        (#"{"interface":{"type":"string"}}"#, "interface: no object with name"),
        (#"{"interfaces":{"type":"array","items":{"type":"string"}}}"#, "interfaces: no objects with name"),
        (#"{"hint":{"type":["string","null"]}}"#, "hint: null, and may be left out"),
        (#"{"hint":{"anyOf":[{"type":"string"},{"type":"null"}]}}"#, "hint: null, and may be left out"),
        (#"{"previous":{"type":"object"}}"#, "previous: not of the shape of what it was"),
    ])
    func `what breaks a rule is found`(properties: String, fault: String) throws {
        let schema = try JSONValue(parsing: #"{"type":"object","properties":\#(properties)}"#)
        var names = SchemaNames(root: schema)
        names.walk(schema, at: "")
        #expect(names.faults == ["." + fault])
    }

    @Test func `every answer in JSON begins with its schema, named like its component`() throws {
        let description = try Self.description()
        // A configuration, targets of Prometheus and descriptions are in forms of their own.
        let foreign = ["Configuration", "ScrapeTargets", "Schema"]
        var seen = 0
        for path in description["paths"]?.object?.members ?? [] {
            for operation in path.value.object?.members ?? [] {
                let answer = operation.value["responses"]?["200"]?["content"]?["application/json"]?["schema"]
                guard let name = answer?["$ref"]?.string?.split(separator: "/").last.map(String.init),
                    !foreign.contains(name)
                else { continue }
                let schema = description["components"]?["schemas"]?[name]
                #expect(schema?["properties"]?.object?.keys.first == "schema", "\(path.key)")
                let word = schema?["properties"]?["schema"]?["const"]?.string
                #expect(word == "nwpath.\(name.lowercased())/1", "\(path.key)")
                #expect(schema?["required"]?.array?.first?.string == "schema", "\(path.key)")
                seen += 1
            }
        }
        #expect(seen >= 16)
    }

    @Test func `every reference leads to a schema, and each of them is reached`() throws {
        let description = try Self.description()
        func references(_ value: JSONValue) -> [String] {
            let members = value.object?.members ?? []
            let inside = (value.array ?? members.map(\.value)).flatMap(references)
            return (value["$ref"]?.string.map { [$0] } ?? []) + inside
        }
        let place = "#/components/schemas/"
        let found = Set(
            references(description).filter { $0.hasPrefix(place) }.map { String($0.dropFirst(place.count)) }
        )
        #expect(found == Set(description["components"]?["schemas"]?.object?.keys ?? []))
    }
}

/// Walks a JSON Schema and notes what breaks the rules for names.
private struct SchemaNames {
    let root: JSONValue
    var faults: [String] = []
    /// How many objects were looked at.
    var objects = 0

    /// What the sentence and the action were called before there was one word for each.
    private static let former: Set = [
        "why", "say", "sentence", "detail", "because", "action", "advice", "text", "summary",
    ]

    init(root: JSONValue) { self.root = root }

    mutating func walk(_ value: JSONValue, at place: String, skipping: Set<String> = []) {
        switch value {
        case .array(let items): for item in items { walk(item, at: place) }
        case .object(let object):
            if let properties = object["properties"]?.object { check(properties, of: value, at: place) }
            for member in object.members where !skipping.contains(member.key) {
                let isStructure = ["properties", "items", "allOf", "anyOf", "oneOf", "then", "$defs"].contains(
                    member.key
                )
                walk(member.value, at: isStructure ? place : "\(place).\(member.key)")
            }
        default: break
        }
    }

    private mutating func check(_ properties: JSONObject, of schema: JSONValue, at place: String) {
        objects += 1
        let required = Set((schema["required"]?.array ?? []).compactMap(\.string))
        for member in properties.members {
            let (name, property) = (member.key, member.value)
            if let fault = fault(of: name, property, among: properties) {
                faults.append("\(place).\(name): \(fault)")
            } else if isNullable(property) && !required.contains(name) {
                faults.append("\(place).\(name): null, and may be left out")
            }
        }
    }

    private func fault(of name: String, _ property: JSONValue, among properties: JSONObject) -> String? {
        let unit = name.split(separator: "_").last ?? ""
        if Self.former.contains(name) || ["ms", "us", "ns", "msec", "sec", "secs", "milliseconds"].contains(unit) {
            return "not a name"
        }
        switch name {
        case "interface": return isNamed(property) ? nil : "no object with name"
        case "interfaces": return property["items"].map(isNamed) == true ? nil : "no objects with name"
        case "previous":
            let things = properties.members.filter { $0.key != "previous" }.flatMap { references($0.value) }
            return references(property).contains(where: things.contains) ? nil : "not of the shape of what it was"
        default: return nil
        }
    }

    /// Whether it is an object that always has a `name`, or `null`.
    private func isNamed(_ property: JSONValue) -> Bool {
        let choices = property["anyOf"]?.array ?? property["oneOf"]?.array ?? [property]
        return choices.allSatisfy { choice in
            if choice["type"]?.string == "null" { return true }
            let object = resolve(choice)
            return object["required"]?.array?.contains(.string("name")) == true
        }
    }

    private func references(_ property: JSONValue) -> [String] {
        let parts = ["allOf", "anyOf", "oneOf"].flatMap { property[$0]?.array ?? [] }
        return (parts + [property]).compactMap { $0["$ref"]?.string }
    }

    private func isNullable(_ property: JSONValue) -> Bool {
        let choices = (property["anyOf"]?.array ?? []) + (property["oneOf"]?.array ?? []) + [property]
        return choices.contains { choice in
            choice["type"]?.string == "null" || choice["type"]?.array?.contains(.string("null")) == true
        }
    }

    private func resolve(_ schema: JSONValue) -> JSONValue {
        guard let reference = schema["$ref"]?.string else { return schema }
        return reference.split(separator: "/").dropFirst().reduce(root) { $0[String($1)] ?? .null }
    }
}
