// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A type whose members are declared once: what is written, and what schemas say of it.
public protocol MemberDeclaring: JSONObjectWritable {
    static var members: Members<Self> { get }
}

extension MemberDeclaring {
    public static var form: Form { members.form }
    public static func form(_ content: Form?) -> Form { content ?? form }
    public func write(to object: inout JSONObjectWriter) { Self.members.write(self, &object) }
}

/// The members of an object in the order in which they are written.
///
/// Each is declared by its key, its form where the type of its value does not say it, a sentence for people, and where
/// its value comes from. A form is made only when it is used.
public struct Members<Root>: Sendable {
    private let describe: @Sendable () -> Form
    let write: @Sendable (Root, inout JSONObjectWriter) -> Void

    /// What schemas say of the object.
    public var form: Form { describe() }

    /// What is written of a value, as others read it; `null` where a number is not finite.
    public func value(of root: Root) -> JSONValue {
        let bytes = try? OrderedJSONEncoder().encode(Part(root: root, members: self))
        return bytes.flatMap { try? JSONValue(parsing: $0) } ?? .null
    }

    /// What a form declares and others write; more members may follow.
    public init(_ form: @autoclosure @escaping @Sendable () -> Form) {
        describe = form
        write = { _, _ in }
    }

    /// An object; its members follow in the order in which they are written.
    public static func object(_ sentence: String? = nil) -> Members { Members(.object(sentence)) }

    /// An object that others refer to; see ``Form/named(_:definition:_:)``.
    public static func named(_ name: String, definition: String? = nil, _ sentence: String) -> Members {
        Members(.named(name, definition: definition, sentence))
    }

    /// What a form declares and a value writes; more members may follow.
    public init(
        _ form: @autoclosure @escaping @Sendable () -> Form,
        _ part: @escaping @Sendable (Root) -> some JSONObjectWritable
    ) {
        describe = form
        write = { part($0).write(to: &$1) }
    }

    private init(
        form: @escaping @Sendable () -> Form,
        write: @escaping @Sendable (Root, inout JSONObjectWriter) -> Void
    ) {
        describe = form
        self.write = write
    }

    /// A member that every object has: `null` where there is no value.
    public func member<Value: JSONWritable>(
        _ key: StaticString,
        as content: @autoclosure @escaping @Sendable () -> Form? = nil,
        _ sentence: String? = nil,
        _ value: @escaping @Sendable (Root) -> Value
    ) -> Members {
        adding(key, .always, sentence, { Value.form(content()) }, value)
    }

    /// A member that every object has, but for records that are older than the member.
    public func added<Value: JSONWritable>(
        _ key: StaticString,
        as content: @autoclosure @escaping @Sendable () -> Form? = nil,
        _ sentence: String? = nil,
        _ value: @escaping @Sendable (Root) -> Value
    ) -> Members {
        adding(key, .added, sentence, { Value.form(content()) }, value)
    }

    /// A member that every object of the service has, and nothing that a command finds out without it.
    public func served<Value: JSONWritable>(
        _ key: StaticString,
        as content: @autoclosure @escaping @Sendable () -> Form? = nil,
        _ sentence: String? = nil,
        _ value: @escaping @Sendable (Root) -> Value?
    ) -> Members {
        addingPresent(key, .served, sentence, { Value.form(content()) }, value)
    }

    /// A member that is left out where there is no value.
    public func optional<Value: JSONWritable>(
        _ key: StaticString,
        as content: @autoclosure @escaping @Sendable () -> Form? = nil,
        _ sentence: String? = nil,
        _ value: @escaping @Sendable (Root) -> Value?
    ) -> Members {
        addingPresent(key, .optional, sentence, { Value.form(content()) }, value)
    }

    /// A member that is an object with members of its own.
    public func member(_ key: StaticString, _ sentence: String? = nil, of object: Members) -> Members {
        member(key, as: object.form, sentence) { Part(root: $0, members: object) }
    }

    /// A member that is a list of objects.
    public func member<Element>(
        _ key: StaticString,
        _ sentence: String? = nil,
        each element: Members<Element>,
        _ values: @escaping @Sendable (Root) -> [Element]
    ) -> Members {
        member(key, as: element.form, sentence) { values($0).map { Part(root: $0, members: element) } }
    }

    /// The members of another object.
    public func members<Part: MemberDeclaring>(_ part: @escaping @Sendable (Root) -> Part) -> Members {
        Members(
            form: { [describe] in describe().members(of: Part.form) },
            write: { [write] root, object in
                write(root, &object)
                part(root).write(to: &object)
            }
        )
    }

    private func adding(
        _ key: StaticString,
        _ presence: Form.Member.Presence,
        _ sentence: String?,
        _ member: @escaping @Sendable () -> Form,
        _ value: @escaping @Sendable (Root) -> some JSONWritable
    ) -> Members {
        Members(
            form: describing(key, presence, sentence, member),
            write: { [write] root, object in
                write(root, &object)
                object.write(key, value(root))
            }
        )
    }

    private func addingPresent<Value: JSONWritable>(
        _ key: StaticString,
        _ presence: Form.Member.Presence,
        _ sentence: String?,
        _ member: @escaping @Sendable () -> Form,
        _ value: @escaping @Sendable (Root) -> Value?
    ) -> Members {
        Members(
            form: describing(key, presence, sentence, member),
            write: { [write] root, object in
                write(root, &object)
                object.writeIfPresent(key, value(root))
            }
        )
    }

    private func describing(
        _ key: StaticString,
        _ presence: Form.Member.Presence,
        _ sentence: String?,
        _ member: @escaping @Sendable () -> Form
    ) -> @Sendable () -> Form {
        { [describe] in
            describe().adding(Form.Member(key: "\(key)", form: member(), presence: presence, sentence: sentence))
        }
    }
}

/// An object whose members come from a value that has others as well.
private struct Part<Root>: JSONObjectWritable {
    let root: Root
    let members: Members<Root>

    func write(to object: inout JSONObjectWriter) { members.write(root, &object) }
}
