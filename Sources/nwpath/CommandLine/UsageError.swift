// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The program with the words of the command, as far as they were understood.
    let command: [String]
    let fact: Fact

    enum Fact: Hashable, Sendable {
        case missingCommand
        case unknownCommand(String, nearest: String?)
        /// The command has no such option.
        case unknownOption(String, nearest: String?)
        /// The option has no value; `found` is the option that follows in its place.
        case missingValue(option: String, expected: String, found: String?)
        case unexpectedValue(flag: String, value: String)
        case badValue(argument: String, value: String, expected: String, nearest: String?)
        case missingArgument(String, expected: String)
        /// There are too many arguments; this is the first of them.
        case surplusArgument(String)
        /// Values contradict each other; the sentence says how.
        case conflict(String)
    }

    /// One line: the command, the argument, what was expected, the nearest spelling, and where help is.
    var description: String {
        let name = command.joined(separator: " ")
        return "\(name): \(text); see '\(name) --help'"
    }

    private var text: String {
        switch fact {
        case .missingCommand: return "a command is missing"
        case .unknownCommand(let word, let nearest): return "unknown command \(quote(word))" + question(nearest)
        case .unknownOption(let name, let nearest): return "unknown option \(quote(name))" + question(nearest)
        case .missingValue(let option, let expected, let found):
            let instead = found.map { ", but option \(quote($0)) follows" } ?? ""
            return "\(option) needs a value, \(expected)" + instead
        case .unexpectedValue(let flag, let value): return "\(flag) takes no value, found \(quote(value))"
        case .badValue(let argument, let value, let expected, let nearest):
            return "\(argument) is \(quote(value)), expected \(expected)" + question(nearest)
        case .missingArgument(let name, let expected): return "\(name) is missing, expected \(expected)"
        case .surplusArgument(let word): return "unexpected argument \(quote(word))"
        case .conflict(let sentence): return sentence
        }
    }

    private func quote(_ text: String) -> String { PrintableText.quote(text) }

    private func question(_ nearest: String?) -> String {
        nearest.map { " (did you mean '\($0)'?)" } ?? ""
    }
}
