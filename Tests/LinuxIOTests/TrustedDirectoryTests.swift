// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

/// What strangers can prepare in shared places, with the kernel's own protection (`fs.protected_*`) on or off.
///
/// Nothing of that setting is changed here: it is the whole machine's. Every expectation holds with both.
@Suite(.enabled(if: geteuid() == 0)) struct TrustedDirectoryTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        try Command.run(["install", "-d", "-m", "1777", scratch.file("tmp")])
        try Command.run(["install", "-d", scratch.file("own")])
        try scratch.write("marker", to: "own/marker")
    }

    /// Runs a command as user 60001, who is a stranger here.
    private func asStranger(_ words: String...) throws {
        try Command.run(["setpriv", "--reuid", "60001", "--regid", "60001", "--clear-groups"] + words)
    }

    private func refusal(
        _ path: String,
        for purpose: FileTrust.Purpose = .log,
        making mode: UInt32? = 0o640
    ) -> FileRefusal? {
        do throws(FileRefusal) {
            let directory = try TrustedDirectory(FilePath.directory(of: scratch.file(path)), making: 0o750)
            _ = try directory.open(FilePath.name(of: path), O_RDWR, making: mode, for: purpose).rawValue
            return nil
        } catch {
            return error
        }
    }

    private func expectRefusal(_ path: String, at place: String, _ cause: FileRefusal.Cause) {
        #expect(refusal(path) == FileRefusal(path: scratch.file(place), cause: cause))
    }

    @Test func `a stranger's directory, link, file, pipe and hard link are refused, and the marker is untouched`()
        throws
    {
        try asStranger("mkdir", scratch.file("tmp/directory"))
        try asStranger("ln", "-s", scratch.file("own"), scratch.file("tmp/link"))
        try asStranger("ln", "-s", scratch.file("own/marker"), scratch.file("tmp/file-link"))
        try asStranger("touch", scratch.file("tmp/file"))
        try asStranger("mkfifo", scratch.file("tmp/pipe"))
        // With protected_hardlinks a stranger cannot; without it this is what comes of it.
        try Command.run(["ln", scratch.file("own/marker"), scratch.file("tmp/hard")])
        expectRefusal("tmp/directory/file", at: "tmp/directory", .foreignDirectory(owner: 60001))
        expectRefusal("tmp/directory/deep/down/file", at: "tmp/directory", .foreignDirectory(owner: 60001))
        expectRefusal("tmp/link/file", at: "tmp/link", .foreignLink(owner: 60001))
        expectRefusal("tmp/link/../own/file", at: "tmp/link", .foreignLink(owner: 60001))
        expectRefusal("tmp/file-link", at: "tmp/file-link", .link)
        expectRefusal("tmp/file", at: "tmp/file", .foreignFile(owner: 60001))
        expectRefusal("tmp/pipe", at: "tmp/pipe", .notRegular)
        expectRefusal("tmp/hard", at: "tmp/hard", .hardLinked)
        #expect(try scratch.text("own/marker") == "marker")
        #expect(try Command.run(["ls", scratch.file("own"), scratch.file("tmp/directory")]).contains("file") == false)
    }

    @Test func `what a stranger may change further up is refused as well`() throws {
        try asStranger("mkdir", scratch.file("tmp/his"))
        // Root's own directory in it: he can exchange it at any time.
        try Command.run(["install", "-d", scratch.file("tmp/his/roots")])
        expectRefusal("tmp/his/roots/file", at: "tmp/his", .foreignDirectory(owner: 60001))
    }

    @Test func `what an administrator made goes on working`() throws {
        // A directory of the service's user, as systemd makes it, and a link like that of DynamicUser=.
        try Command.run(["install", "-d", "-m", "750", "-o", "60001", scratch.file("own/service")])
        try Command.run(["install", "-m", "640", "-o", "60001", "/dev/null", scratch.file("own/service/events.jsonl")])
        try Command.run(["ln", "-s", "service", scratch.file("own/link")])
        try Command.run(["ln", "-s", "service/linked", scratch.file("own/file-link")])
        try Command.run(["ln", "-s", scratch.file("own"), scratch.file("tmp/roots-link")])
        for path in [
            "own/service/events.jsonl", "own/service/new", "own/link/events.jsonl", "own/link/../service/new",
            "own/file-link", "tmp/roots-link/marker", "tmp/new", "tmp/new-directory/deep/new", "own/./service//new",
        ] {
            #expect(refusal(path) == nil, "\(path)")
        }
        #expect(scratch.exists("own/service/linked") && scratch.exists("tmp/new-directory/deep/new"))
        #expect(try Command.run(["stat", "-c", "%a", scratch.file("tmp/new-directory")]) == "750\n")
    }

    @Test func `a relative path begins in the current directory`() throws {
        let number = "\(getpid())"
        let name = FilePath.name(of: #filePath)
        #expect(throws: FileRefusal.self) { _ = try TrustedDirectory("none-\(number)").path }
        #expect(try TrustedDirectory(".").inspect("none-\(number)-\(name)", for: .state) == nil)
    }

    @Test func `links of procfs lead where the kernel says`() throws {
        let sleeper = try RunningCommand([
            "unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt && exec sleep 600",
        ])
        defer { sleeper.signal(SIGKILL) }
        let place = "/proc/\(sleeper.processID)/root/mnt"
        try Command.run([
            "timeout", "20", "sh", "-c", "until grep -q ' /mnt ' /proc/\(sleeper.processID)/mounts; do :; done",
        ])
        _ = try TrustedDirectory(place + "/a/b", making: 0o750).open("file", O_RDWR, making: 0o600, for: .log).rawValue
        #expect(try Command.run(["ls", place + "/a/b"]) == "file\n")
        let own = try FileDescriptor(opening: scratch.file("own/marker"), flags: O_RDWR)
        let same = try TrustedDirectory.open(path: "/proc/self/fd/\(own.rawValue)", O_WRONLY, for: .output)
        try same.writeAll(Array("M".utf8).span)
        #expect(try scratch.text("own/marker") == "Marker")
        #expect(throws: FileRefusal.self) {
            _ = try TrustedDirectory.open(path: "/proc/self/fd/\(own.rawValue)", O_WRONLY, for: .state).rawValue
        }
    }

    @Test func `links that lead nowhere or in circles are errors of the path, and nothing is made there`() throws {
        try Command.run(["ln", "-s", "circle", scratch.file("own/circle")])
        try Command.run(["ln", "-s", scratch.file("none/deep"), scratch.file("own/nowhere")])
        let circle = scratch.file("own/circle")
        #expect(refusal("own/circle/file") == FileRefusal(path: circle, cause: .failed(Errno(ELOOP))))
        #expect(refusal("own/circle")?.cause == .failed(Errno(ELOOP)))
        let nowhere = scratch.file("own/nowhere")
        #expect(refusal("own/nowhere/file") == FileRefusal(path: nowhere, cause: .failed(.noEntry)))
        #expect(!scratch.exists("none"))
        #expect(refusal("own/marker/file")?.cause == .failed(Errno(ENOTDIR)))
        #expect(refusal("own", making: nil)?.cause == .failed(Errno(EISDIR)))
        #expect(refusal("own/none", making: nil)?.cause == .failed(.noEntry))
    }

    @Test func `a file that is exchanged while it is opened is never the stranger's`() throws {
        try asStranger("sh", "-c", "echo his > \(scratch.file("tmp/his"))")
        let name = scratch.file("tmp/log")
        let trial = try RunningCommand([
            "sh", "-c",
            "while :; do ln -sf \(scratch.file("own/marker")) \(name); ln -f \(scratch.file("tmp/his")) \(name); "
                + "rm -f \(name); done",
        ])
        defer { trial.signal(SIGKILL) }
        let directory = try TrustedDirectory(scratch.file("tmp"))
        for _ in 0..<2000 {
            do throws(FileRefusal) {
                let file = try directory.open("log", O_RDWR, making: 0o640, for: .log)
                var status = stat()
                #expect(unsafe fstat(file.rawValue, &status) == 0)
                #expect(status.st_uid == 0 && status.st_size == 0)
            } catch {
                #expect(![.failed(.noEntry), .failed(Errno(EACCES))].contains(error.cause))
            }
        }
        #expect(try scratch.text("own/marker") == "marker" && scratch.text("tmp/his") == "his\n")
    }

    @Test func `a replacement stays in the directory that was opened`() throws {
        try Command.run(["install", "-d", scratch.file("tmp/state")])
        let directory = try TrustedDirectory(scratch.file("tmp/state"))
        let replacement = try directory.replacement(of: "file", mode: 0o600)
        try Command.run(["mv", scratch.file("tmp/state"), scratch.file("tmp/moved")])
        try asStranger("mkdir", scratch.file("tmp/state"))
        try replacement.write(Array("ours".utf8).span)
        try replacement.commit()
        #expect(try scratch.text("tmp/moved/file") == "ours")
        #expect(!scratch.exists("tmp/state/file") && !scratch.exists("tmp/moved/file.new"))
    }
}
