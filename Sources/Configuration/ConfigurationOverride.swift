// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

/// A setting given by a flag or an environment variable: it replaces what the files say.
public struct ConfigurationOverride: Hashable, Sendable {
    /// The dotted path of the key, such as `debounce.quiet`.
    public let key: String
    /// The texts; more than one only for lists.
    public let values: [String]
    public let origin: ValueOrigin

    /// A setting given by a flag such as `--listen`.
    public init(flag: String, key: String, values: [String]) {
        self.key = key
        self.values = values
        origin = .flag(flag)
    }

    init(variable: String, key: String, values: [String]) {
        self.key = key
        self.values = values
        origin = .environment(variable)
    }

    /// A tree with this one setting, to be read like a file.
    func node(isList: Bool) -> YAMLNode {
        let items = values.map { YAMLNode(origin: origin, content: .scalar($0, isPlain: true)) }
        let single = YAMLNode(origin: origin, content: .scalar(values.last ?? "", isPlain: true))
        var node = isList ? YAMLNode(origin: origin, content: .list(items)) : single
        for name in key.split(separator: ".").reversed() {
            node = YAMLNode(origin: origin, content: .map([YAMLEntry(key: String(name), origin: origin, value: node)]))
        }
        return node
    }
}

extension Configuration {
    /// Every setting outside of maps and lists of maps with its dotted key: what flags and variables can set.
    static func overridable(_ outlines: [SettingOutline], below path: String = "") -> [(key: String, isList: Bool)] {
        outlines.flatMap { outline -> [(key: String, isList: Bool)] in
            let key = SectionReader.join(path, outline.key)
            switch outline.shape {
            case .value(_, _, let isList, _): return [(key, isList)]
            case .section(let children): return overridable(children, below: key)
            case .list, .map: return []
            }
        }
    }

    /// The environment variable of a dotted key: `debounce.quiet` is `NWPATH_DEBOUNCE_QUIET`.
    public static func variable(forKey key: String) -> String {
        "NWPATH_" + key.uppercased().split(separator: ".").joined(separator: "_")
    }

    /// The overrides in an environment, in the order of the settings; lists are separated by commas.
    ///
    static func overrides(in environment: [String: String], _ outlines: [SettingOutline]) -> [ConfigurationOverride] {
        overridable(outlines).compactMap { key, isList in
            let name = variable(forKey: key)
            guard let text = environment[name] else { return nil }
            let parts = text.split(separator: ",").map { String($0.trimmingBlanks()) }
            return ConfigurationOverride(variable: name, key: key, values: isList ? parts : [text])
        }
    }

    /// Complains of variables that start with `NWPATH_` and mean nothing.
    ///
    /// Those of commands and of tests are no settings, and those that Kubernetes makes for a service of this name are
    /// nobody's mistake.
    static func checkVariables(
        _ environment: [String: String],
        _ outlines: [SettingOutline],
        _ findings: inout Findings
    ) {
        let settings = overridable(outlines).map { variable(forKey: $0.key) }
        let others = ["NWPATH_URL", "NWPATH_TOKEN_FILE", "NWPATH_CACERT", "NWPATH_PORT"]
        let prefixes = ["NWPATH_TEST_", "NWPATH_SERVICE_", "NWPATH_PORT_"]
        for name in environment.keys.sorted() where name.hasPrefix("NWPATH_") {
            guard !settings.contains(name), !others.contains(name), !prefixes.contains(where: name.hasPrefix) else {
                continue
            }
            let nearest = NearestSpelling.nearest(to: name, among: settings)
            findings.report(.unknownKey(name, section: "", nearest: nearest), at: .environment(name))
        }
    }
}

extension Substring {
    /// Without spaces at either end.
    fileprivate func trimmingBlanks() -> Substring {
        var text = self.drop { $0 == " " }
        while text.last == " " { text = text.dropLast() }
        return text
    }
}
