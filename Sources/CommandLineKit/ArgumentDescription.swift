// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What is said of an argument: the source of help, completions, manual pages and messages.
public struct ArgumentDescription: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// A flag without a value.
        case flag
        /// An option with a value; the text stands for it in help.
        case option(String)
        /// An argument without a name; the text stands for it in help.
        case positional(String)
    }

    public let kind: Kind
    /// Its names with their hyphens, such as `-q` and `--quiet`; none for a positional one.
    public let names: [String]
    public let help: String
    /// What its value must be; empty for a flag.
    public internal(set) var expectation = ""
    /// The right words of its value, when there are only a few.
    public internal(set) var choices: [String] = []
    public internal(set) var isPath = false
    /// What its value may name on this machine: the words after which `completions` lists such names.
    public internal(set) var listings: [String] = []
    /// The text of its default, if there is one worth showing.
    public internal(set) var standard: String?
    /// Whether it may be given more than once.
    public internal(set) var isRepeatable = false
    public internal(set) var isRequired = false

    init(kind: Kind, names: [String], help: String) {
        self.kind = kind
        self.names = names
        self.help = help
    }

    /// What stands for the value in help; `nil` for a flag.
    public var placeholder: String? {
        switch kind {
        case .flag: nil
        case .option(let text), .positional(let text): text
        }
    }

    public var isPositional: Bool { if case .positional = kind { true } else { false } }

    /// Such as `-n, --count COUNT` or `[COND...]`.
    public var usage: String {
        guard isPositional, let placeholder else {
            return names.joined(separator: ", ") + (placeholder.map { " \($0)" } ?? "")
        }
        let text = placeholder + (isRepeatable ? "..." : "")
        return isRequired ? text : "[\(text)]"
    }

    var title: String { names.last ?? placeholder ?? "" }

    mutating func describe<Value>(_ form: ArgumentForm<Value>, standard: String?) {
        expectation = form.expectation
        choices = form.choices
        isPath = form.isPath
        listings = form.names
        self.standard = standard
    }
}
