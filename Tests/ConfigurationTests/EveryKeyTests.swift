// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Configuration

/// What is true of every key, whatever keys there are.
@Suite struct EveryKeyTests {
    /// A file that gives one key, by its dotted path, a text; maps get an entry called `x`.
    private static func file(_ path: String, _ value: String) -> String {
        var text = ""
        let words = path.split(separator: ".").map { $0 == "NAME" ? "x" : String($0) }
        for (depth, word) in words.enumerated() {
            text += String(repeating: "  ", count: depth) + word + ":"
            text += depth == words.count - 1 ? " \(value)\n" : "\n"
        }
        return text
    }

    /// Lists of groups have tests of their own.
    private static let references = Configuration.reference(paths: rootPaths)
        .filter {
            !["mdns.advertise", "basic_auth_users", "diagnosis.anchors"].contains($0.key) && !$0.key.contains("[]")
        }
    private static let values = references.filter { $0.variable != nil || $0.key.contains("NAME.") }
    private static let containers = references.filter { $0.variable == nil && !$0.key.contains("NAME.") }

    @Test func `the groups are those of the documentation`() {
        #expect(Self.values.count > 40)
        #expect(
            Self.containers.map(\.key) == [
                "tls_server_config", "log", "debounce", "connectivity", "probes", "probes.active", "interfaces",
                "monitors",
                "views", "gateway_liveness", "dns", "providers", "wifi", "mdns", "diagnosis", "diagnosis.dns",
                "diagnosis.nq",
                "diagnosis.budgets", "traffic", "limits",
            ]
        )
    }

    @Test(arguments: values.map(\.key))
    func `a value of another shape is refused at its place`(key: String) {
        let depth = key.split(separator: ".").count
        let column = (depth - 1) * 2 + (key.split(separator: ".").last?.count ?? 0) + 3
        let found = problems(Self.file(key, "{a: b}")).filter { !$0.contains("needs ") }
        let name = key.replacing("NAME", with: "x")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("nwpath.yaml:\(depth):\(column): \(name) is a map, expected ") == true)
    }

    @Test(arguments: values.map(\.key))
    func `an empty value is refused, or is none`(key: String) {
        let found = problems(Self.file(key, "")).filter { !$0.contains("needs ") }
        #expect(found.count == 1)
        #expect(found.first?.contains(" is empty, expected ") == true)
    }

    @Test(arguments: values.map(\.key))
    func `a typing error is told with the right spelling`(key: String) {
        let last = key.split(separator: ".").last.map(String.init) ?? ""
        let typo = key.dropLast(last.count) + "x" + last
        let found = problems(Self.file(String(typo), "1")).filter { !$0.contains("needs ") }
        #expect(found.count == 1)
        #expect(found.first?.contains("unknown key 'x\(last)'") == true)
        if last.count > 3 { #expect(found.first?.hasSuffix("(did you mean '\(last)'?)") == true) }
    }

    @Test(
        arguments: values.filter { $0.standard != nil && !$0.key.contains("NAME") }.map { ($0.key, $0.standard ?? "") }
    )
    func `the default can be written down`(key: String, standard: String) throws {
        let configuration = try read(Self.file(key, standard))
        #expect(configuration == Configuration(paths: rootPaths))
    }

    @Test(arguments: containers.map(\.key))
    func `an empty group says nothing, and a list is no group`(key: String) throws {
        #expect(try read(Self.file(key, "")) == Configuration(paths: rootPaths))
        #expect(try read(Self.file(key, "{}")) == Configuration(paths: rootPaths))
        let found = problems(Self.file(key, "[a]"))
        let depth = key.split(separator: ".").count
        let column = (depth - 1) * 2 + (key.split(separator: ".").last?.count ?? 0) + 3
        #expect(found.count == 1)
        let start = "nwpath.yaml:\(depth):\(column): \(key) is a list, expected a map "
        #expect(found.first?.hasPrefix(start) == true)
    }

    @Test(arguments: values.compactMap(\.variable))
    func `a variable that cannot be right is named`(variable: String) {
        let found = problems("", environment: [variable: "\u{1}\u{2}"])
        #expect(found.contains { $0.hasPrefix("environment \(variable): ") && $0.contains("\\u{1}") })
    }
}
