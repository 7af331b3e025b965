// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A subcommand: its arguments are properties with defaults, its specification says where they come from.
protocol Command: Defaulted {
    /// The one declaration of names, help, examples and arguments.
    static var specification: Specification<Self> { get }

    func run(_ common: CommonOptions) -> ExitStatus
}

struct Specification<Root: Command>: Sendable {
    /// What help, completions and manual pages say of it.
    let description: CommandDescription
    let arguments: [Argument<Root>]
    let check: @Sendable (Root) -> String?

    /// Declares a command.
    ///
    /// - Parameters:
    ///   - name: Its name; two words for a command of a group, such as `config check`.
    ///   - summary: What it does, in one sentence.
    ///   - discussion: More, in paragraphs.
    ///   - examples: The commands most people want, the first ones first.
    ///   - arguments: Flags, options and positional arguments; the order of the latter counts.
    ///   - common: Which of the common options it takes.
    ///   - exits: What its exit statuses mean.
    ///   - helpStatus: The exit status of `--help` and `--version`; monitoring plugins have one of their own, which
    ///     also stands for wrong usage.
    ///   - check: Says in one sentence what is wrong with values that contradict each other.
    @_semantics("optimize.sil.specialize.generic.never")
    init(
        _ name: String,
        _ summary: String,
        discussion: String = "",
        examples: [CommandExample] = [],
        arguments: [Argument<Root>] = [],
        common: CommonOptions.Group = .all,
        exits: [ExitNote] = [],
        helpStatus: ExitStatus = .success,
        check: @escaping @Sendable (Root) -> String? = { _ in nil }
    ) {
        let own = arguments.map(\.description)
        let ownNames = Set(own.flatMap(\.names))
        description = CommandDescription(
            words: name.split(separator: " ").map(String.init),
            summary: summary,
            discussion: discussion,
            examples: examples,
            arguments: own,
            commonArguments: CommonOptions.arguments(in: common).map(\.description)
                .filter { ownNames.isDisjoint(with: $0.names) },
            exits: exits,
            helpStatus: helpStatus
        )
        self.arguments = arguments
        self.check = check
    }
}

/// What is said of a command: the source of help, completions and manual pages.
struct CommandDescription: Hashable, Sendable {
    /// Its name, one word or two.
    let words: [String]
    let summary: String
    let discussion: String
    /// The commands most people want.
    let examples: [CommandExample]
    let arguments: [ArgumentDescription]
    let commonArguments: [ArgumentDescription]
    let exits: [ExitNote]
    /// The exit status of `--help` and `--version`; unless it is success, of wrong usage as well.
    let helpStatus: ExitStatus

    var name: String { words.joined(separator: " ") }
}

struct CommandExample: Hashable, Sendable {
    let line: String
    let note: String

    init(_ line: String, _ note: String) {
        self.line = line
        self.note = note
    }
}

struct ExitNote: Hashable, Sendable {
    let status: ExitStatus
    let note: String

    init(_ status: ExitStatus, _ note: String? = nil) {
        self.status = status
        self.note = note ?? status.meaning
    }
}
