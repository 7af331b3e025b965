// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import nwpath

/// Splits a command line as a shell does, as far as examples need it; a redirection ends it.
func shellWords(_ line: String) -> [String] {
    var words: [String] = []
    var word: String?
    var isQuoted = false
    for letter in line {
        switch letter {
        case "'":
            isQuoted.toggle()
            word = word ?? ""
        case " " where !isQuoted:
            if let word { words.append(word) }
            word = nil
        case ">" where !isQuoted && word == nil: return words
        default: word = (word ?? "") + String(letter)
        }
    }
    return words + (word.map { [$0] } ?? [])
}

@Suite struct ExampleTests {
    @Test(arguments: NWPath.program.commands.flatMap { command in command.examples.map { (command.name, $0.line) } })
    func `every example of a command's help is a right command line`(name: String, line: String) throws {
        let words = shellWords(line)
        #expect(words.first == "nwpath")
        guard case .run(let command, _) = try NWPath.program.parse(Array(words.dropFirst())) else {
            Issue.record("\(line) runs nothing")
            return
        }
        #expect(type(of: command).name == name)
    }

    @Test(arguments: NWPath.program.commands.map(\.name))
    func `every command has examples, exit statuses and help`(name: String) throws {
        let command = try #require(NWPath.program.commands.first { $0.name == name })
        #expect(!command.examples.isEmpty)
        #expect(!command.exits.isEmpty)
        #expect(Set(command.exits.map(\.status)).count == command.exits.count)
        guard case .help(let text, command.helpStatus) = try NWPath.program.parse(command.words + ["--help"]) else {
            Issue.record("no help for \(name)")
            return
        }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 110 }, "\(text)")
    }

    @Test func `the program's own examples name commands that exist`() throws {
        let known = Set(NWPath.program.commands.map { $0.words[0] })
        let examples = NWPath.program.examples.map { shellWords($0.line) }
        for words in examples where words.count == 1 || known.contains(words[1]) {
            guard case .run = try NWPath.program.parse(Array(words.dropFirst())) else {
                Issue.record("\(words) runs nothing")
                continue
            }
        }
        #expect(examples.contains { $0.last == "status" })
    }

    @Test(
        arguments: [
            ("a 'b c' d", ["a", "b c", "d"]), ("a --x 'p*' > f", ["a", "--x", "p*"]), ("a ''", ["a", ""]),
        ] as [(String, [String])]
    )
    func `words are split as a shell does`(line: String, words: [String]) {
        #expect(shellWords(line) == words)
    }
}

extension Command {
    /// The name of a command whose type is not known.
    static var name: String { specification.description.name }
}
