// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

extension Configuration {
    /// A file's text with the name that messages use.
    public struct Source: Sendable {
        /// The name in messages.
        public let name: String
        /// The text in UTF-8.
        public let bytes: [UInt8]

        public init(name: String, bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }
    }

    /// Works out the configuration from texts alone: defaults, then the files in order, the environment, the flags.
    ///
    /// A value of a later source replaces that of an earlier one; maps are merged entry by entry, lists replaced.
    /// - Throws: ``ConfigurationError`` with everything that was found.
    public static func read(
        _ sources: [Source],
        paths: StandardPaths,
        environment: [String: String] = [:],
        overrides: [ConfigurationOverride] = []
    ) throws(ConfigurationError) -> Configuration {
        var findings = Findings()
        let configuration = read(sources, paths, environment, overrides, &findings)
        guard findings.problems.isEmpty else { throw ConfigurationError(problems: findings.problems) }
        return configuration
    }

    static func read(
        _ sources: [Source],
        _ paths: StandardPaths,
        _ environment: [String: String],
        _ overrides: [ConfigurationOverride],
        _ findings: inout Findings
    ) -> Configuration {
        var configuration = Configuration(paths: paths)
        let outlines = configuration.outlines
        for source in sources {
            guard let root = YAMLDocument.read(source.bytes, file: source.name, into: &findings) else { continue }
            SectionReader.read(root, into: &configuration, path: "", &findings)
        }
        checkVariables(environment, outlines, &findings)
        let known = overridable(outlines)
        for override in Self.overrides(in: environment, outlines) + overrides {
            guard let isList = known.first(where: { $0.key == override.key })?.isList else {
                let nearest = NearestSpelling.nearest(to: override.key, among: known.map(\.key))
                findings.report(.unknownKey(override.key, section: "", nearest: nearest), at: override.origin)
                continue
            }
            SectionReader.read(override.node(isList: isList), into: &configuration, path: "", &findings)
        }
        configuration.check(&findings)
        return configuration
    }

    /// The description of every key, with the values of this configuration as defaults.
    var outlines: [SettingOutline] { Self.settings.map { $0.outline(self) } }
}

// MARK: - What is derived

extension Configuration {
    /// Every setting that is set, defaults included, in the order of the documentation.
    public var tree: ConfigurationTree { SectionReader.write(self) ?? .map([]) }

    /// The effective settings as YAML that reads back to the same configuration.
    public var yaml: String { tree.yaml }

    /// This configuration with the old values of all settings that only a restart puts into effect.
    public func keepingWhatNeedsRestart(of old: Configuration) -> Configuration {
        var merged = self
        SectionReader.keepWhatNeedsRestart(of: old, in: &merged)
        return merged
    }

    /// What changed since `old`.
    /// - Returns: Dotted keys in the order of the documentation.
    public func difference(from old: Configuration) -> ConfigurationDifference {
        let changes = SectionReader.changes(from: old, to: self, path: "")
        return ConfigurationDifference(
            changed: changes.map(\.path),
            restartNeeded: changes.filter(\.needsRestart).map(\.path)
        )
    }
}

public struct ConfigurationDifference: Hashable, Sendable {
    /// The dotted keys whose values differ.
    public let changed: [String]
    /// Those of them that only a restart puts into effect.
    public let restartNeeded: [String]

    public var isEmpty: Bool { changed.isEmpty }
}
