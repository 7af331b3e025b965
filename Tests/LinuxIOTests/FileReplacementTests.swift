// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Testing

@Suite struct FileReplacementTests {
    /// A directory of this test's own.
    private final class Directory {
        let path: String

        init(_ name: String) throws {
            path = "/tmp/nwpath-replacement-\(getpid())-\(name)"
            try #require(unsafe mkdir(path, 0o700) == 0)
        }

        deinit {
            for name in ["file", "file.new", "elsewhere"] { unsafe unlink("\(path)/\(name)") }
            unsafe rmdir("\(path)/file")
            unsafe rmdir(path)
        }

        var file: String { path + "/file" }

        func write(_ text: String, to name: String = "file") throws {
            let file = try FileDescriptor(opening: "\(path)/\(name)", flags: O_WRONLY | O_CREAT | O_EXCL)
            try file.writeAll(Array(text.utf8).span)
        }

        func text(_ name: String = "file") throws -> String {
            let file = try FileDescriptor(opening: "\(path)/\(name)", flags: O_RDONLY)
            return String(decoding: try file.read(upTo: 100), as: UTF8.self)
        }

        func exists(_ name: String) -> Bool { unsafe access("\(path)/\(name)", F_OK) == 0 }
    }

    @Test func `the old contents stand until the new ones are complete`() throws {
        let directory = try Directory("whole")
        try directory.write("old")
        let replacement = try FileReplacement(of: directory.file, mode: 0o600)
        try replacement.write(Array("ne".utf8).span)
        #expect(try directory.text() == "old")
        try replacement.write(Array("w".utf8).span)
        try replacement.commit()
        #expect(try directory.text() == "new")
        #expect(!directory.exists("file.new"))
    }

    @Test func `what is given up leaves the old file and nothing else`() throws {
        let directory = try Directory("dropped")
        try directory.write("old")
        do {
            let replacement = try FileReplacement(of: directory.file, mode: 0o600)
            try replacement.write(Array("new".utf8).span)
            #expect(directory.exists("file.new"))
        }
        #expect(try directory.text() == "old")
        #expect(!directory.exists("file.new"))
    }

    @Test func `a file that cannot be put in place leaves nothing`() throws {
        let directory = try Directory("taken")
        try #require(unsafe mkdir(directory.file, 0o700) == 0)
        #expect(throws: Errno(EISDIR)) {
            try FileReplacement.write([1], to: directory.file, mode: 0o600)
        }
        #expect(!directory.exists("file.new"))
    }

    @Test func `a link that lies in wait is removed, not followed`() throws {
        let directory = try Directory("link")
        try directory.write("precious", to: "elsewhere")
        try #require(unsafe symlink(directory.path + "/elsewhere", directory.file + ".new") == 0)
        try FileReplacement.write(Array("new".utf8), to: directory.file, mode: 0o600)
        #expect(try directory.text() == "new")
        #expect(try directory.text("elsewhere") == "precious")
    }

    @Test func `the new file has the wanted permissions`() throws {
        let directory = try Directory("mode")
        try directory.write("old")
        try FileReplacement.write(Array("new".utf8), to: directory.file, mode: 0o600)
        var status = stat()
        #expect(unsafe stat(directory.file, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func `what others are to read has its permissions whatever the umask is`() throws {
        let directory = try Directory("others")
        // No usual umask lets others write.
        try FileReplacement.write(Array("new".utf8), to: directory.file, mode: 0o666, isForOthers: true)
        var status = stat()
        #expect(unsafe stat(directory.file, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o666)
    }

    @Test func `a place where nothing can be made is an error`() {
        #expect(throws: Errno.noEntry) { try FileReplacement.write([], to: "/nonexistent/file", mode: 0o600) }
    }
}
