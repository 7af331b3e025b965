// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

/// The description of the API against the real service, by other people's programs.
@Suite(.inNamespace) struct OpenAPITests {
    private func start() async throws -> Service {
        try Uplink.make()
        try Uplink.connect()
        return try await Service(["--listen", "127.0.0.1:8353"], takesCensus: true)
    }

    @Test func `openapi-spec-validator finds the description right, and jsonschema the schemas`() async throws {
        let service = try await start()
        let document = try service.get("/api/v1/openapi.json")
        let script = "import sys, json, openapi_spec_validator as v; v.validate(json.load(sys.stdin)); print('valid')"
        #expect(try Place.python(["-c", script], input: document) == "valid\n")
        let check = """
            import sys, json, jsonschema
            schema, value = json.loads(sys.stdin.readline()), json.loads(sys.stdin.readline())
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.Draft202012Validator(schema).validate(value)
            print('valid')
            """
        func validate(_ value: JSONValue, as schema: String) throws {
            let lines = try [try service.json("/api/v1/schema/\(schema).json"), value].map {
                String(decoding: try OrderedJSONEncoder().encode($0), as: UTF8.self)
            }
            let text = lines.joined(separator: "\n") + "\n"
            #expect(try Place.python(["-c", check], input: text) == "valid\n", "\(schema): \(value)")
        }
        for (schema, route) in [
            ("status", "status"), ("monitors", "paths"), ("interfaces", "interfaces"), ("history", "history"),
            ("events", "events"), ("config", "config"), ("pastservices", "services/history"),
            ("gateways", "gateways"), ("nameserverstate", "dns"), ("diagnosis", "diagnosis"), ("probes", "probes"),
            ("services", "services"), ("servicetypes", "services/types"), ("monitorstate", "paths/default"),
            ("interfacestate", "interfaces/up0"),
        ] {
            let value = try service.json("/api/v1/\(route)")
            let name = value["schema"]?.string
            #expect(name == (schema == "config" ? nil : "nwpath.\(schema)/1"), "\(route)")
            try validate(value, as: schema)
        }
        let inside = ["nsenter", "--net=\(Namespace.current.path)"]
        for (schema, wrapper, words) in [
            ("status", ["unshare", "-n"], ["status"]), ("diagnosis", inside, ["diagnose", "--offline"]),
            ("services", inside, ["services", "--direct", "--timeout", "50ms"]),
            ("servicetypes", inside, ["services", "--direct", "--types", "--timeout", "50ms"]),
        ] {
            let command = try RunningCommand(wrapper + [try Place.program] + words + ["--json", "-q"], captures: true)
            let output = Service.outcome(of: command).output
            try validate(try JSONValue(parsing: output), as: schema)
        }
        // Each component is a schema that stands alone.
        let names = try JSONValue(parsing: document)["components"]?["schemas"]?.object?.keys ?? []
        #expect(names.count > 40)
        for name in names where name != "Event" {
            let schema = try service.json("/api/v1/schema/\(name.lowercased()).json")
            #expect(schema["$ref"]?.string == "#/$defs/\(name)" && schema["$defs"]?[name]?["type"] != nil, "\(name)")
        }
        // What is no right document is found out.
        let wrong = try service.get("/api/v1/schema/status.json").trimmed + "\n{}\n"
        #expect(throws: CommandFailure.self) { try Place.python(["-c", check], input: wrong) }
    }

    @Test func `schemathesis finds no answer that is not described, and no wrong request that is accepted`()
        async throws
    {
        let service = try await start()
        let bin = try PythonEnvironment.python.get().dropLast("python".count)
        let arguments = [
            "\(bin)schemathesis", "--config-file", Place.fixtures + "/schemathesis.toml", "run",
            "http://127.0.0.1:8353/api/v1/openapi.json", "-H", "Accept: application/json, */*;q=0.1", "--seed", "1",
            "-n", "4", "--phases", "examples,coverage,fuzzing", "--no-color",
        ]
        let inside = ["nsenter", "--net=\(Namespace.current.path)", "env", "--chdir=\(service.scratch.path)"]
        let outcome = Service.outcome(of: try RunningCommand(inside + arguments, captures: true))
        #expect(outcome.code == 0, "\(outcome.output)")
        #expect(outcome.output.contains("No issues found") || outcome.output.contains("passed"), "\(outcome.output)")
        #expect(try service.get("/-/ready") == "ok\n")
        #expect(!(try service.get("/metrics")).contains("code=\"500\""))
        #expect(service.stop().code == 0)
    }
}
