// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport

/// A directory of a test's own; it goes with the value.
final class Scratch {
    let path: String

    init() throws {
        path = try Command.run(["mktemp", "-d", "/tmp/nwpath-providers.XXXXXX"]).filter { $0 != "\n" }
        // Services that give up root still have to reach the bus inside.
        try Command.run(["chmod", "755", path])
    }

    deinit { _ = try? Command.run(["rm", "-rf", path]) }

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes in place, as `echo >file` does.
    func write(_ text: String, to name: String) throws {
        let file = try FileDescriptor(opening: self(name), flags: O_WRONLY | O_CREAT | O_TRUNC)
        try file.writeAll(Array(text.utf8).span)
    }

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
