// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Configuration

private func edit(
    _ text: String,
    to check: ConnectivitySettings.Check = .public
) throws(ConnectivityEditError) -> ConnectivityEdit {
    try ConnectivityEdit(of: Configuration.Source(name: "nwpath.yaml", bytes: Array(text.utf8)), to: check)
}

@Suite struct ConnectivityEditTests {
    @Test(
        arguments: [
            // No section yet.
            ("", "connectivity:\n  check: public\n"),
            ("# mine\n\n", "# mine\n\nconnectivity:\n  check: public\n"),
            ("---\n", "---\nconnectivity:\n  check: public\n"),
            ("ignore: [lo]", "ignore: [lo]\nconnectivity:\n  check: public\n"),
            ("  ignore: [lo]\n", "  ignore: [lo]\n  connectivity:\n    check: public\n"),
            (
                "#connectivity:\n#  check: local\nignore: []\n",
                "#connectivity:\n#  check: local\nignore: []\nconnectivity:\n  check: public\n"
            ),
            ("ignore: []\r\n# b\r\n", "ignore: []\r\n# b\r\nconnectivity:\r\n  check: public\r\n"),
            // A section with the key.
            (
                "connectivity: # x\n    check:   off   # why\nignore: []\n",
                "connectivity: # x\n    check:   public   # why\nignore: []\n"
            ),
            ("connectivity:\n  check: \"off\"\n", "connectivity:\n  check: public\n"),
            ("connectivity:\n  check: 'off' # x", "connectivity:\n  check: public # x"),
            ("connectivity:\n  check: # local\n", "connectivity:\n  check: public # local\n"),
            ("connectivity:\r\n  check: off\r\n", "connectivity:\r\n  check: public\r\n"),
            ("connectivity: {check: off} # é\n", "connectivity: {check: public} # é\n"),
            ("{ignore: [é], connectivity: {check: off}}\n", "{ignore: [é], connectivity: {check: public}}\n"),
            ("\"connectivity\": {\"check\": \"off\"}", "\"connectivity\": {\"check\": public}"),
            ("\u{FEFF}connectivity: {check: off}\n", "\u{FEFF}connectivity: {check: public}\n"),
            // A section without it.
            ("connectivity:\n# local\nignore: []\n", "connectivity:\n  check: public\n# local\nignore: []\n"),
            ("connectivity:", "connectivity:\n  check: public\n"),
            ("connectivity: {}\n", "connectivity: {check: public}\n"),
        ]
    )
    func `every other byte stays`(text: String, expected: String) throws {
        #expect(String(decoding: try edit(text).bytes, as: UTF8.self) == expected)
        let read = try Configuration.read(
            [Configuration.Source(name: "nwpath.yaml", bytes: try edit(text).bytes)],
            paths: rootPaths
        )
        #expect(read.connectivity.check == .public)
    }

    @Test func `the change is that of the lines`() throws {
        let change = try #require(try edit("# a\nconnectivity:\n  check: off # b\nignore: []\n").change)
        #expect(change.line == 3 && change.removed == ["  check: off # b"])
        #expect(change.added == ["  check: public # b"])
        let new = try #require(try edit("# a\r").change)
        #expect(new.removed == [] && new.added == ["connectivity:", "  check: public"])
    }

    @Test(arguments: ["connectivity: {check: public}", "connectivity:\n  check: 'public'\n"])
    func `a file that has the value is left alone`(text: String) throws {
        let same = try edit(text)
        #expect(same.change == nil && same.bytes == Array(text.utf8))
    }

    @Test(
        arguments: [
            ("{ignore: []}\n", 1), ("connectivity: ~\n", 1), ("a: 1\n...\n", 2),
            ("\n\"connectivity\":\n  \"check\":\n", 2),
            ("connectivity:\n  check: >\n    off\n", 1), ("? connectivity\n: {? check\n: }\n", 1),
        ]
    )
    func `a form that is not edited is named with its line`(text: String, line: Int) {
        let error = #expect(throws: ConnectivityEditError.self) { try edit(text) }
        #expect(error == .notEditable(file: "nwpath.yaml", line: line, check: .public), "\(text)")
        #expect(error?.description.hasSuffix("write there by hand: connectivity: {check: public}") == true)
    }

    @Test(arguments: ["connectivity:\n\tcheck: off\n", "a: [", "connectivity: &x {check: off}\n", "a: 1\na: 2\n"])
    func `a file that is no valid YAML is refused with its place`(text: String) {
        let error = #expect(throws: ConnectivityEditError.self) { try edit(text) }
        guard case .notValid(let problems) = error else {
            Issue.record("\(text): \(error.debugDescription)")
            return
        }
        #expect(problems.description.hasPrefix("nwpath.yaml:"))
    }

    @Test func `the place of the key is found`() {
        let source = Configuration.Source(name: "a.yaml", bytes: Array("connectivity:\n  check: off\n".utf8))
        #expect(ConnectivityEdit.origin(in: source) == "a.yaml:2:10")
        #expect(ConnectivityEdit.origin(in: Configuration.Source(name: "a.yaml", bytes: [])) == nil)
    }
}
