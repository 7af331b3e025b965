// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// The API as OpenAPI 3.1 describes it, and the JSON Schemas of its documents; rendered for who asks.
final class APIDescription {
    private var document: Snapshot?
    private var schemas: [String: Snapshot] = [:]

    /// The answer to a request for the document, or for the schema of that name.
    /// - Throws: ``Problem`` with status 404 when there is no such schema.
    func response(to call: Route.Call, schema name: String?) throws -> HTTPResponse {
        _ = try call.query()
        let snapshot = try name.map { try schema(named: $0) } ?? described()
        return .document(snapshot, isKnown: snapshot.matches(call.request.field("If-None-Match")))
    }

    /// The OpenAPI document.
    func described() throws -> Snapshot {
        if let document { return document }
        let text = try OrderedJSONEncoder(style: .pretty).encode(try OpenAPI(components: Self.components()).document)
        let snapshot = Snapshot(constant: text + [0x0A])
        document = snapshot
        return snapshot
    }

    private static func components() throws -> JSONObject {
        let text = try JSONValue(parsing: PackageResources.openapi_json, limits: JSONLimits(size: 1 << 20))
        return text["components"]?["schemas"]?.object ?? JSONObject()
    }

    private func schema(named name: String) throws -> Snapshot {
        if let snapshot = schemas[name] { return snapshot }
        let components = try Self.components()
        guard let key = components.keys.first(where: { $0.lowercased() == name }) else {
            throw Problem(status: 404, detail: "There is no schema '\(name)'.")
        }
        var schema = JSONObject()
        schema["$schema"] = .string(OpenAPI.dialect)
        schema["title"] = .string(key)
        schema["$ref"] = .string("#/$defs/\(key)")
        schema["$defs"] = Self.standingAlone(.object(components))
        let snapshot = Snapshot(constant: try OrderedJSONEncoder().encode(JSONValue.object(schema)) + [0x0A])
        schemas[name] = snapshot
        return snapshot
    }

    /// A schema whose references lead into `$defs`, where they lead into OpenAPI's components.
    private static func standingAlone(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let items): return .array(items.map(standingAlone))
        case .object(let object):
            var copy = JSONObject()
            for member in object.members {
                let place = "#/components/schemas/"
                if member.key == "$ref", let target = member.value.string, target.hasPrefix(place) {
                    copy[member.key] = .string("#/$defs/" + target.dropFirst(place.count))
                } else {
                    copy[member.key] = standingAlone(member.value)
                }
            }
            return .object(copy)
        default: return value
        }
    }
}

extension Snapshot {
    /// Something that never changes while the program runs; its tag changes with every byte of it.
    convenience init(constant bytes: [UInt8]) {
        let digest = SHA256.digest(of: bytes).prefix(8)
        self.init(bytes, tag: digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    }
}
