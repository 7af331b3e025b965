// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

/// A manual page of `packaging/man`.
struct ManualPage {
    let path: String
    /// The page as a reader sees it, without emphasis.
    let text: String
    /// The examples: the lines that are set apart under EXAMPLES.
    let examples: [String]

    /// The directory of the project.
    static var root: String { "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") }

    init(_ name: String) throws {
        path = "\(Self.root)/packaging/man/\(name)"
        let rendered = try Command.run(["mandoc", "-T", "ascii", "-O", "width=400", path])
        var plain = ""
        for letter in rendered.unicodeScalars {
            if letter == "\u{8}" { plain.unicodeScalars.removeLast() } else { plain.unicodeScalars.append(letter) }
        }
        text = plain
        examples = Self.section("EXAMPLES", of: plain).filter { $0.hasPrefix("           ") }
            .map { String($0.drop { $0 == " " }) }
    }

    /// The lines below a title, up to the next one that is set as far to the left.
    static func section(_ title: String, of text: String) -> [String] {
        let lines = text.split(separator: "\n").map(String.init)
        guard let start = lines.firstIndex(where: { $0.drop { $0 == " " } == title[...] }) else { return [] }
        let margin = lines[start].prefix { $0 == " " }.count
        return Array(lines[(start + 1)...].prefix { $0.prefix { $0 == " " }.count > margin })
    }

    /// Whether a word stands in some lines, not merely as a part of another one.
    static func holds(_ word: String, _ lines: [String]) -> Bool {
        lines.contains { line in
            line.split { !($0.isLetter || $0.isNumber || "-_.".contains($0)) }
                .contains { $0 == word[...] || $0 == "\(word)." }
        }
    }
}

@Suite(.inNamespace) struct ManualTests {
    @Test(arguments: ["nwpath.1", "nwpath.yaml.5", "nwpath-events.7"])
    func `mandoc finds nothing to complain of`(name: String) throws {
        #expect(try Command.run(["mandoc", "-T", "lint", "-W", "warning", try ManualPage(name).path]) == "")
    }

    @Test func `nwpath(1) has what the help has`() throws {
        try Command.run([ManualPage.root + "/packaging/man/update", "--check", try Tool.program])
    }

    @Test func `every example of nwpath(1) is a right command line, and those of the help are there`() throws {
        let page = try ManualPage("nwpath.1")
        #expect(page.examples.count > 20)
        for example in page.examples {
            guard case .run = try NWPath.program.parse(Array(shellWords(example).dropFirst())) else {
                Issue.record("\(example) runs nothing")
                continue
            }
        }
        let missing = NWPath.program.commands.filter { command in
            !page.examples.contains { shellWords($0).dropFirst().starts(with: command.words) }
        }
        #expect(missing.map(\.name) == [])
    }

    /// The names of all properties of a schema.
    private func keys(_ schema: JSONValue) -> Set<String> {
        var found: Set<String> = []
        for member in schema.object?.members ?? [] {
            if member.key == "properties" {
                let properties = member.value.object?.members ?? []
                found.formUnion(properties.map(\.key))
            }
            found.formUnion(keys(member.value))
        }
        for item in schema.array ?? [] { found.formUnion(keys(item)) }
        return found
    }

    @Test func `nwpath.yaml(5) tells every key, and its example is right`() async throws {
        let page = try ManualPage("nwpath.yaml.5")
        let tool = Tool(scratch: try Scratch())
        let section = ManualPage.section("KEYS", of: page.text)
        let known = keys(try await tool.run("config", "schema").json)
        #expect(known.count > 30)
        for key in known {
            let isTold = section.contains { $0.hasSuffix(".\(key)") || $0.drop { $0 == " " }.hasPrefix(key) }
            #expect(isTold, "\(key)")
        }
        let told = ManualPage.section("EXAMPLES", of: page.text)
        let yaml = told.prefix { !$0.contains("Check a file") }
        let margin = yaml.first?.prefix { $0 == " " }.count ?? 0
        let file = try tool.scratch.write(
            yaml.map { $0.dropFirst(margin) + "\n" }.joined(),
            to: "nwpath.yaml"
        )
        let result = try await tool.run("config", "check", "--file", file, "--json")
        #expect(try result.json["valid"]?.bool == true, "\(result.output)")
        let shown = try await tool.run("config", "show", "--file", file, "--json").json
        #expect(shown["monitors"]?["wired"] != nil && shown["mdns"]?.texts("watched") == ["_ipp._tcp/Office Printer"])
    }

    @Test func `nwpath-events(7) tells every event and the first members of a record`() throws {
        let page = try ManualPage("nwpath-events.7")
        let section = ManualPage.section("EVENTS", of: page.text)
        for event in EventName.allCases { #expect(ManualPage.holds(event.rawValue, section), "\(event)") }
        let records = ManualPage.section("RECORDS", of: page.text)
        for member in ["time", "seq", "stream", "schema", "event", "severity", "host", "message"] {
            #expect(ManualPage.holds(member, records), "\(member)")
        }
    }

    @Test func `the examples of nwpath-events(7) run on a real log`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        try await service.settle("satisfied")
        try Namespace.current.ip("route del default")
        try await service.settle("unsatisfied")
        let examples = try ManualPage("nwpath-events.7").examples
        #expect(examples.count == 3)
        for example in examples {
            if example.hasPrefix("nwpath watch") {
                let words = Array(shellWords(example).dropFirst()) + ["-n", "1", "--since", "1h"]
                let seen = try await service.tool.run(words + ["--socket", service.socket])
                #expect(seen.status == 0 && seen.output.contains("\"event\":\"path."), "\(seen.messages)")
            } else {
                let tool = try Tool.program.split(separator: "/").dropLast().joined(separator: "/")
                let script = "cd '\(service.scratch.path)' && PATH=\"/\(tool):$PATH\" && \(example)"
                #expect(try !Command.run(["sh", "-c", script]).isEmpty, "\(example)")
            }
        }
    }
}
