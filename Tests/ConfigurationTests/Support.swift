// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport

@testable import Configuration

let rootPaths = StandardPaths(userID: 0, environment: [:])

/// Reads one text named `nwpath.yaml`.
func read(_ text: String, environment: [String: String] = [:]) throws(ConfigurationError) -> Configuration {
    let source = Configuration.Source(name: "nwpath.yaml", bytes: Array(text.utf8))
    return try Configuration.read([source], paths: rootPaths, environment: environment)
}

/// The problems of one text, one line each.
func problems(_ text: String, environment: [String: String] = [:]) -> [String] {
    do {
        _ = try read(text, environment: environment)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

extension Scratch {
    func directory(_ name: String) {
        unsafe mkdir(path + "/" + name, 0o755)
    }

    func pipe(_ name: String) {
        unsafe mkfifo(path + "/" + name, 0o600)
    }
}
