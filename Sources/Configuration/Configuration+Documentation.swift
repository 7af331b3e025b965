// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension Configuration {
    /// The default file with a comment on every key; it reads back to the defaults.
    public static func defaultFile(paths: StandardPaths) -> String {
        var text = """
            # nwpath configuration. An empty file is valid: everything below is the default.
            # Durations: 250ms 10s 5m 1h 7d. Sizes: 4096 16KiB 10MiB. Check with: nwpath config check
            # Files in conf.d beside this one are read after it, in the order of their names.
            # The keys of what has names or is a list, such as probes.active, are in nwpath.yaml(5).

            """
        for outline in Configuration(paths: paths).outlines { text += "\n" + outline.commented(indent: 0) }
        return text
    }

    /// The JSON Schema (draft 2020-12) of a configuration file.
    public static func schema(paths: StandardPaths) -> ConfigurationTree {
        var fields: [ConfigurationTree.Field] = [
            .init("$schema", "https://json-schema.org/draft/2020-12/schema"),
            .init("title", "nwpath configuration"),
        ]
        if case .map(let object) = SettingOutline.objectSchema(Configuration(paths: paths).outlines) {
            fields += object
        }
        return .map(fields)
    }
}

extension SettingOutline {
    /// The key with its comment, as it stands in the default file.
    func commented(indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        var text = margin + "# \(summary)\n"
        switch shape {
        case .value(let value?, _, _, _):
            text += margin + YAMLText.field(.init(key, value), indent: indent)
        case .value(nil, _, _, let example):
            text += margin + "# \(key): \(example ?? expectation)\n"
        case .section(let children):
            text += margin + "\(key):\n"
            for child in children { text += child.commented(indent: indent + 2) }
        case .list(_, _, _, let example), .map(_, _, _, let example):
            text += margin + "# \(key):\n"
            for line in example.split(separator: "\n") { text += margin + "#   \(line)\n" }
        }
        return text
    }

    static func objectSchema(
        _ outlines: [SettingOutline],
        type: ConfigurationTree = ["object", "null"],
        required: [String] = []
    ) -> ConfigurationTree {
        var fields: [ConfigurationTree.Field] = [.init("type", type), .init("additionalProperties", false)]
        if !required.isEmpty { fields.append(.init("required", .list(required.map { .text($0) }))) }
        fields.append(.init("properties", .map(outlines.map { .init($0.key, $0.schema) })))
        return .map(fields)
    }

    private var schema: ConfigurationTree {
        var fields: [ConfigurationTree.Field] = [.init("description", .text(summary))]
        switch shape {
        case .value(let value, let schema, _, _):
            if case .map(let own) = schema { fields += own }
            if let value { fields.append(.init("default", value)) }
        case .section(let children):
            if case .map(let own) = Self.objectSchema(children) { fields += own }
        case .list(let value, _, let schema, _):
            if case .map(let own) = schema { fields += own }
            fields.append(.init("default", value))
        case .map(let children, let names, let limit, _):
            fields += [
                .init("type", ["object", "null"]), .init("maxProperties", .integer(limit)),
                .init("propertyNames", names), .init("additionalProperties", Self.objectSchema(children)),
            ]
        }
        return .map(fields)
    }
}
