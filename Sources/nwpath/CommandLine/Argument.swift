// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A flag, option or positional argument of a command: what it is called, and where its value goes.
struct Argument<Root: Sendable>: Sendable {
    /// What help, completions and manual pages say of it.
    let description: ArgumentDescription
    /// Takes the text into the root, an empty one for flags; `false` when it is not right.
    let accept: @Sendable (String, inout Root) -> Bool

    private init(_ description: ArgumentDescription, _ accept: @escaping @Sendable (String, inout Root) -> Bool) {
        self.description = description
        self.accept = accept
    }

    /// A flag without a value, such as `--json`.
    @_semantics("optimize.sil.specialize.generic.never")
    static func flag(
        _ names: String...,
        into property: any WritableKeyPath<Root, Bool> & Sendable,
        help: String
    ) -> Argument {
        Argument(ArgumentDescription(kind: .flag, names: names, help: help)) { _, root in
            root[keyPath: property] = true
            return true
        }
    }

    /// A flag that counts how often it is given, such as `-vv`.
    @_semantics("optimize.sil.specialize.generic.never")
    static func count(
        _ names: String...,
        into property: any WritableKeyPath<Root, Int> & Sendable,
        help: String
    ) -> Argument {
        var description = ArgumentDescription(kind: .flag, names: names, help: help)
        description.isRepeatable = true
        return Argument(description) { _, root in
            root[keyPath: property] += 1
            return true
        }
    }

    /// An option with a value and a default, such as `--timeout 5s`; given twice, the last one counts.
    @_semantics("optimize.sil.specialize.generic.never")
    static func option<Value>(
        _ names: String...,
        value placeholder: String,
        into property: any WritableKeyPath<Root, Value> & Sendable,
        _ form: ArgumentForm<Value>,
        help: String
    ) -> Argument where Root: Defaulted {
        var description = ArgumentDescription(kind: .option(placeholder), names: names, help: help)
        description.describe(form, standard: form.format(Root()[keyPath: property]))
        return Argument(description, accept(property, form) { $0 = $1 })
    }

    /// An option with a value that may be left out; given twice, the last one counts.
    @_semantics("optimize.sil.specialize.generic.never")
    static func option<Value>(
        _ names: String...,
        value placeholder: String,
        into property: any WritableKeyPath<Root, Value?> & Sendable,
        _ form: ArgumentForm<Value>,
        help: String
    ) -> Argument {
        var description = ArgumentDescription(kind: .option(placeholder), names: names, help: help)
        description.describe(form, standard: nil)
        return Argument(description, accept(property, form) { $0 = $1 })
    }

    /// `--interface NAME`, which may be left out.
    @_semantics("optimize.sil.specialize.generic.never")
    static func interface(
        into property: any WritableKeyPath<Root, String?> & Sendable,
        help: String
    ) -> Argument {
        option("--interface", value: "NAME", into: property, .interfaceName, help: help)
    }

    /// An option that may be given several times.
    @_semantics("optimize.sil.specialize.generic.never")
    static func options<Value>(
        _ names: String...,
        value placeholder: String,
        into property: any WritableKeyPath<Root, [Value]> & Sendable,
        _ form: ArgumentForm<Value>,
        help: String
    ) -> Argument {
        var description = ArgumentDescription(kind: .option(placeholder), names: names, help: help)
        description.describe(form, standard: nil)
        description.isRepeatable = true
        return Argument(description, accept(property, form) { $0.append($1) })
    }

    /// A positional argument that must be given.
    @_semantics("optimize.sil.specialize.generic.never")
    static func positional<Value>(
        _ placeholder: String,
        into property: any WritableKeyPath<Root, Value> & Sendable,
        _ form: ArgumentForm<Value>,
        help: String
    ) -> Argument {
        var description = ArgumentDescription(kind: .positional(placeholder), names: [], help: help)
        description.describe(form, standard: nil)
        description.isRequired = true
        return Argument(description, accept(property, form) { $0 = $1 })
    }

    /// A positional argument that may be left out.
    @_semantics("optimize.sil.specialize.generic.never")
    static func positional<Value>(
        _ placeholder: String,
        into property: any WritableKeyPath<Root, Value?> & Sendable,
        _ form: ArgumentForm<Value>,
        help: String
    ) -> Argument {
        var description = ArgumentDescription(kind: .positional(placeholder), names: [], help: help)
        description.describe(form, standard: nil)
        return Argument(description, accept(property, form) { $0 = $1 })
    }

    /// Positional arguments in any number, the last ones of a command.
    @_semantics("optimize.sil.specialize.generic.never")
    static func positionals<Value>(
        _ placeholder: String,
        into property: any WritableKeyPath<Root, [Value]> & Sendable,
        _ form: ArgumentForm<Value>,
        isRequired: Bool = false,
        help: String
    ) -> Argument {
        var description = ArgumentDescription(kind: .positional(placeholder), names: [], help: help)
        description.describe(form, standard: nil)
        description.isRequired = isRequired
        description.isRepeatable = true
        return Argument(description, accept(property, form) { $0.append($1) })
    }

    // MARK: - Taking values

    @_semantics("optimize.sil.specialize.generic.never")
    private static func accept<Value, Stored>(
        _ property: any WritableKeyPath<Root, Stored> & Sendable,
        _ form: ArgumentForm<Value>,
        _ store: @escaping @Sendable (inout Stored, Value) -> Void
    ) -> @Sendable (String, inout Root) -> Bool {
        { text, root in
            guard let value = form.parse(text) else { return false }
            store(&root[keyPath: property], value)
            return true
        }
    }
}

/// A value that starts out with the defaults of its arguments.
protocol Defaulted: Sendable {
    init()
}
