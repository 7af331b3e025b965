// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

/// The rules of docs/api.md for names, held against what the commands print with `--json`.
@Suite(.inNamespace) struct DocumentNamesTests {
    /// What other names the sentence and the hint must not have.
    private static let synonyms: Set = [
        "why", "sentence", "say", "because", "detail", "text", "summary", "action", "ms",
    ]

    private static func faults(_ value: JSONValue, at place: String = "") -> [String] {
        switch value {
        case .array(let items): return items.flatMap { faults($0, at: place) }
        case .object(let object):
            var found = object.members.flatMap { faults($0.value, at: "\(place).\($0.key)") }
            for (key, member) in object.members.map({ ($0.key, $0.value) }) {
                let isNamed = member == .null || member["name"]?.string != nil
                if key == "interface" && !isNamed { found.append("\(place).interface is no object") }
                if key == "interfaces", member.array?.allSatisfy({ $0["name"]?.string != nil }) != true {
                    found.append("\(place).interfaces are no objects")
                }
                if synonyms.contains(key) || key.hasSuffix("_ms") || key.hasSuffix("_us") {
                    found.append("\(place).\(key) is not a name")
                }
            }
            return found
        default: return []
        }
    }

    @Test func `every command's object says what it is, and has the names that all have`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        try await service.settle("satisfied")
        let socket = ["--socket", service.socket]
        let commands: [(words: [String], schema: String)] = [
            (["status"] + socket, "status"), (["interfaces"] + socket, "interfaces"),
            (["interfaces", "eth0"] + socket, "interfacestate"), (["gateways"] + socket, "gateways"),
            (["dns"] + socket, "nameserverstate"), (["traffic"] + socket, "traffic"), (["history"] + socket, "history"),
            (["services"] + socket, "services"), (["services", "--types"] + socket, "servicetypes"),
            (["probe"] + socket, "probes"), (["wait", "satisfied"] + socket, "wait"),
            (["watch", "--since", "1", "--no-follow"] + socket, "event"),
            (["why", "192.0.2.1"], "why"), (["version"], "version"), (["diagnose", "--offline"], "diagnosis"),
            (["diagnose", "127.0.0.1:9"], "diagnosis"), (["probe", "127.0.0.1:9", "-c", "1"], "attempt"),
            (["trace", "127.0.0.1", "--rounds", "1"], "trace"), (["diagnose", "--explain", "wan.down"], "code"),
            (["diagnose", "--explain", "list"], "codes"), (["log", "verify", service.log], "logverify"),
            (["config", "check"], "configcheck"),
        ]
        for (words, schema) in commands {
            let result = try await service.tool.run(words + ["--json"])
            let lines = result.output.split(separator: "\n")
            #expect(!lines.isEmpty, "\(words): \(result.messages)")
            for line in lines {
                let value = try JSONValue(parsing: String(line))
                let isSummary = schema == "attempt" && value["event"]?.string == "summary"
                #expect(value["schema"]?.string == "nwpath.\(isSummary ? "summary" : schema)/1", "\(words): \(line)")
                #expect(Self.faults(value).isEmpty, "\(words): \(Self.faults(value))")
            }
        }
    }

    @Test(arguments: [
        #"{"interface":"eth0"}"#, #"{"a":[{"interface":{"index":1}}]}"#, #"{"interfaces":["eth0"]}"#,
        #"{"say":"x"}"#, #"{"took_ms":1}"#,
    ])
    func `what breaks a rule is found`(text: String) throws {
        #expect(Self.faults(try JSONValue(parsing: text)).count == 1)
    }
}
