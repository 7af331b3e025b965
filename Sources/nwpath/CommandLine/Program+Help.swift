// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension Program {
    /// The help of the whole program: what it is, examples, all commands.
    func help() -> String {
        var text = "\(name): \(summary)\n"
        text += HelpText.examples(examples)
        text += HelpText.section("Commands", entries.map { ($0.description.name, $0.description.summary) })
        text += HelpText.section(
            "Common options",
            CommonOptions.arguments(in: .all).map { HelpText.row($0.description) }
        )
        text += "\nSee '\(name) COMMAND --help'.\n"
        return text
    }

    /// The help of the commands that share their first word.
    func help(group word: String) -> String {
        let members = entries.map(\.description).filter { $0.words[0] == word }
        var text = "\(name) \(word): a group of commands\n"
        text += HelpText.examples(members.flatMap(\.examples))
        text += HelpText.section("Commands", members.map { ($0.name, $0.summary) })
        text += "\nSee '\(name) \(word) COMMAND --help'.\n"
        return text
    }

    /// The help of one command: what it does, examples first, then everything it takes.
    func help(_ command: CommandDescription) -> String {
        var text = "\(command.summary)\n"
        text += HelpText.examples(command.examples)
        text += "\nUsage: \(usage(command))\n"
        let positionals = command.arguments.filter(\.isPositional)
        text += HelpText.section("Arguments", positionals.map(HelpText.row))
        text += HelpText.section("Options", command.arguments.filter { !$0.isPositional }.map(HelpText.row))
        text += HelpText.section("Common options", command.commonArguments.map(HelpText.row))
        text += HelpText.section("Exit status", command.exits.map { ("\($0.status.rawValue)", $0.note) })
        if !command.discussion.isEmpty { text += "\n" + HelpText.wrap(command.discussion, indent: 0) + "\n" }
        return text
    }

    func usage(_ command: CommandDescription) -> String {
        let hasOptions = !command.commonArguments.isEmpty || command.arguments.contains { !$0.isPositional }
        let positionals = command.arguments.filter(\.isPositional).map(\.usage)
        return ([name] + command.words + (hasOptions ? ["[OPTIONS]"] : []) + positionals).joined(separator: " ")
    }

    /// The help that `nwpath help WORDS` asks for.
    func help(for words: [String]) throws(UsageError) -> String {
        guard let first = words.first else { return help() }
        if words.count == 1 && isGroup(first) { return help(group: first) }
        return help(try find(words).description)
    }
}

/// Lays out help for 80 columns.
enum HelpText {
    private static let width = 80
    private static let widestTerm = 26
    private static let mostChoices = 20

    static func examples(_ examples: [CommandExample]) -> String {
        guard !examples.isEmpty else { return "" }
        let widest = examples.map(\.line.count).max() ?? 0
        let lines = examples.map { example in
            let gap = String(repeating: " ", count: widest - example.line.count + 2)
            let isShort = widest + 4 + example.note.count <= width
            return isShort ? "  \(example.line)\(gap)\(example.note)\n" : "  \(example.line)\n      \(example.note)\n"
        }
        return "\nExamples:\n" + lines.joined()
    }

    /// A titled list of terms with explanations; nothing when there are none.
    static func section(_ title: String, _ rows: [(term: String, note: String)]) -> String {
        guard !rows.isEmpty else { return "" }
        let column = min(widestTerm, rows.map(\.term.count).max() ?? 0) + 4
        var text = "\n\(title):\n"
        for row in rows {
            let note = wrap(row.note, indent: column).drop { $0 == " " }
            let gap = column - 2 - row.term.count
            if gap >= 2 {
                text += "  \(row.term)\(String(repeating: " ", count: gap))\(note)\n"
            } else {
                text += "  \(row.term)\n\(String(repeating: " ", count: column))\(note)\n"
            }
        }
        return text
    }

    static func row(_ argument: ArgumentDescription) -> (term: String, note: String) {
        var note = argument.help
        // More are listed by completions only.
        let choices = argument.choices
        if (1...mostChoices).contains(choices.count) { note += " One of \(choices.joined(separator: ", "))." }
        if let standard = argument.standard { note += " Default: \(standard)." }
        if argument.isRepeatable && argument.placeholder != nil && !argument.isPositional { note += " Repeatable." }
        return (argument.isPositional ? argument.placeholder ?? "" : argument.usage, note)
    }

    /// Breaks text into indented lines of at most 80 columns; empty lines part paragraphs.
    static func wrap(_ text: String, indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        var paragraphs: [[String]] = [[]]
        for row in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if row.isEmpty { paragraphs.append([]) }
            for word in row.split(separator: " ") {
                let last = paragraphs.count - 1
                if let line = paragraphs[last].last, indent + line.count + 1 + word.count <= width {
                    paragraphs[last][paragraphs[last].count - 1] = line + " " + word
                } else {
                    paragraphs[last].append(String(word))
                }
            }
        }
        return paragraphs.filter { !$0.isEmpty }
            .map { lines in lines.map { margin + $0 }.joined(separator: "\n") }
            .joined(separator: "\n\n")
    }
}
