// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A pattern for names: `*` stands for any text, `?` for one character, `[a-c]` and `[!a-c]` for one of a set.
///
/// A backslash takes the meaning from the character behind it, and so does the first place of a set from `]`.
/// The whole name has to match. Matching takes time linear in pattern times name, whatever the pattern.
public struct Glob: Hashable, Sendable, CustomStringConvertible {
    private enum Step: Hashable, Sendable {
        case one(Unicode.Scalar)
        case any
        case anyText
        case set([ClosedRange<UInt32>], isInverted: Bool)
    }

    /// What a reader is told when a text is not a pattern.
    public static let expectation = "a name or a pattern such as eth0, wl* or en[op]*"

    /// The longest pattern, in bytes.
    static let longestPattern = 256

    public let description: String
    private let steps: [Step]

    /// Reads a pattern.
    /// - Returns: `nil` when it is empty, over 256 bytes, has control characters, ends in a backslash, or has a set that
    ///   is open, empty or reversed.
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Self.longestPattern else { return nil }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else { return nil }
        var steps: [Step] = []
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "*": if steps.last != .anyText { steps.append(.anyText) }
            case "?": steps.append(.any)
            case "[":
                guard let set = Self.set(from: &rest) else { return nil }
                steps.append(set)
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                steps.append(.one(escaped))
            default: steps.append(.one(scalar))
            }
        }
        description = text
        self.steps = steps
    }

    /// Whether the pattern has no wildcard, and so matches one name only.
    public var isLiteral: Bool { literal != nil }

    /// The one name that a pattern without wildcards matches.
    public var literal: String? {
        var name = String.UnicodeScalarView()
        for step in steps {
            guard case .one(let scalar) = step else { return nil }
            name.append(scalar)
        }
        return String(name)
    }

    /// Whether the whole of `name` matches.
    public func matches(_ name: some StringProtocol) -> Bool {
        let name = Array(name.unicodeScalars)
        var step = 0
        var position = 0
        var retry: (step: Int, position: Int)?
        while position < name.count {
            if step < steps.count, steps[step] == .anyText {
                retry = (step + 1, position)
                step += 1
            } else if step < steps.count, Self.accepts(steps[step], name[position]) {
                step += 1
                position += 1
            } else if let last = retry {
                retry = (last.step, last.position + 1)
                (step, position) = (last.step, last.position + 1)
            } else {
                return false
            }
        }
        return steps[step...].allSatisfy { $0 == .anyText }
    }

    private static func accepts(_ step: Step, _ scalar: Unicode.Scalar) -> Bool {
        switch step {
        case .one(let expected): scalar == expected
        case .any, .anyText: true
        case .set(let ranges, let isInverted): ranges.contains { $0.contains(scalar.value) } != isInverted
        }
    }

    private static func set(from rest: inout Substring.UnicodeScalarView.SubSequence) -> Step? {
        var isInverted = false
        if rest.first == "!" || rest.first == "^" {
            isInverted = true
            rest.removeFirst()
        }
        var ranges: [ClosedRange<UInt32>] = []
        while let next = rest.popFirst() {
            if next == "]", !ranges.isEmpty { return .set(ranges, isInverted: isInverted) }
            guard let low = next == "\\" ? rest.popFirst() : next else { return nil }
            var high = low
            if rest.first == "-", let end = rest.dropFirst().first, end != "]" {
                rest.removeFirst(2)
                guard let last = end == "\\" ? rest.popFirst() : end else { return nil }
                high = last
            }
            guard low.value <= high.value else { return nil }
            ranges.append(low.value...high.value)
        }
        return nil
    }
}
