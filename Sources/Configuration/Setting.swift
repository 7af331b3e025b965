// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

protocol ConfigurationSection: Hashable, Sendable {
    /// The one declaration of every key, in the order in which people read them.
    static var settings: [Setting<Self>] { get }
}

/// The value of each entry of a map.
protocol ConfigurationEntry: ConfigurationSection {
    /// The keys without which an item of a list is refused; an entry of a map may get them from another file.
    static var required: [String] { get }
    /// An entry of which nothing is said yet.
    init()
}

extension ConfigurationEntry {
    static var required: [String] { [] }
}

/// One key of a section: how to read, write, compare and describe it.
struct Setting<Root: Sendable>: Sendable {
    let key: String
    /// Reads a node into the root, at the dotted path of the key.
    let read: @Sendable (YAMLNode, inout Root, _ path: String, inout Findings) -> Void
    /// The current value; `nil` when it is not set.
    let write: @Sendable (Root) -> ConfigurationTree?
    /// The key's description, with the defaults of a root.
    let outline: @Sendable (Root) -> SettingOutline
    /// The dotted paths of what differs between two roots.
    let changes: @Sendable (_ old: Root, _ new: Root, _ path: String) -> [SettingChange]
    /// Gives a root the old value of what only a restart puts into effect.
    let keep: @Sendable (_ old: Root, _ new: inout Root) -> Void

    @_semantics("optimize.sil.specialize.generic.never")
    init<Value: Hashable & Sendable>(
        _ key: String,
        _ property: any WritableKeyPath<Root, Value> & Sendable,
        _ form: ValueForm<Value>,
        needsRestart: Bool = false,
        example: String? = nil,
        _ summary: String
    ) {
        self.key = key
        read = { node, root, path, findings in
            findings.remember(path, at: node.origin)
            if let value = form.read(node, path, &findings) { root[keyPath: property] = value }
        }
        write = { form.write($0[keyPath: property]) }
        outline = { root in
            let value = SettingOutline.Shape.value(
                form.write(root[keyPath: property]),
                schema: form.schema,
                isList: form.isList,
                example: example
            )
            return SettingOutline(
                key: key,
                summary: summary,
                expectation: form.expectation,
                shape: value
            )
        }
        changes = { old, new, path in
            old[keyPath: property] == new[keyPath: property] ? [] : [SettingChange(path, needsRestart: needsRestart)]
        }
        keep = { old, new in if needsRestart { new[keyPath: property] = old[keyPath: property] } }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    init<Child: ConfigurationSection>(
        section key: String,
        _ property: any WritableKeyPath<Root, Child> & Sendable,
        _ summary: String
    ) {
        self.key = key
        read = { node, root, path, findings in
            SectionReader.read(node, into: &root[keyPath: property], path: path, &findings)
        }
        write = { SectionReader.write($0[keyPath: property]) }
        outline = { root in
            let children = Child.settings.map { $0.outline(root[keyPath: property]) }
            return SettingOutline(key: key, summary: summary, expectation: "a map", shape: .section(children))
        }
        changes = { old, new, path in
            SectionReader.changes(from: old[keyPath: property], to: new[keyPath: property], path: path)
        }
        keep = { old, new in
            SectionReader.keepWhatNeedsRestart(of: old[keyPath: property], in: &new[keyPath: property])
        }
    }

    /// A key with a list of groups of keys.
    @_semantics("optimize.sil.specialize.generic.never")
    init<Child: ConfigurationEntry>(
        list key: String,
        _ property: any WritableKeyPath<Root, [Child]> & Sendable,
        upTo limit: Int,
        example: String,
        _ summary: String
    ) {
        self.key = key
        let form = SectionReader.form(of: Child.self).list(upTo: limit)
        read = { node, root, path, findings in
            findings.remember(path, at: node.origin)
            if let value = form.read(node, path, &findings) { root[keyPath: property] = value }
        }
        write = { form.write($0[keyPath: property]) }
        outline = { root in
            let children = Child.settings.map { $0.outline(Child()) }
            let value = form.write(root[keyPath: property]) ?? .list([])
            let shape = SettingOutline.Shape.list(value, children, schema: form.schema, example: example)
            return SettingOutline(key: key, summary: summary, expectation: form.expectation, shape: shape)
        }
        changes = { old, new, path in
            old[keyPath: property] == new[keyPath: property] ? [] : [SettingChange(path, needsRestart: false)]
        }
        keep = { _, _ in }
    }

    /// A key with a map from names to groups of keys; entries of later files add to those of earlier ones.
    @_semantics("optimize.sil.specialize.generic.never")
    init<Child: ConfigurationEntry>(
        map key: String,
        _ property: any WritableKeyPath<Root, [Named<Child>]> & Sendable,
        names: ValueForm<String>,
        upTo limit: Int = 64,
        example: String,
        _ summary: String
    ) {
        self.key = key
        read = { node, root, path, findings in
            NamedReader(names: names, limit: limit).read(node, into: &root[keyPath: property], path: path, &findings)
        }
        write = { root in
            .map(
                root[keyPath: property].compactMap { entry in
                    SectionReader.write(entry.value).map { .init(entry.name, $0) }
                }
            )
        }
        outline = { root in
            let children = Child.settings.map { $0.outline(Child()) }
            let shape = SettingOutline.Shape.map(children, names: names.schema, limit: limit, example: example)
            return SettingOutline(key: key, summary: summary, expectation: "a map", shape: shape)
        }
        changes = { NamedReader<Child>.changes(from: $0[keyPath: property], to: $1[keyPath: property], path: $2) }
        keep = { _, _ in }
    }
}

/// A key whose value differs between two configurations.
struct SettingChange {
    let path: String
    let needsRestart: Bool

    init(_ path: String, needsRestart: Bool) {
        self.path = path
        self.needsRestart = needsRestart
    }
}

/// The description of a key, from which documents, schemas and names are derived.
struct SettingOutline {
    indirect enum Shape {
        /// A value with its default (`nil`: not set), its schema, and an example of one that is not set.
        case value(ConfigurationTree?, schema: ConfigurationTree, isList: Bool, example: String?)
        case section([SettingOutline])
        /// A list of groups of keys with its default and its schema, and an example in YAML.
        case list(ConfigurationTree, [SettingOutline], schema: ConfigurationTree, example: String)
        /// A map from names to groups of keys, with an example in YAML.
        case map([SettingOutline], names: ConfigurationTree, limit: Int, example: String)
    }

    let key: String
    let summary: String
    let expectation: String
    let shape: Shape
}
