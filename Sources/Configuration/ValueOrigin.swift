// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Where a setting was written.
public enum ValueOrigin: Hashable, Sendable, CustomStringConvertible {
    /// A file; line and column count from 1, the column in characters.
    case file(String, line: Int, column: Int)
    case path(String)
    case environment(String)
    /// A flag of the command line, such as `--listen`.
    case flag(String)
    /// Nowhere: the built-in default.
    case builtIn

    /// Such as `nwpath.yaml:12:5`, `environment NWPATH_LISTEN` or `--listen`.
    public var description: String {
        switch self {
        case .file(let name, let line, let column): "\(name):\(line):\(column)"
        case .path(let name): name
        case .environment(let name): "environment \(name)"
        case .flag(let name): name
        case .builtIn: "built-in default"
        }
    }
}
