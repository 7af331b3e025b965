// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite struct FileDescriptorTests {
    @Test func `reads back what it wrote`() throws {
        let scratch = try Scratch()
        let path = scratch.file("file")
        let written = try FileDescriptor(opening: path, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        try written.writeAll(Array("hello".utf8).span)
        let read = try FileDescriptor(opening: path, flags: O_RDONLY)
        #expect(try read.read(upTo: 3) == Array("hel".utf8))
        #expect(try read.read(upTo: 9) == Array("lo".utf8))
        #expect(try read.read(upTo: 9).isEmpty)
    }

    @Test func `says why a file cannot be opened`() {
        #expect(throws: Errno.noEntry) {
            _ = try FileDescriptor(opening: "/nonexistent/file", flags: O_RDONLY).rawValue
        }
    }

    @Test func `closes exactly once, by hand or by going out of scope`() throws {
        let first = try FileDescriptor(opening: "/dev/null", flags: O_RDONLY)
        let number = first.rawValue
        try first.close()
        #expect(fcntl(number, F_GETFD) == -1)
        let kept = try FileDescriptor(opening: "/dev/null", flags: O_RDONLY).release()
        #expect(fcntl(kept, F_GETFD) == FD_CLOEXEC)
        close(kept)
    }

    @Test func `a non-blocking descriptor says that there is nothing to read`() throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        let writer = FileDescriptor(owning: ends[1])
        try reader.setNonBlocking()
        #expect(throws: Errno.again) { try reader.read(upTo: 1) }
        let count = try writer.write([7].span)
        #expect(count == 1)
        #expect(try reader.read(upTo: 1) == [7])
    }

    @Test func `every descriptor is closed in a program that is started`() throws {
        let opened = try FileDescriptor(opening: "/dev/null", flags: O_RDWR)
        #expect(fcntl(opened.rawValue, F_GETFD) == FD_CLOEXEC)
    }

    @Test func `what the kernel refuses is thrown`() throws {
        let directory = try FileDescriptor(opening: "/", flags: O_RDONLY | O_DIRECTORY)
        #expect(throws: Errno(EISDIR)) { try directory.read(upTo: 1) }
        #expect(throws: Errno(EBADF)) { try directory.writeAll([1].span) }
        let closed = FileDescriptor(owning: -1)
        #expect(throws: Errno(EBADF)) { try closed.setNonBlocking() }
        #expect(throws: Errno(EBADF)) { try FileDescriptor(owning: -1).close() }
        #expect(throws: Errno(ENOTDIR)) { _ = try FileDescriptor(opening: "/dev/null/x", flags: O_RDONLY).rawValue }
        #expect(throws: Errno(ENAMETOOLONG)) {
            _ = try FileDescriptor(opening: "/" + String(repeating: "x", count: 300), flags: O_RDONLY).rawValue
        }
    }

    @Test func `a disk that is full takes nothing`() throws {
        let full = try FileDescriptor(opening: "/dev/full", flags: O_WRONLY)
        #expect(throws: Errno.noSpace) { try full.writeAll([1, 2, 3].span) }
        #expect(throws: Errno.noSpace) { _ = try full.write([1].span) }
    }

    @Test func `a pipe takes a part of what does not fit, then nothing`() throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        let writer = FileDescriptor(owning: ends[1])
        try writer.setNonBlocking()
        let much = [UInt8](repeating: 7, count: 1 << 20)
        let taken = try writer.write(much.span)
        #expect((1..<much.count).contains(taken))
        #expect(throws: Errno.again) { _ = try writer.write(much.span) }
        #expect(throws: Errno.again) { try writer.writeAll(much.span) }
        #expect(try reader.read(upTo: much.count).count > 0)
    }

    @Test func `nothing can be written and read`() throws {
        let null = try FileDescriptor(opening: "/dev/null", flags: O_RDWR)
        try null.writeAll([UInt8]().span)
        #expect(try null.write([UInt8]().span) == 0)
        #expect(try null.read(upTo: 16).isEmpty)
    }
}

@Suite struct FilePathTests {
    @Test(arguments: [
        ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b/c", "a/b", "c"), ("./a", ".", "a"),
    ])
    func `a path has a directory and a name`(path: String, directory: String, name: String) {
        #expect(FilePath.directory(of: path) == directory)
        #expect(FilePath.name(of: path) == name)
    }

    @Test func `a directory has names, at most as many as are asked for`() throws {
        let scratch = try Scratch()
        for name in ["a", ".b", "c d"] { try scratch.write("", to: name) }
        #expect(try FilePath.names(in: scratch.path).sorted() == [".b", "a", "c d"])
        #expect(try FilePath.names(in: scratch.path, limit: 2).count == 2)
        #expect(throws: Errno.noEntry) { try FilePath.names(in: scratch.file("none")) }
    }

    @Test func `a file is read to its end, or until it is too long`() throws {
        let scratch = try Scratch()
        let bytes = [UInt8](repeating: 7, count: 200_000)
        let path = try scratch.write(String(decoding: bytes, as: UTF8.self), to: "long")
        #expect(try FileDescriptor(opening: path, flags: O_RDONLY).readAll(upTo: 200_000) == bytes)
        let part = try FileDescriptor(opening: path, flags: O_RDONLY).readAll(upTo: 100_000)
        #expect(part.count > 100_000 && part.count < 200_000)
    }
}

@Suite struct ErrnoTests {
    @Test(arguments: [(ENOBUFS, "ENOBUFS"), (EAGAIN, "EAGAIN"), (4095, "E4095")])
    func `names error numbers, whatever their sign`(number: Int32, name: String) {
        #expect(Errno(number).name == name)
        #expect(Errno(-number).name == name)
        #expect(Errno(-number).rawValue == number)
    }

    @Test func `describes itself in words`() {
        #expect("\(Errno(ENOSPC))" == "No space left on device (ENOSPC)")
    }

    @Test(
        arguments: [
            (.again, EAGAIN, "EAGAIN"), (.interrupted, EINTR, "EINTR"), (.noBufferSpace, ENOBUFS, "ENOBUFS"),
            (.noSpace, ENOSPC, "ENOSPC"), (.noEntry, ENOENT, "ENOENT"), (.exists, EEXIST, "EEXIST"),
            (.accessDenied, EACCES, "EACCES"), (.notPermitted, EPERM, "EPERM"),
            (.addressInUse, EADDRINUSE, "EADDRINUSE"), (.invalid, EINVAL, "EINVAL"), (.brokenPipe, EPIPE, "EPIPE"),
            (.timedOut, ETIMEDOUT, "ETIMEDOUT"),
        ] as [(Errno, Int32, String)]
    )
    func `the named ones are those of the C library`(error: Errno, number: Int32, name: String) {
        #expect(error.rawValue == number)
        #expect(error.name == name)
        #expect(error.description.hasSuffix(" (\(name))"))
    }

    @Test func `the present one is that of the last call`() {
        #expect(close(-1) == -1)
        #expect(Errno.current == Errno(EBADF))
    }

    @Test func `a number nobody knows still reads`() {
        #expect(!Errno(4095).description.isEmpty)
        #expect(Errno(0).rawValue == 0)
    }
}
