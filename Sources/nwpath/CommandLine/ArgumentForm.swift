// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

/// How the text of an argument becomes a value.
struct ArgumentForm<Value: Sendable>: Sendable {
    /// What a message says was expected, such as `a duration such as 10s`.
    let expectation: String
    /// The right words, when there are only a few: for suggestions and completions.
    let choices: [String]
    /// Whether the text names a file, which completions then offer.
    let isPath: Bool
    /// What the text may name on this machine: the words after which `completions` lists such names.
    let names: [String]
    let parse: @Sendable (String) -> Value?
    let format: @Sendable (Value) -> String?

    /// Describes a form of one's own.
    ///
    /// - Parameters:
    ///   - expectation: What a message says was expected.
    ///   - choices: The right words, when there are only a few.
    ///   - isPath: Whether the text names a file.
    ///   - names: What it may name on this machine.
    ///   - format: The text of a default in help; `nil` shows none.
    ///   - parse: Gives the value, or `nil` when the text is not one.
    init(
        _ expectation: String,
        choices: [String] = [],
        isPath: Bool = false,
        names: [String] = [],
        format: @escaping @Sendable (Value) -> String? = { _ in nil },
        parse: @escaping @Sendable (String) -> Value?
    ) {
        self.expectation = expectation
        self.choices = choices
        self.isPath = isPath
        self.names = names
        self.format = format
        self.parse = parse
    }
}

extension ArgumentForm where Value == String {
    static let text = ArgumentForm("a text", format: { $0.isEmpty ? nil : $0 }, parse: { $0.isEmpty ? nil : $0 })

    static let path = ArgumentForm(
        "a path",
        isPath: true,
        format: { $0.isEmpty ? nil : $0 },
        parse: { $0.isEmpty ? nil : $0 }
    )
}

extension ArgumentForm where Value == Int {
    static func integer(_ range: ClosedRange<Int>) -> ArgumentForm {
        let limits =
            range.upperBound == .max ? "from \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
        return ArgumentForm("a whole number " + limits, format: { "\($0)" }) { text in
            guard !text.hasPrefix("+"), let number = Int(text), range.contains(number) else { return nil }
            return number
        }
    }
}

extension ArgumentForm where Value == Duration {
    /// A duration such as `250ms` or `10s`; `0` is one as well.
    static let duration = ArgumentForm(
        DurationText.expectation,
        format: { DurationText.format($0) },
        parse: { DurationText.parse($0) }
    )
}

extension ArgumentForm where Value == Glob {
    /// A pattern with `*`, `?` and `[…]`.
    static let glob = ArgumentForm(
        Glob.expectation,
        format: { $0.description },
        parse: { Glob($0) }
    )
}

extension ArgumentForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    static var choice: ArgumentForm {
        let words = Value.allCases.map(\.rawValue)
        return ArgumentForm(
            "one of " + words.joined(separator: ", "),
            choices: words,
            format: { $0.rawValue },
            parse: { Value(rawValue: $0) }
        )
    }
}
