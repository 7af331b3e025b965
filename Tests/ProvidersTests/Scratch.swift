// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport

extension Scratch {
    func callAsFunction(_ name: String) -> String { file(name) }

    /// Writes beside the file and renames over it.
    func replace(_ name: String, with text: String) throws {
        try write(text, to: name + ".new")
        try Command.run(["mv", "-T", self(name + ".new"), self(name)])
    }

    func link(_ name: String, to target: String) throws {
        try Command.run(["ln", "-sfn", target, self(name)])
    }
}

/// The directory of the fixtures.
var fixtures: String {
    let parts = #filePath.split(separator: "/").dropLast()
    return "/" + parts.joined(separator: "/") + "/Fixtures"
}

/// The directory of the package.
var package: String {
    "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
}
