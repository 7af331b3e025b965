// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What can be typed where: the commands of a program, as completion scripts need them.
struct CompletionTable {
    struct Candidate: Hashable {
        let word: String
        let note: String
    }

    enum Value: Hashable {
        case text
        case file
        case words([String])
        /// Names of this machine, as `completions WORD` lists them.
        case listings([String])
    }

    struct Option: Hashable {
        let names: [String]
        let note: String
        /// `nil` for a flag.
        let value: Value?
    }

    /// The words that were typed so far, and what may come next.
    struct Context: Hashable {
        /// Empty at the very start, a group or a command.
        let command: String
        var candidates: [Candidate] = []
        var options: [Option] = []
        var acceptsFiles = false
        /// What of this machine may be named here.
        var listings: [String] = []
        /// Whether exactly these words were typed: at the start, and for groups.
        var isInner = false
    }

    let name: String
    let contexts: [Context]

    init(_ program: Program) {
        name = program.name
        let commands = program.commands
        let start = Self.starts(program)
        let common = program.commonArguments.map(Self.option)
        var contexts = [Context(command: "", candidates: start, options: common + Self.always, isInner: true)]
        for candidate in start {
            let members = commands.filter { $0.words.count == 2 && $0.words[0] == candidate.word }
            guard !members.isEmpty else { continue }
            let words = members.map { Candidate(word: $0.words[1], note: $0.summary) }
            contexts.append(Context(command: candidate.word, candidates: words, options: Self.always, isInner: true))
        }
        contexts.append(Context(command: "help", candidates: start.filter { $0.word != "help" }))
        contexts += commands.map(Self.context)
        self.contexts = contexts
    }

    /// The options with a value that may stand before a command.
    var valuedAtStart: [String] {
        contexts[0].options.filter { $0.value != nil }.flatMap(\.names)
    }

    private static let always = [
        Option(names: ["-h", "--help"], note: "Show help.", value: nil),
        Option(names: ["--version"], note: "Print the version.", value: nil),
    ]

    private static func starts(_ program: Program) -> [Candidate] {
        var seen: Set<String> = []
        var starts: [Candidate] = []
        for command in program.commands where seen.insert(command.words[0]).inserted {
            let note = command.words.count == 2 ? "A group of commands." : command.summary
            starts.append(Candidate(word: command.words[0], note: note))
        }
        return starts + [Candidate(word: "help", note: "Show the help of a command.")]
    }

    private static func context(_ command: CommandDescription) -> Context {
        let positionals = command.arguments.filter(\.isPositional)
        let named = command.arguments.filter { !$0.isPositional } + command.commonArguments
        return Context(
            command: command.name,
            candidates: positionals.flatMap { positional in
                positional.choices.map { Candidate(word: $0, note: positional.help) }
            },
            options: named.map(option) + always,
            acceptsFiles: positionals.contains(where: \.isPath),
            listings: positionals.flatMap(\.listings)
        )
    }

    private static func option(_ argument: ArgumentDescription) -> Option {
        var value: Value?
        if argument.placeholder != nil {
            value =
                argument.isPath
                ? .file
                : !argument.listings.isEmpty
                    ? .listings(argument.listings) : argument.choices.isEmpty ? .text : .words(argument.choices)
        }
        return Option(names: argument.names, note: argument.help, value: value)
    }
}
