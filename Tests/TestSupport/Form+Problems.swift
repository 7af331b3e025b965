// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON

extension Form {
    /// What a value has that was not declared, lacks, or says otherwise; also what stands in another order.
    ///
    /// What only the service writes has to be there, or has to be absent in what was found out without it.
    public func problems(in value: JSONValue, withoutService isDirect: Bool = false) -> [String] {
        problems(in: value, at: "", isDirect)
    }

    private func problems(in value: JSONValue, at place: String, _ isDirect: Bool) -> [String] {
        switch kind {
        case .named(_, let form): form.problems(in: value, at: place, isDirect)
        case .nullable(let form): value == .null ? [] : form.problems(in: value, at: place, isDirect)
        case .either(let forms):
            forms.contains { $0.problems(in: value, at: place, isDirect).isEmpty }
                ? [] : ["\(place): none of several forms"]
        case .list(let element):
            Self.each(value.array?.enumerated().map { ("\($0)", $1) }, element, place, "list", isDirect)
        case .map(let form):
            Self.each(value.object?.members.map { ($0.key, $0.value) }, form, place, "object", isDirect)
        case .anyObject: value.object == nil ? ["\(place): no object"] : []
        case .object, .extended: objectProblems(in: value, at: place, isDirect)
        default: isScalar(value) ? [] : ["\(place): \(value) is not of the form \(kind)"]
        }
    }

    private static func each(
        _ parts: [(String, JSONValue)]?,
        _ form: Form,
        _ place: String,
        _ what: String,
        _ isDirect: Bool
    ) -> [String] {
        guard let parts else { return ["\(place): no \(what)"] }
        return parts.flatMap { form.problems(in: $1, at: "\(place).\($0)", isDirect) }
    }

    private func objectProblems(in value: JSONValue, at place: String, _ isDirect: Bool) -> [String] {
        guard let object = value.object else { return ["\(place): no object"] }
        let declared = members.filter { !isDirect || $0.presence != .served }
        var problems: [String] = []
        for key in object.keys where !declared.contains(where: { $0.key == key }) {
            problems.append("\(place).\(key): not declared")
        }
        for member in declared {
            if let value = object[member.key] {
                problems += member.form.problems(in: value, at: "\(place).\(member.key)", isDirect)
            } else if member.presence != .optional {
                problems.append("\(place).\(member.key): missing")
            }
        }
        let order = declared.map(\.key).filter { object[$0] != nil }
        if problems.isEmpty, order != object.keys { problems.append("\(place): \(object.keys), declared as \(order)") }
        return problems
    }

    private func isScalar(_ value: JSONValue) -> Bool {
        switch kind {
        case .truth: value.bool != nil
        case .text(let pattern): value.string.map { Self.matches($0, pattern) } ?? false
        case .choice(let words): value.string.map(words.contains) ?? false
        case .constant(let text): value.string == text
        case .integer(let least, let most): value.int.map { $0 >= least ?? $0 && $0 <= most ?? $0 } ?? false
        case .number(let least, let most):
            value.double.map { $0 >= least.map(Double.init) ?? $0 && $0 <= most.map(Double.init) ?? $0 } ?? false
        default: false
        }
    }

    private static func matches(_ text: String, _ pattern: String?) -> Bool {
        guard let pattern else { return true }
        return (try? Regex(pattern).firstMatch(in: text)) != nil
    }
}
