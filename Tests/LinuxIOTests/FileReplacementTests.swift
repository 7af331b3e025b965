// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite struct FileReplacementTests {
    private let scratch: Scratch
    private var file: String { scratch.file("file") }

    init() throws { scratch = try Scratch() }

    @Test func `the old contents stand until the new ones are complete`() throws {
        try scratch.write("old", to: "file")
        let replacement = try FileReplacement(of: file, mode: 0o600)
        try replacement.write(Array("ne".utf8).span)
        #expect(try scratch.text("file") == "old")
        try replacement.write(Array("w".utf8).span)
        try replacement.commit()
        #expect(try scratch.text("file") == "new")
        #expect(!scratch.exists("file.new"))
    }

    @Test func `what is given up leaves the old file and nothing else`() throws {
        try scratch.write("old", to: "file")
        do {
            let replacement = try FileReplacement(of: file, mode: 0o600)
            try replacement.write(Array("new".utf8).span)
            #expect(scratch.exists("file.new"))
        }
        #expect(try scratch.text("file") == "old")
        #expect(!scratch.exists("file.new"))
    }

    @Test func `a file that cannot be put in place leaves nothing`() throws {
        try #require(unsafe mkdir(file, 0o700) == 0)
        #expect(throws: Errno(EISDIR)) {
            try FileReplacement.write([1], to: file, mode: 0o600)
        }
        #expect(!scratch.exists("file.new"))
    }

    @Test func `a link that lies in wait is removed, not followed`() throws {
        try scratch.write("precious", to: "elsewhere")
        try #require(unsafe symlink(scratch.file("elsewhere"), file + ".new") == 0)
        try FileReplacement.write(Array("new".utf8), to: file, mode: 0o600)
        #expect(try scratch.text("file") == "new")
        #expect(try scratch.text("elsewhere") == "precious")
    }

    @Test func `the new file has the wanted permissions`() throws {
        try scratch.write("old", to: "file")
        try FileReplacement.write(Array("new".utf8), to: file, mode: 0o600)
        var status = stat()
        #expect(unsafe stat(file, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func `what others are to read has its permissions whatever the umask is`() throws {
        // No usual umask lets others write.
        try FileReplacement.write(Array("new".utf8), to: file, mode: 0o666, isForOthers: true)
        var status = stat()
        #expect(unsafe stat(file, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o666)
    }

    @Test func `a place where nothing can be made is an error`() {
        #expect(throws: Errno.noEntry) { try FileReplacement.write([], to: "/nonexistent/file", mode: 0o600) }
    }
}
