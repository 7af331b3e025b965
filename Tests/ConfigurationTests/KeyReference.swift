// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@testable import Configuration

extension Configuration {
    /// The dotted keys with what they are for and their defaults.
    ///
    /// `NAME` stands for the names in maps, `[]` for any item of a list.
    static func reference(paths: StandardPaths) -> [Reference] {
        SettingOutline.references(Configuration(paths: paths).outlines, below: "")
    }

    /// A key as documents describe it.
    struct Reference: Hashable, Sendable {
        /// The dotted key, such as `interfaces.NAME.required`.
        let key: String
        let summary: String
        let expectation: String
        /// The default in YAML; `nil` for groups and for what is not set.
        let standard: String?
        /// The environment variable that sets it, if one does.
        let variable: String?
    }
}

extension SettingOutline {
    static func references(_ outlines: [SettingOutline], below path: String) -> [Configuration.Reference] {
        outlines.flatMap { outline -> [Configuration.Reference] in
            let key = SectionReader.join(path, outline.key)
            var standard: String?
            var children: [Configuration.Reference] = []
            var isValue = false
            switch outline.shape {
            case .value(let value, _, _, _):
                standard = value.map(YAMLText.flow)
                isValue = true
            case .section(let outlines): children = references(outlines, below: key)
            case .list(let value, let outlines, _, _):
                standard = YAMLText.flow(value)
                children = references(outlines, below: key + "[]")
            case .map(let outlines, _, _, _): children = references(outlines, below: key + ".NAME")
            }
            let isInMap = key.split(separator: ".").contains { $0 == "NAME" || $0.hasSuffix("[]") }
            let reference = Configuration.Reference(
                key: key,
                summary: outline.summary,
                expectation: outline.expectation,
                standard: standard,
                variable: isValue && !isInMap ? Configuration.variable(forKey: key) : nil
            )
            return [reference] + children
        }
    }
}
