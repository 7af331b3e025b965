// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Testing

@Suite struct FileDescriptorTests {
    @Test func `reads back what it wrote`() throws {
        let path = "/tmp/nwpath-descriptor-\(getpid())"
        defer { unsafe unlink(path) }
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
        let copy = try first.duplicate()
        try first.close()
        #expect(fcntl(number, F_GETFD) == -1)
        #expect(fcntl(copy.rawValue, F_GETFD) == FD_CLOEXEC)
        let kept = copy.release()
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
}
