// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import OrderedJSON

/// The API as OpenAPI 3.1 describes it, and the JSON Schemas of its documents; rendered once somebody asks.
final class APIDescription {
    private let documents: () -> [Form]
    private var openAPI: Snapshot?
    private var schemas: [String: Snapshot] = [:]

    /// Takes what the documents of the provider look like.
    init(_ documents: @escaping () -> [Form]) { self.documents = documents }

    /// The answer to a request for the OpenAPI document, or for the schema of that name.
    /// - Throws: ``Problem`` with status 404 when there is no such schema.
    func response(to call: Route.Call, schema name: String?) throws -> HTTPResponse {
        _ = try call.query()
        let snapshot = try name.map { try schema(named: $0) } ?? described()
        return .document(snapshot, isKnown: snapshot.matches(call.request.field("If-None-Match")))
    }

    /// The OpenAPI document.
    func described() throws -> Snapshot {
        if let openAPI { return openAPI }
        let snapshot = try Snapshot(constant: OpenAPI(components: gather(.components).definitions).document)
        openAPI = snapshot
        return snapshot
    }

    private func schema(named name: String) throws -> Snapshot {
        if let snapshot = schemas[name] { return snapshot }
        guard let (title, form) = gather(.definitions).forms.first(where: { $0.key.lowercased() == name }) else {
            throw Problem(status: 404, detail: "There is no schema '\(name)'.")
        }
        var writer = SchemaWriter(.definitions)
        let reference = writer.schema(of: form)["$ref"] ?? .null
        let snapshot = try Snapshot(constant: [
            "$schema": .string(OpenAPI.dialect), "title": .string(title), "$ref": reference,
            "$defs": .object(writer.definitions),
        ])
        schemas[name] = snapshot
        return snapshot
    }

    /// All forms that have a name.
    private func gather(_ style: SchemaWriter.Style) -> SchemaWriter {
        var writer = SchemaWriter(style)
        for form in documents() + [EventPage.form, Problem.form, Self.schema] { _ = writer.schema(of: form) }
        return writer
    }

    private static var schema: Form {
        .named("Schema", "A JSON Schema, draft 2020-12.").member("$schema", .text)
    }
}

extension Snapshot {
    /// Something that never changes while the program runs.
    convenience init(constant value: JSONValue) throws {
        self.init(constant: try OrderedJSONEncoder().encode(value, capacity: 1 << 16, terminator: 0x0A))
    }

    /// Something that never changes while the program runs; its tag changes with every byte of it.
    convenience init(constant bytes: [UInt8]) {
        let digest = SHA256.digest(of: bytes).prefix(8)
        self.init(bytes, tag: digest.hexadecimal())
    }
}
