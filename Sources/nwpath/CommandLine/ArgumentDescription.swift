// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What is said of an argument: the source of help, completions, manual pages and messages.
struct ArgumentDescription: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// A flag without a value.
        case flag
        /// An option with a value; the text stands for it in help.
        case option(String)
        /// An argument without a name; the text stands for it in help.
        case positional(String)
    }

    let kind: Kind
    /// Its names with their hyphens, such as `-q` and `--quiet`; none for a positional one.
    let names: [String]
    let help: String
    /// What its value must be; empty for a flag.
    var expectation = ""
    /// The right words of its value, when there are only a few.
    var choices: [String] = []
    var isPath = false
    /// What its value may name on this machine: the words after which `completions` lists such names.
    var listings: [String] = []
    /// The text of its default, if there is one worth showing.
    var standard: String?
    /// Whether it may be given more than once.
    var isRepeatable = false
    var isRequired = false

    /// What stands for the value in help; `nil` for a flag.
    var placeholder: String? {
        switch kind {
        case .flag: nil
        case .option(let text), .positional(let text): text
        }
    }

    var isPositional: Bool { if case .positional = kind { true } else { false } }

    /// Such as `-n, --count COUNT` or `[COND...]`.
    var usage: String {
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
