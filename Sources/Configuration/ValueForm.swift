// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

/// Why a text is not a value of some form.
enum Refusal: Error, Equatable {
    /// It has not the form of one.
    case malformed
    case unknownWord(nearest: String?)
    /// It has the right form, but the sentence says what is missing.
    case expected(String)
}

/// How one kind of value is read from a node, written back, and described to people and to JSON Schema.
struct ValueForm<Value: Sendable>: Sendable {
    /// What a message says was expected, such as `a duration such as 10s`.
    let expectation: String
    /// The JSON Schema of the value.
    let schema: ConfigurationTree
    /// Whether an override may give several texts.
    var isList = false
    /// Reads a node, or reports why not and returns `nil`.
    let read: @Sendable (YAMLNode, _ path: String, inout Findings) -> Value?
    /// Writes a value; `nil` when there is nothing to say.
    let write: @Sendable (Value) -> ConfigurationTree?

    @_semantics("optimize.sil.specialize.generic.never")
    init(
        _ expectation: String,
        schema: ConfigurationTree,
        isList: Bool = false,
        write: @escaping @Sendable (Value) -> ConfigurationTree?,
        read: @escaping @Sendable (YAMLNode, _ path: String, inout Findings) -> Value?
    ) {
        self.expectation = expectation
        self.schema = schema
        self.isList = isList
        self.read = read
        self.write = write
    }

    /// A value written as one text; `mustBePlain` when quotes make it something else, as they do for booleans.
    @_semantics("optimize.sil.specialize.generic.never")
    init(
        scalar expectation: String,
        schema: ConfigurationTree,
        mustBePlain: Bool = false,
        parse: @escaping @Sendable (String) throws(Refusal) -> Value,
        write: @escaping @Sendable (Value) -> ConfigurationTree?
    ) {
        self.init(expectation, schema: schema, write: write) { node, path, findings in
            guard case .scalar(let text, let isPlain) = node.content, !node.isNull else {
                findings.report(path, node, expected: expectation)
                return nil
            }
            guard isPlain || !mustBePlain else {
                findings.report(path, node, expected: expectation + " without quotes")
                return nil
            }
            do throws(Refusal) {
                return try parse(text)
            } catch {
                switch error {
                case .malformed: findings.report(path, node, expected: expectation)
                case .unknownWord(let nearest): findings.report(path, node, expected: expectation, nearest: nearest)
                case .expected(let other): findings.report(path, node, expected: other)
                }
                return nil
            }
        }
    }

    /// The same form for a setting that may be left out; it cannot say `nil`.
    @_semantics("optimize.sil.specialize.generic.never")
    var optional: ValueForm<Value?> {
        ValueForm<Value?>(
            expectation,
            schema: schema,
            isList: isList,
            write: { $0.flatMap(write) },
            read: { node, path, findings in read(node, path, &findings) }
        )
    }

    /// A list of such values; every bad item is reported.
    ///
    /// Only the schema has `minimum`: the check reads files together.
    @_semantics("optimize.sil.specialize.generic.never")
    func list(upTo limit: Int, atLeast minimum: Int = 0) -> ValueForm<[Value]> {
        var fields: [ConfigurationTree.Field] = [.init("type", "array"), .init("maxItems", .integer(limit))]
        if minimum > 0 { fields.append(.init("minItems", .integer(minimum))) }
        fields.append(.init("items", schema))
        return ValueForm<[Value]>(
            "a list of " + expectation,
            schema: .map(fields),
            isList: true,
            write: { .list($0.compactMap(write)) },
            read: { node, path, findings in
                guard case .list(let items) = node.content else {
                    findings.report(path, node, expected: "a list; each item " + expectation)
                    return nil
                }
                guard items.count <= limit else {
                    findings.report(.tooMany(key: path, limit: limit), at: node.origin)
                    return nil
                }
                var values: [Value] = []
                for (index, item) in items.enumerated() {
                    findings.remember("\(path)[\(index)]", at: item.origin)
                    if let value = read(item, "\(path)[\(index)]", &findings) { values.append(value) }
                }
                return values.count == items.count ? values : nil
            }
        )
    }
}
