// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

/// Takes the words of one command apart.
///
/// `--name value`, `--name=value`, `-n value`, `-nvalue` and bundles of flags such as `-qv` are understood; `--` ends
/// the options. Names are never abbreviated.
struct ArgumentParser<Root: Command> {
    private let specification: Specification<Root>
    private let command: [String]
    private let named: [String: Argument<Root>]
    private let common: [String: Argument<CommonOptions>]
    private var root = Root()
    private var commonOptions = CommonOptions()
    private var positionals: [String] = []

    init(_ specification: Specification<Root>, command: [String]) {
        self.specification = specification
        self.command = command
        let own = specification.arguments.flatMap { argument in argument.description.names.map { ($0, argument) } }
        named = Dictionary(own) { first, _ in first }
        let accepted = Set(specification.description.commonArguments)
        let shared = CommonOptions.arguments(in: .all).filter { accepted.contains($0.description) }
            .flatMap { argument in argument.description.names.map { ($0, argument) } }
        common = Dictionary(shared) { first, _ in first }
    }

    mutating func parse(_ arguments: [String]) throws(UsageError) -> (any Command, CommonOptions) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if word == "--" {
                positionals += rest
                break
            } else if word.hasPrefix("--") {
                try parseLong(word, &rest)
            } else if word.hasPrefix("-") && word != "-" {
                try parseShort(word, &rest)
            } else {
                positionals.append(word)
            }
        }
        try parsePositionals()
        if let sentence = specification.check(root) { throw error(.conflict(sentence)) }
        return (root, commonOptions)
    }

    // MARK: - Options

    private mutating func parseLong(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard let description = description(of: name) else { throw unknown(name) }
        let attached = parts.count == 2 ? String(parts[1]) : nil
        if description.placeholder == nil {
            if let attached { throw error(.unexpectedValue(flag: name, value: attached)) }
            try accept(name, "", description)
        } else {
            try accept(name, value(of: name, description, attached, &rest), description)
        }
    }

    private mutating func parseShort(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            guard let description = description(of: name) else { throw unknown(letters.isEmpty ? name : word) }
            guard description.placeholder == nil else {
                let attached = letters.isEmpty ? nil : String(letters)
                try accept(name, value(of: name, description, attached, &rest), description)
                return
            }
            try accept(name, "", description)
        }
    }

    private func description(of name: String) -> ArgumentDescription? {
        named[name]?.description ?? common[name]?.description
    }

    private func value(
        of name: String,
        _ description: ArgumentDescription,
        _ attached: String?,
        _ rest: inout ArraySlice<String>
    ) throws(UsageError) -> String {
        if let attached { return attached }
        let next = rest.first
        let option = next.flatMap { $0.split(separator: "=", maxSplits: 1).first.map(String.init) }
        guard let next, next != "--", option.flatMap({ self.description(of: $0) }) == nil else {
            let found = next == "--" ? nil : next
            throw error(.missingValue(option: name, expected: description.expectation, found: found))
        }
        rest.removeFirst()
        return next
    }

    private mutating func accept(_ name: String, _ text: String, _ description: ArgumentDescription) throws(UsageError)
    {
        let isRight = named[name]?.accept(text, &root) ?? common[name]?.accept(text, &commonOptions) ?? false
        if !isRight { throw bad(name, text, description) }
    }

    // MARK: - Positional arguments

    private mutating func parsePositionals() throws(UsageError) {
        var words = positionals[...]
        for argument in specification.arguments where argument.description.isPositional {
            let description = argument.description
            guard !words.isEmpty || !description.isRequired else {
                throw error(.missingArgument(description.title, expected: description.expectation))
            }
            let count = description.isRepeatable ? words.count : min(1, words.count)
            for word in words.prefix(count) where !argument.accept(word, &root) {
                throw bad(description.title, word, description)
            }
            words = words.dropFirst(count)
        }
        if let surplus = words.first { throw error(.surplusArgument(surplus)) }
    }

    // MARK: - Errors

    private func error(_ fact: UsageError.Fact) -> UsageError { UsageError(command: command, fact: fact) }

    private func bad(_ name: String, _ text: String, _ description: ArgumentDescription) -> UsageError {
        let nearest = NearestSpelling.nearest(to: text, among: description.choices)
        return error(.badValue(argument: name, value: text, expected: description.expectation, nearest: nearest))
    }

    private func unknown(_ name: String) -> UsageError {
        let names =
            specification.description.arguments.flatMap(\.names)
            + specification.description.commonArguments.flatMap(\.names) + ["--help", "--version"]
        let isLetter = name.count == 2
        let candidates = names.filter { $0.hasPrefix("--") && !isLetter }
        return error(.unknownOption(name, nearest: NearestSpelling.nearest(to: name, among: candidates)))
    }
}
