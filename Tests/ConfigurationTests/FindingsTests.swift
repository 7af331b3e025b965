// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Configuration

@Suite struct FindingsTests {
    private let node = YAMLNode(origin: .path("f"), content: .scalar("x", isPlain: true))

    @Test(
        arguments: [
            (.file("a.yaml", line: 3, column: 9), "a.yaml:3:9"), (.path("/etc/x"), "/etc/x"),
            (.environment("NWPATH_X"), "environment NWPATH_X"), (.flag("--listen"), "--listen"),
            (.builtIn, "built-in default"),
        ] as [(ValueOrigin, String)]
    )
    func `places read as people name them`(origin: ValueOrigin, expected: String) {
        #expect(origin.description == expected)
    }

    @Test(arguments: [
        ("log.keep", "f:2:2"), ("log.file", "f:1:1"), ("log", "f:1:1"), ("listen[1]", "f:4:4"), ("listen[7]", "f:3:3"),
        ("other.thing", "built-in default"),
    ])
    func `a setting that was not written has the place around it`(path: String, expected: String) {
        var findings = Findings()
        for (index, path) in ["log", "log.keep", "listen", "listen[1]"].enumerated() {
            findings.remember(path, at: .file("f", line: index + 1, column: index + 1))
        }
        #expect(findings.origin(of: path).description == expected)
    }

    @Test func `the place written last counts`() {
        var findings = Findings()
        findings.remember("a", at: .path("first"))
        findings.remember("a", at: .flag("--a"))
        #expect(findings.origin(of: "a") == .flag("--a"))
    }

    @Test func `a contradiction with a value that was refused is not told`() {
        var findings = Findings()
        findings.report("views.a.mark", node, expected: "a number")
        findings.reportConflict(at: "views.a", "needs a mark")
        findings.reportConflict(at: "listen[0]", "is open", between: "views.a.mark")
        findings.reportConflict(at: "views.ab", "needs a mark")
        #expect(
            findings.problems.map(\.description) == [
                "f: views.a.mark is 'x', expected a number", "built-in default: views.ab needs a mark",
            ]
        )
    }

    @Test(
        arguments: [
            (.syntax("did not find expected key"), "f: not valid YAML: did not find expected key"),
            (.unsupported("a tag (!)"), "f: a tag (!) is not supported"),
            (.tooDeep(limit: 16), "f: nested deeper than 16 levels"),
            (.tooLarge(limit: 1 << 20), "f: larger than 1MiB"), (.unreadable("no"), "f: cannot be read: no"),
            (.duplicateKey("a", first: .path("g")), "f: key 'a' is already at g"),
            (.unknownKey("a", section: "", nearest: nil), "f: unknown key 'a'"),
            (.unknownKey("a", section: "log", nearest: "b"), "f: unknown key 'a' in log (did you mean 'b'?)"),
            (.wrongValue(key: "k", found: "'1'", expected: "true", nearest: nil), "f: k is '1', expected true"),
            (.tooMany(key: "k", limit: 3), "f: k has more than 3 entries"),
            (.conflict(key: "k", "is odd"), "f: k is odd"),
            (.more, "f: there are more problems; fix these first"),
        ] as [(ConfigurationProblem.Fact, String)]
    )
    func `problems read as one line`(fact: ConfigurationProblem.Fact, expected: String) {
        #expect(ConfigurationProblem(origin: .path("f"), fact: fact).description == expected)
    }

    @Test func `an error is all its problems, one a line`() {
        let problem = ConfigurationProblem(origin: .path("f"), fact: .more)
        #expect(ConfigurationError(problems: [problem, problem]).description.split(separator: "\n").count == 2)
    }
}
