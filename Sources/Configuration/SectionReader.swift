// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

/// Reads, writes and compares a section by its table of settings.
enum SectionReader {
    /// Reads a map into a section; an empty node says nothing.
    @_semantics("optimize.sil.specialize.generic.never")
    static func read<Root: ConfigurationSection>(
        _ node: YAMLNode,
        into root: inout Root,
        path: String,
        _ findings: inout Findings
    ) {
        if node.isNull { return }
        guard case .map(let entries) = node.content else {
            findings.report(path.isEmpty ? "the file" : path, node, expected: "a map of keys and values")
            return
        }
        findings.remember(path, at: node.origin)
        let settings = Root.settings
        for entry in entries {
            if let setting = settings.first(where: { $0.key == entry.key }) {
                setting.read(entry.value, &root, join(path, entry.key), &findings)
            } else {
                let nearest = NearestSpelling.nearest(to: entry.key, among: settings.map(\.key))
                findings.report(unknownKey: entry.key, in: path, nearest: nearest, at: entry.origin)
            }
        }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    static func form<Root: ConfigurationEntry>(of type: Root.Type) -> ValueForm<Root> {
        let expectation = "a map of keys and values"
        return ValueForm<Root>(
            expectation,
            schema: SettingOutline.objectSchema(
                Root.settings.map { $0.outline(Root()) },
                type: "object",
                required: Root.required
            ),
            write: { write($0) },
            read: { node, path, findings in
                guard case .map = node.content else {
                    findings.report(path, node, expected: expectation)
                    return nil
                }
                var root = Root()
                let before = findings.problems.count
                read(node, into: &root, path: path, &findings)
                return findings.problems.count == before ? root : nil
            }
        )
    }

    /// All settings that are set.
    @_semantics("optimize.sil.specialize.generic.never")
    static func write<Root: ConfigurationSection>(_ root: Root) -> ConfigurationTree? {
        .map(Root.settings.compactMap { setting in setting.write(root).map { .init(setting.key, $0) } })
    }

    /// What differs between two values of a section.
    @_semantics("optimize.sil.specialize.generic.never")
    static func changes<Root: ConfigurationSection>(from old: Root, to new: Root, path: String) -> [SettingChange] {
        Root.settings.flatMap { $0.changes(old, new, join(path, $0.key)) }
    }

    /// Gives a section the old values of what only a restart puts into effect.
    @_semantics("optimize.sil.specialize.generic.never")
    static func keepWhatNeedsRestart<Root: ConfigurationSection>(of old: Root, in new: inout Root) {
        for setting in Root.settings { setting.keep(old, &new) }
    }

    /// The dotted path of a key.
    static func join(_ path: String, _ key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }
}

struct NamedReader<Child: ConfigurationEntry> {
    let names: ValueForm<String>
    let limit: Int

    @_semantics("optimize.sil.specialize.generic.never")
    func read(_ node: YAMLNode, into list: inout [Named<Child>], path: String, _ findings: inout Findings) {
        if node.isNull { return }
        guard case .map(let entries) = node.content else {
            findings.report(path, node, expected: "a map from names to settings")
            return
        }
        findings.remember(path, at: node.origin)
        for entry in entries {
            let keyNode = YAMLNode(origin: entry.origin, content: .scalar(entry.key, isPlain: false))
            guard let name = names.read(keyNode, "a name in \(path)", &findings) else { continue }
            let entryPath = SectionReader.join(path, name)
            var value = list.first { $0.name == name }?.value ?? Child()
            SectionReader.read(entry.value, into: &value, path: entryPath, &findings)
            findings.remember(entryPath, at: entry.origin)
            if let index = list.firstIndex(where: { $0.name == name }) {
                list[index] = Named(name, value)
            } else if list.count < limit {
                list.append(Named(name, value))
            } else {
                findings.report(.tooMany(key: path, limit: limit), at: entry.origin)
                return
            }
        }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    static func changes(from old: [Named<Child>], to new: [Named<Child>], path: String) -> [SettingChange] {
        var changes: [SettingChange] = []
        for entry in new {
            let entryPath = SectionReader.join(path, entry.name)
            if let before = old.first(where: { $0.name == entry.name }) {
                changes += SectionReader.changes(from: before.value, to: entry.value, path: entryPath)
            } else {
                changes.append(SettingChange(entryPath, needsRestart: false))
            }
        }
        for entry in old where !new.contains(where: { $0.name == entry.name }) {
            changes.append(SettingChange(SectionReader.join(path, entry.name), needsRestart: false))
        }
        if changes.isEmpty && old != new { changes.append(SettingChange(path, needsRestart: false)) }
        return changes
    }
}
