// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import StatusServer

/// The file of a unix socket may be removed while it is listened on.
@Suite(.inNamespace) struct LostSocketTests {
    private func inode(_ path: String) throws -> String { try Command.run(["stat", "-c", "%i %w %F", path]) }

    @Test func `a socket whose file was removed is made again, and what is open stays`() async throws {
        let fixture = try ServerFixture()
        #expect(fixture.server.renewSockets() == [])
        let stream = try await fixture.stream()
        // Somebody who has connected and asked nothing yet.
        let early = try fixture.client()
        #expect(unsafe unlink(fixture.path) == 0)
        #expect(throws: (any Error).self) { try fixture.client() }
        let line = "listening again on unix:\(fixture.path): the file of the socket had been removed"
        #expect(fixture.server.renewSockets() == [line])
        #expect(fixture.server.renewSockets() == [])
        #expect(try await fixture.get("/-/ready").body == "ok\n")
        early.get("/-/ready")
        #expect(try await early.response().body == "ok\n")
        fixture.publish("path.changed")
        await stream.wait("the event came") { $0.text.contains("event: path.changed") }
        #expect(try Command.run(["stat", "-c", "%a", fixture.path]) == "660\n")
        fixture.server.stop(within: .zero) {}
        #expect(unsafe access(fixture.path, F_OK) != 0)
    }

    @Test func `a socket that nobody serves any more is replaced`() async throws {
        let fixture = try ServerFixture()
        unsafe unlink(fixture.path)
        try Command.run(["python3", "-c", "import socket,sys; socket.socket(1).bind(sys.argv[1])", fixture.path])
        let other = try inode(fixture.path)
        #expect(fixture.server.renewSockets().count == 1)
        #expect(try inode(fixture.path) != other)
        #expect(try await fixture.get("/-/ready").body == "ok\n")
    }

    @Test func `another file is left alone and told once, until it goes`() async throws {
        let fixture = try ServerFixture()
        unsafe unlink(fixture.path)
        try Command.run(["sh", "-c", "echo mine >\(fixture.path)"])
        let line =
            "unix:\(fixture.path) is no longer reachable: "
            + "the socket was replaced by another file, which was not touched"
        #expect(fixture.server.renewSockets() == [line])
        for _ in 0..<3 { #expect(fixture.server.renewSockets() == []) }
        #expect(try Command.run(["cat", fixture.path]) == "mine\n")
        unsafe unlink(fixture.path)
        #expect(fixture.server.renewSockets().first?.hasPrefix("listening again on ") == true)
        #expect(try await fixture.get("/-/ready").body == "ok\n")
    }

    @Test func `a socket that another program serves is left alone, also at the end`() async throws {
        let fixture = try ServerFixture()
        unsafe unlink(fixture.path)
        let other = try ListeningSocket(.unix(path: fixture.path))
        let place = try inode(fixture.path)
        let lines = fixture.server.renewSockets()
        #expect(lines.count == 1 && lines.first?.contains("in use by") == true, "\(lines)")
        #expect(fixture.server.renewSockets() == [])
        fixture.server.stop(within: .zero) {}
        #expect(try inode(fixture.path) == place)
        other.remove()
    }

    @Test func `a missing directory is told once, and a socket that was handed over is left alone`() throws {
        let scratch = try Scratch()
        try Command.run(["mkdir", scratch.file("run")])
        let path = scratch.file("run/api.sock")
        let fixture = try ServerFixture()
        try fixture.server.listen(on: .unix(path: path))
        try Command.run(["rm", "-r", scratch.file("run")])
        #expect(fixture.server.renewSockets() == ["cannot listen on unix:\(path): the directory does not exist"])
        #expect(fixture.server.renewSockets() == [])
        let handed = scratch.file("handed.sock")
        let manager = try ListeningSocket(.unix(path: handed))
        try fixture.server.listen(handed: FileDescriptor(owning: dup(manager.descriptor.rawValue)), name: "nwpath")
        unsafe unlink(handed)
        #expect(fixture.server.renewSockets() == [])
        #expect(unsafe access(handed, F_OK) != 0)
    }
}
