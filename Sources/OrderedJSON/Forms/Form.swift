// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What JSON a type writes: the one declaration from which JSON Schema and OpenAPI are rendered.
///
/// Declared by computed properties beside the type, so that nothing is stored while unused.
public struct Form: Sendable {
    public indirect enum Kind: Sendable {
        case truth
        /// Text, and the regular expression (ECMA 262) that matches it.
        case text(pattern: String?)
        case integer(from: Int?, to: Int?)
        case number(from: Int?, to: Int?)
        case choice([String])
        case constant(String)
        case list(Form)
        /// An object whose keys are data.
        case map(Form)
        case object([Member])
        /// An object of which nothing more is said.
        case anyObject
        case nullable(Form)
        case either([Form])
        /// What another form has, and these members after it.
        case extended(Form, [Member])
        /// A form that others refer to by name.
        case named(Name, Form)
    }

    /// What a form is called.
    public struct Name: Hashable, Sendable {
        /// Among the components of OpenAPI, such as `NameServers`.
        public let component: String
        /// Among the definitions of the schema of events, such as `dns`.
        public let definition: String
    }

    public let kind: Kind
    /// What it means, for people.
    public let sentence: String?

    init(_ kind: Kind, _ sentence: String? = nil) {
        self.kind = kind
        self.sentence = sentence
    }

    /// The members of an object, wherever they were declared; empty for anything else.
    public var members: [Member] {
        switch kind {
        case .object(let members): members
        case .extended(let form, let more): form.members + more
        case .named(_, let form): form.members
        default: []
        }
    }
}

// MARK: - Values

extension Form {
    public static var truth: Form { Form(.truth) }
    public static var text: Form { Form(.text(pattern: nil)) }
    public static var number: Form { Form(.number(from: nil, to: nil)) }
    /// A number that is not negative.
    public static var amount: Form { Form(.number(from: 0, to: nil)) }
    /// A number from 0 to 100.
    public static var percent: Form { Form(.number(from: 0, to: 100)) }
    /// A whole number that is not negative.
    public static var count: Form { .integer(from: 0) }

    public static func integer(from least: Int, to most: Int? = nil) -> Form { Form(.integer(from: least, to: most)) }

    /// Text that a regular expression (ECMA 262) matches.
    public static func pattern(_ pattern: String) -> Form { Form(.text(pattern: pattern)) }

    public static func constant(_ text: String) -> Form { Form(.constant(text)) }

    public static func words(_ words: String...) -> Form { Form(.choice(words)) }

    public static func words(in words: [String]) -> Form { Form(.choice(words)) }

    /// The raw values of an enumeration.
    public static func oneOf<Word: CaseIterable & RawRepresentable<String>>(_ type: Word.Type) -> Form {
        Form(.choice(type.allCases.map(\.rawValue)))
    }
}

// MARK: - What is made of others

extension Form {
    public static func list(of element: Form) -> Form { Form(.list(element)) }

    public static func map(of value: Form) -> Form { Form(.map(value)) }

    public static func either(_ forms: Form...) -> Form { Form(.either(forms)) }

    public static func either(of forms: [Form]) -> Form { Form(.either(forms)) }

    /// An object whose members are declared elsewhere.
    public static var anyObject: Form { Form(.anyObject) }

    /// An object; its members follow in the order in which they are written.
    public static func object(_ sentence: String? = nil) -> Form { Form(.object([]), sentence) }

    /// An object that others refer to.
    ///
    /// - Parameters:
    ///   - name: What it is called among the components of OpenAPI.
    ///   - definition: What it is called in the schema of events, where that is not the same with a small letter.
    ///   - sentence: What it is.
    /// - Returns: The form, to which its members are added.
    public static func named(_ name: String, definition: String? = nil, _ sentence: String) -> Form {
        object(sentence).named(name, definition: definition)
    }

    /// The same under a name, to which others refer.
    public func named(_ name: String, definition: String? = nil) -> Form {
        let definition = definition ?? name.prefix(1).lowercased() + name.dropFirst()
        return Form(.named(Name(component: name, definition: definition), self))
    }

    /// The same with a sentence that says what it means.
    public func about(_ sentence: String) -> Form { Form(kind, sentence) }

    /// The same, or `null`.
    public var orNull: Form { Form(.nullable(self)) }

    /// The same with the members that follow; what refers to it by name stays as it is.
    public var extended: Form { Form(.extended(self, [])) }
}

// MARK: - Members

extension Form {
    /// One member of an object.
    public struct Member: Sendable {
        public enum Presence: Sendable {
            case always
            /// Always written; the schema of events does not require it, since older records may lack it.
            case added
            /// Always written by the service; absent in what a command finds out without it.
            case served
            case optional
        }

        public let key: String
        public let form: Form
        public let presence: Presence
        /// What it means, for people.
        public let sentence: String?
    }

    /// A member that every object has.
    public func member(_ key: String, _ form: Form, _ sentence: String? = nil) -> Form {
        adding(Member(key: key, form: form, presence: .always, sentence: sentence))
    }

    /// A member that every object has, but for records that are older than the member.
    public func added(_ key: String, _ form: Form, _ sentence: String? = nil) -> Form {
        adding(Member(key: key, form: form, presence: .added, sentence: sentence))
    }

    /// A member that every object of the service has, and nothing that a command finds out without it.
    public func served(_ key: String, _ form: Form, _ sentence: String? = nil) -> Form {
        adding(Member(key: key, form: form, presence: .served, sentence: sentence))
    }

    /// A member that is left out where there is nothing to say.
    public func optional(_ key: String, _ form: Form, _ sentence: String? = nil) -> Form {
        adding(Member(key: key, form: form, presence: .optional, sentence: sentence))
    }

    /// The same with all members of another object.
    public func members(of other: Form) -> Form { other.members.reduce(self) { $0.adding($1) } }

    func adding(_ member: Member) -> Form {
        switch kind {
        case .named(let name, let form): Form(.named(name, form.adding(member)))
        case .extended(let form, let more): Form(.extended(form, more + [member]), sentence)
        default: Form(.object(members + [member]), sentence)
        }
    }
}
