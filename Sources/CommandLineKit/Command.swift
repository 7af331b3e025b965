// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A subcommand: its arguments are properties with defaults, its specification says where they come from.
public protocol Command: Defaulted {
    /// The one declaration of names, help, examples and arguments.
    static var specification: Specification<Self> { get }

    /// Does what the command is for.
    func run(_ common: CommonOptions) -> ExitStatus
}

/// What a command is called, what it takes, and how it is explained.
public struct Specification<Root: Command>: Sendable {
    /// What help, completions and manual pages say of it.
    public let description: CommandDescription
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
    ///   - mistakeStatus: The exit status of wrong usage, where 2 means something else.
    ///   - helpStatus: The exit status of `--help` and `--version`; monitoring plugins have one of their own, which
    ///     also stands for wrong usage.
    ///   - check: Says in one sentence what is wrong with values that contradict each other.
    public init(
        _ name: String,
        _ summary: String,
        discussion: String = "",
        examples: [CommandExample] = [],
        arguments: [Argument<Root>] = [],
        common: CommonOptions.Group = .all,
        exits: [ExitNote] = [],
        mistakeStatus: ExitStatus = .usage,
        helpStatus: ExitStatus = .success,
        check: @escaping @Sendable (Root) -> String? = { _ in nil }
    ) {
        let own = arguments.map(\.description)
        let taken = Set(own.flatMap(\.names))
        description = CommandDescription(
            words: name.split(separator: " ").map(String.init),
            summary: summary,
            discussion: discussion,
            examples: examples,
            arguments: own,
            commonArguments: CommonOptions.arguments(in: common).map(\.description)
                .filter { taken.isDisjoint(with: $0.names) },
            exits: exits,
            mistakeStatus: mistakeStatus,
            helpStatus: helpStatus
        )
        self.arguments = arguments
        self.check = check
    }
}

/// What is said of a command: the source of help, completions and manual pages.
public struct CommandDescription: Hashable, Sendable {
    /// Its name, one word or two.
    public let words: [String]
    /// What it does, in one sentence.
    public let summary: String
    /// More, in paragraphs.
    public let discussion: String
    /// The commands most people want.
    public let examples: [CommandExample]
    /// Its own arguments.
    public let arguments: [ArgumentDescription]
    /// The common options it takes.
    public let commonArguments: [ArgumentDescription]
    /// What its exit statuses mean.
    public let exits: [ExitNote]
    /// The exit status of wrong usage.
    public let mistakeStatus: ExitStatus
    /// The exit status of `--help` and `--version`; unless it is success, of wrong usage as well.
    public let helpStatus: ExitStatus

    /// Its name as it is typed.
    public var name: String { words.joined(separator: " ") }
}

/// A command line that shows a use.
public struct CommandExample: Hashable, Sendable {
    /// The command line.
    public let line: String
    /// What it does.
    public let note: String

    /// Pairs a command line with what it does.
    public init(_ line: String, _ note: String) {
        self.line = line
        self.note = note
    }
}

/// What an exit status means for a command.
public struct ExitNote: Hashable, Sendable {
    /// The status.
    public let status: ExitStatus
    /// When it is given.
    public let note: String

    /// Pairs a status with its meaning.
    public init(_ status: ExitStatus, _ note: String? = nil) {
        self.status = status
        self.note = note ?? status.meaning
    }
}
