// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Testing

@Suite struct ProgramTextTests {
    /// Nobody else in this process uses it.
    private let library = "libthread_db.so.1"

    @Test func `code that nobody runs is not resident any more, and still there`() throws {
        let opened = unsafe dlopen(library, RTLD_LAZY)
        let handle = unsafe try #require(opened)
        defer { unsafe dlclose(handle) }
        let found = unsafe dlsym(handle, "td_init")
        let code = unsafe try #require(found)
        let before = unsafe Array(UnsafeRawBufferPointer(start: code, count: 16))
        #expect(try resident() > 0)
        try ProgramText.release()
        #expect(try resident() == 0)
        #expect(unsafe Array(UnsafeRawBufferPointer(start: code, count: 16)) == before)
        #expect(try resident() > 0)
    }

    /// KiB of the library's code in memory, proc_pid_smaps(5).
    private func resident() throws -> Int {
        let file = try FileDescriptor(opening: "/proc/self/smaps", flags: O_RDONLY)
        var text: [UInt8] = []
        while case let piece = try file.read(upTo: 65_536), !piece.isEmpty { text += piece }
        var isCode = false
        var total = 0
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            if words[1].count == 4, words[1].last == "p" {
                isCode = line.hasSuffix(library) && words[1] == "r-xp"
            } else if isCode, words[0] == "Rss:" {
                total += try #require(Int(words[1]))
            }
        }
        return total
    }
}
