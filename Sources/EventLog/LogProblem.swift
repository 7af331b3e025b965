// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON

public struct LogProblem: Hashable, Sendable, CustomStringConvertible {
    public enum Kind: Hashable, Sendable {
        /// The file cannot be read, or is damaged.
        case unreadable(EventLogError)
        case notJSON(JSONError)
        case tooLong
        /// The last line has no line feed: its write was cut off.
        case torn
        /// The first record of the file is not a `log.opened` of more than 256 bytes.
        case noOpening
        /// A member of the envelope is missing or out of order.
        case misplaced(expected: String, found: String?)
        /// A member of the envelope has a value it cannot have.
        case invalid(member: String)
        /// The numbers between these two are missing, and no `log.gap` explains that.
        case gap(after: UInt64, before: UInt64)
        /// The number is not greater than the one before.
        case repeated(UInt64, after: UInt64)
        /// The stream changed in the middle of a file.
        case streamChanged(from: String, to: String)
    }

    public let file: String
    /// The number of the line, from 1.
    public let line: Int
    public let kind: Kind

    /// One line for people: `file:line: what is wrong`.
    public var description: String { "\(file):\(line): \(kind)" }
}

extension LogProblem.Kind: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let error): "\(error)"
        case .notJSON(let error): "not JSON: \(error)"
        case .tooLong: "line too long"
        case .torn: "the last line is cut off"
        case .noOpening: "the file does not begin with log.opened"
        case .misplaced(let expected, let found): "expected member '\(expected)', found '\(found ?? "nothing")'"
        case .invalid(let member): "invalid value of '\(member)'"
        case .gap(let after, let before):
            before - after == 2 ? "seq \(after + 1) is missing" : "seq \(after + 1) to \(before - 1) are missing"
        case .repeated(let sequence, let last): "seq \(sequence) after seq \(last)"
        case .streamChanged(let old, let new): "stream changed from \(old) to \(new) without log.opened"
        }
    }
}
