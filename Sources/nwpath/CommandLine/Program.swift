// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

struct Program: Sendable {
    enum Outcome: Sendable {
        case run(any Command, CommonOptions)
        case help(String, ExitStatus)
        case version(String, ExitStatus)
    }

    /// A command without its type.
    struct Entry: Sendable {
        let description: CommandDescription
        let parse: @Sendable ([String], [String]) throws(UsageError) -> (any Command, CommonOptions)
    }

    let name: String
    let summary: String
    /// Its version, as `--version` prints it.
    let version: String
    /// The commands most people want.
    let examples: [CommandExample]
    /// The words that stand for none.
    private let standard: [String]
    let entries: [Entry]

    /// Puts commands together, in the order in which help lists them.
    init(
        _ name: String,
        _ summary: String,
        version: String,
        examples: [CommandExample] = [],
        standard: [String] = [],
        commands: [any Command.Type]
    ) {
        self.name = name
        self.summary = summary
        self.version = version
        self.examples = examples
        self.standard = standard
        entries = commands.map { Self.entry($0) }
    }

    /// All commands, in the order of help: the source of completions and manual pages.
    var commands: [CommandDescription] { entries.map(\.description) }

    /// The options that may stand before a command.
    var commonArguments: [ArgumentDescription] { CommonOptions.arguments(in: .all).map(\.description) }

    private static func entry<Root: Command>(_ type: Root.Type) -> Entry {
        Entry(description: type.specification.description) { (arguments, command) throws(UsageError) in
            var parser = ArgumentParser<Root>(type.specification, command: command)
            return try parser.parse(arguments)
        }
    }

    /// Understands a command line.
    ///
    /// Common options may stand before the command. `--help`, `-h` and `--version` win over any mistake beside them.
    /// - Parameter arguments: The words after the program's name.
    /// - Returns: What to do.
    /// - Throws: ``UsageError``, of which one line is to be printed; the status is ``ExitStatus/usage``.
    func parse(_ arguments: [String]) throws(UsageError) -> Outcome {
        let flags = arguments.prefix { $0 != "--" }
        let wantsHelp = flags.contains("--help") || flags.contains("-h")
        let start = firstWord(in: arguments)
        guard start < arguments.count, arguments[start] != "--" else {
            if wantsHelp { return .help(help(), .success) }
            if flags.contains("--version") { return .version("\(name) \(version)", .success) }
            if let bad = flags.first(where: { $0.hasPrefix("-") && !isCommon($0) }) {
                throw unknownOption(bad)
            }
            guard !standard.isEmpty, start == arguments.count else {
                throw UsageError(command: [name], fact: .missingCommand)
            }
            return try parse(standard + arguments)
        }
        if arguments[start] == "help" {
            return .help(try help(for: Array(arguments[(start + 1)...].prefix { !$0.hasPrefix("-") })), .success)
        }
        let words = Array(arguments[start...].prefix(2))
        if wantsHelp, entry(for: words) == nil, isGroup(words[0]) { return .help(help(group: words[0]), .success) }
        let entry = try find(words)
        let status = entry.description.helpStatus
        if wantsHelp { return .help(help(entry.description), status) }
        if flags.contains("--version") { return .version("\(name) \(version)", status) }
        let rest = arguments[..<start] + arguments[(start + entry.description.words.count)...]
        let (command, common) = try entry.parse(Array(rest), [name] + entry.description.words)
        return .run(command, common)
    }

    /// The exit status of a mistake: ``ExitStatus/usage``, except for commands whose 2 means something else.
    func status(of error: UsageError) -> ExitStatus {
        guard let command = command(of: error) else { return .usage }
        return command.helpStatus == .success ? .usage : command.helpStatus
    }

    /// Whether a mistake was made in the line of a plugin, of which monitoring reads standard output alone.
    func isPlugin(_ error: UsageError) -> Bool {
        command(of: error).map { $0.helpStatus != .success } ?? false
    }

    private func command(of error: UsageError) -> CommandDescription? {
        let words = Array(error.command.dropFirst())
        return entries.first { $0.description.words == words }?.description
    }

    // MARK: - Finding the command

    /// The index of the first word that is neither a common option nor the value of one.
    private func firstWord(in arguments: [String]) -> Int {
        var index = 0
        while index < arguments.count, arguments[index].hasPrefix("-"), arguments[index] != "--" {
            let hasValue = CommonOptions.arguments(in: .all).contains {
                $0.description.names.contains(arguments[index]) && $0.description.placeholder != nil
            }
            index += hasValue ? 2 : 1
        }
        return min(index, arguments.count)
    }

    private func isCommon(_ option: String) -> Bool {
        let name = option.split(separator: "=", maxSplits: 1).first.map(String.init) ?? option
        return CommonOptions.arguments(in: .all).contains { $0.description.names.contains(name) }
    }

    private func unknownOption(_ option: String) -> UsageError {
        let names = CommonOptions.arguments(in: .all).flatMap(\.description.names) + ["--help", "--version"]
        let candidates = names.filter { $0.hasPrefix("--") && option.count > 2 }
        let nearest = NearestSpelling.nearest(to: option, among: candidates)
        return UsageError(command: [name], fact: .unknownOption(option, nearest: nearest))
    }

    func isGroup(_ word: String) -> Bool {
        entries.contains { $0.description.words.count == 2 && $0.description.words[0] == word }
    }

    private func entry(for words: [String]) -> Entry? {
        entries.first { $0.description.words == Array(words.prefix(2)) && words.count >= 2 }
            ?? entries.first { $0.description.words == Array(words.prefix(1)) }
    }

    func find(_ words: [String]) throws(UsageError) -> Entry {
        if let entry = entry(for: words) { return entry }
        guard let first = words.first else { throw UsageError(command: [name], fact: .missingCommand) }
        guard isGroup(first) else {
            let known = entries.map { $0.description.words[0] } + ["help"]
            let nearest = NearestSpelling.nearest(to: first, among: known)
            throw UsageError(command: [name], fact: .unknownCommand(first, nearest: nearest))
        }
        let members = entries.filter { $0.description.words[0] == first }.compactMap(\.description.words.last)
        guard words.count > 1, !words[1].hasPrefix("-") else {
            let expected = "one of " + members.joined(separator: ", ")
            throw UsageError(command: [name, first], fact: .missingArgument("a command", expected: expected))
        }
        let nearest = NearestSpelling.nearest(to: words[1], among: members)
        throw UsageError(command: [name, first], fact: .unknownCommand(words[1], nearest: nearest))
    }
}
