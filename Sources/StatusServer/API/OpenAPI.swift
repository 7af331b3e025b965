// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// Renders the table of routes as OpenAPI 3.1.
struct OpenAPI {
    static let dialect = "https://json-schema.org/draft/2020-12/schema"

    /// The schemas of all documents, by name.
    let components: JSONObject

    /// The whole document.
    var document: JSONValue {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "nwpath", "version": "1.0.0", "summary": "The network path of a Linux machine.",
                "description": """
                Documents are rendered after a change and served from memory. Additive changes keep the version: \
                readers must ignore unknown members. Every GET route answers HEAD as well, OPTIONS with 204 and \
                `Allow`, and gzip where it is accepted, but for streams. Unknown query parameters are refused.
                """,
                "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
            ],
            "jsonSchemaDialect": .string(Self.dialect), "servers": [["url": "/"]],
            "security": [[:], ["password": []], ["token": []]],
            "paths": paths,
            "components": [
                "schemas": .object(components), "responses": responses, "headers": headers, "parameters": parameters,
                "securitySchemes": [
                    "password": [
                        "type": "http", "scheme": "basic",
                        "description": "A user of `basic_auth_users`; may read.",
                    ],
                    "token": [
                        "type": "http", "scheme": "bearer",
                        "description": "The token of `token_file`; may read and change.",
                    ],
                ],
            ],
        ]
    }

    private var paths: JSONValue {
        var paths = JSONObject()
        for route in Route.all {
            var operations = paths[route.path]?.object ?? JSONObject()
            operations[route.method.rawValue.lowercased()] = operation(route)
            paths[route.path] = .object(operations)
        }
        return .object(paths)
    }

    private func operation(_ route: Route) -> JSONValue {
        var operation = JSONObject()
        operation["operationId"] = .string(route.name)
        operation["summary"] = .string(route.summary)
        if let details = route.details { operation["description"] = .string(details) }
        if !route.parameters.isEmpty { operation["parameters"] = .array(route.parameters.map(reference)) }
        var answers: [Int: JSONValue] = [:]
        for (name, answer) in Answer.problems where Self.statuses(of: route).contains(answer.status) {
            answers[answer.status] = ["$ref": .string("#/components/responses/\(name)")]
        }
        for answer in route.answers { answers[answer.status] = self.answer(answer) }
        let ordered = answers.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value) }
        operation["responses"] = .object(JSONObject(ordered))
        return .object(operation)
    }

    private static func statuses(of route: Route) -> Set<Int> {
        let isTagged = route.answers.contains { $0.fields.contains("ETag") }
        return Set(Answer.common + route.problems + (isTagged ? [304] : []))
    }

    private func answer(_ answer: Answer) -> JSONValue {
        var object = JSONObject()
        object["description"] = .string(answer.sentence)
        var contents = JSONObject()
        for (type, form) in answer.contents { contents[type] = ["schema": Self.schema(form)] }
        if !answer.contents.isEmpty { object["content"] = .object(contents) }
        var fields = JSONObject()
        for field in answer.fields { fields[field] = ["$ref": .string("#/components/headers/\(field)")] }
        if !answer.fields.isEmpty { object["headers"] = .object(fields) }
        return .object(object)
    }

    private var responses: JSONValue { .object(JSONObject(Answer.problems.map { ($0.name, answer($0.answer)) })) }

    private var headers: JSONValue {
        .object(JSONObject(Answer.fields.map { ($0.name, ["schema": Self.schema($0.form)]) }))
    }

    private var parameters: JSONValue {
        let shared = Route.all.flatMap(\.parameters).compactMap { parameter in
            parameter.component.map { ($0, Self.parameter(parameter)) }
        }
        return .object(JSONObject(shared))
    }

    private func reference(_ parameter: Parameter) -> JSONValue {
        guard let component = parameter.component else { return Self.parameter(parameter) }
        return ["$ref": .string("#/components/parameters/\(component)")]
    }

    private static func parameter(_ parameter: Parameter) -> JSONValue {
        var object = JSONObject()
        object["name"] = .string(parameter.name)
        object["in"] = .string(parameter.place.rawValue)
        if parameter.isRequired { object["required"] = true }
        object["description"] = .string(parameter.sentence)
        var schema = self.schema(parameter.form).object ?? JSONObject()
        if let shortest = parameter.shortest { schema["minLength"] = .integer(Int64(shortest)) }
        if let longest = parameter.longest { schema["maxLength"] = .integer(Int64(longest)) }
        object["schema"] = .object(schema)
        if let example = parameter.example { object["example"] = .string(example) }
        return .object(object)
    }

    private static func schema(_ form: Form) -> JSONValue {
        var writer = SchemaWriter(.components)
        return writer.schema(of: form)
    }
}
