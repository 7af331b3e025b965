// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

struct YAMLNode: Equatable {
    enum Content: Equatable {
        /// Text; `isPlain` when it was written without quotes.
        case scalar(String, isPlain: Bool)
        case list([YAMLNode])
        /// A map, in written order, each key once.
        case map([YAMLEntry])
    }

    let origin: ValueOrigin
    let content: Content

    /// Whether nothing was written: an empty value, `~` or `null`.
    var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = content else { return false }
        return ["", "~", "null"].contains(text)
    }

    /// What a message calls this node.
    var shape: String {
        switch content {
        case .scalar where isNull: "empty"
        case .scalar(let text, _): PrintableText.quote(text)
        case .list: "a list"
        case .map: "a map"
        }
    }
}

struct YAMLEntry: Equatable {
    let key: String
    let origin: ValueOrigin
    let value: YAMLNode
}
