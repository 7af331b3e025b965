// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// What was built beside the tests.
public enum BuiltProgram {
    /// The path of one of its programs.
    public static func path(_ name: String = "nwpath") throws -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { throw Errno.current }
        let tests = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return tests[..<(tests.lastIndex(of: "/") ?? tests.endIndex)] + "/" + name
    }
}
