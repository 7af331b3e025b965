// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Providers

@Suite(.inNamespace) struct ResolverConfigurationMonitorTests {
    private func first(_ watcher: ResolverConfigurationMonitor) -> String {
        watcher.configuration.servers.first?.description ?? ""
    }

    private func watch(_ scratch: Scratch, _ loop: EventLoop) -> ResolverConfigurationMonitor {
        let watcher = ResolverConfigurationMonitor(
            loop: loop,
            path: scratch("resolv.conf"),
            debounce: .milliseconds(10)
        )
        watcher.start()
        return watcher
    }

    /// Has this thread alone open files as another user: setfsuid(2), which the module Glibc lacks.
    private func setFileUser(_ user: uid_t) {
        typealias Call = @convention(c) (uid_t) -> Int32
        _ = unsafe unsafeBitCast(dlsym(nil, "setfsuid"), to: Call.self)(user)
    }

    @Test func `sees the file written in place, twice`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        let watcher = watch(scratch, loop)
        #expect(first(watcher) == "192.0.2.1")
        #expect(watcher.health.state == .active)
        for number in 2...3 {
            try scratch.write("nameserver 192.0.2.\(number)\n", to: "resolv.conf")
            await loop.eventually { first(watcher) == "192.0.2.\(number)" }
        }
        watcher.stop()
    }

    @Test func `sees the file renamed over, twice`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        let watcher = watch(scratch, loop)
        for number in 2...3 {
            try scratch.replace("resolv.conf", with: "nameserver 192.0.2.\(number)\n")
            await loop.eventually { first(watcher) == "192.0.2.\(number)" }
        }
        watcher.stop()
    }

    @Test func `sees a link pointed elsewhere, and changes there`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try Command.run(["mkdir", scratch("a"), scratch("b")])
        try scratch.write("nameserver 192.0.2.1\n", to: "a/resolv.conf")
        try scratch.write("nameserver 192.0.2.2\n", to: "b/resolv.conf")
        try scratch.link("resolv.conf", to: "a/resolv.conf")
        let watcher = watch(scratch, loop)
        try scratch.link("resolv.conf", to: scratch("b/resolv.conf"))
        await loop.eventually { first(watcher) == "192.0.2.2" }
        try scratch.write("nameserver 192.0.2.3\n", to: "b/resolv.conf")
        await loop.eventually { first(watcher) == "192.0.2.3" }
        watcher.stop()
    }

    @Test func `sees the target of the link renamed over, twice`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try Command.run(["mkdir", scratch("run")])
        try scratch.write("nameserver 192.0.2.1\n", to: "run/resolv.conf")
        try scratch.link("resolv.conf", to: "run/resolv.conf")
        let watcher = watch(scratch, loop)
        for number in 2...3 {
            try scratch.replace("run/resolv.conf", with: "nameserver 192.0.2.\(number)\n")
            await loop.eventually { first(watcher) == "192.0.2.\(number)" }
        }
        watcher.stop()
    }

    @Test func `sees a write into a file that is mounted over it`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        try Command.run(["mkdir", scratch("host")])
        try scratch.write("nameserver 192.0.2.2\n", to: "host/resolv.conf")
        try Command.run(["mount", "--bind", scratch("host/resolv.conf"), scratch("resolv.conf")])
        defer { _ = try? Command.run(["umount", "--lazy", scratch("resolv.conf")]) }
        let watcher = watch(scratch, loop)
        #expect(first(watcher) == "192.0.2.2")
        try scratch.write("nameserver 192.0.2.3\n", to: "host/resolv.conf")
        await loop.eventually { first(watcher) == "192.0.2.3" }
        watcher.stop()
    }

    @Test func `sees a file mounted over it, and over a directory above it, and removed again`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try Command.run(["mkdir", scratch("a"), scratch("b")])
        try scratch.write("nameserver 192.0.2.1\n", to: "a/resolv.conf")
        try scratch.write("nameserver 192.0.2.2\n", to: "b/resolv.conf")
        try scratch.link("resolv.conf", to: "a/resolv.conf")
        let watcher = watch(scratch, loop)
        for name in ["/resolv.conf", ""] {
            try Command.run(["mount", "--bind", scratch("b\(name)"), scratch("a\(name)")])
            defer { _ = try? Command.run(["umount", "--lazy", scratch("a\(name)")]) }
            await loop.eventually { first(watcher) == "192.0.2.2" }
            try Command.run(["umount", scratch("a\(name)")])
            await loop.eventually { first(watcher) == "192.0.2.1" }
        }
        watcher.stop()
    }

    @Test func `sees that a file may be read again that is mounted over it`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try scratch.write("", to: "resolv.conf")
        try Command.run(["mkdir", scratch("host")])
        try scratch.write("nameserver 192.0.2.2\n", to: "host/resolv.conf")
        try Command.run(["chmod", "755", scratch("")])
        try Command.run(["chmod", "600", scratch("host/resolv.conf")])
        try Command.run(["mount", "--bind", scratch("host/resolv.conf"), scratch("resolv.conf")])
        defer { _ = try? Command.run(["umount", "--lazy", scratch("resolv.conf")]) }
        setFileUser(65534)
        defer { setFileUser(0) }
        let watcher = watch(scratch, loop)
        #expect(watcher.configuration.unreadable == "\(Errno(EACCES))")
        try Command.run(["chmod", "644", scratch("host/resolv.conf")])
        await loop.eventually { first(watcher) == "192.0.2.2" }
        watcher.stop()
    }

    @Test func `falls back to this machine while the file is missing`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        let watcher = watch(scratch, loop)
        try Command.run(["rm", scratch("resolv.conf")])
        await loop.eventually { first(watcher) == "127.0.0.1" }
        #expect(watcher.health.state == .absent)
        try scratch.write("nameserver 192.0.2.2\n", to: "resolv.conf")
        await loop.eventually { first(watcher) == "192.0.2.2" }
        watcher.stop()
    }

    @Test func `waits for a directory that is made later`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try scratch.link("resolv.conf", to: "run/systemd/resolve/stub-resolv.conf")
        let watcher = watch(scratch, loop)
        #expect(first(watcher) == "127.0.0.1")
        try Command.run(["mkdir", "-p", scratch("run/systemd/resolve")])
        try scratch.write("nameserver 127.0.0.53\n", to: "run/systemd/resolve/stub-resolv.conf")
        await loop.eventually { first(watcher) == "127.0.0.53" }
        watcher.stop()
    }

    @Test func `sees a link among its directories pointed elsewhere, and an ancestor moved`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try Command.run(["mkdir", "-p", scratch("deep/a/etc"), scratch("deep/b/etc")])
        try scratch.write("nameserver 192.0.2.1\n", to: "deep/a/etc/resolv.conf")
        try scratch.write("nameserver 192.0.2.2\n", to: "deep/b/etc/resolv.conf")
        try scratch.link("static", to: "deep/a")
        try scratch.link("resolv.conf", to: "static/etc/resolv.conf")
        let watcher = watch(scratch, loop)
        #expect(first(watcher) == "192.0.2.1")
        try scratch.link("new", to: "deep/b")
        try Command.run(["mv", "-T", scratch("new"), scratch("static")])
        await loop.eventually { first(watcher) == "192.0.2.2" }
        try Command.run(["mv", scratch("deep"), scratch("gone")])
        await loop.eventually { first(watcher) == "127.0.0.1" }
        try Command.run(["mv", scratch("gone"), scratch("deep")])
        await loop.eventually { first(watcher) == "192.0.2.2" }
        watcher.stop()
    }

    @Test(arguments: ["etc", "etc/resolv.conf"])
    func `a mode that is set is an event of the file and of each directory`(name: String) async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try Command.run(["mkdir", scratch("etc")])
        try scratch.write("nameserver 192.0.2.1\n", to: "etc/resolv.conf")
        try scratch.link("resolv.conf", to: "etc/resolv.conf")
        let watcher = watch(scratch, loop)
        var events = 0
        watcher.onEvent = { events += 1 }
        for mode in ["000", "755"] {
            let before = events
            try Command.run(["chmod", mode, scratch(name)])
            await loop.eventually { events > before }
        }
        watcher.stop()
    }

    @Test func `what cannot be read stands for no file, and says why`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        let watcher = watch(scratch, loop)
        #expect(watcher.configuration.unreadable == nil)
        try Command.run(["rm", scratch("resolv.conf")])
        try scratch.link("resolv.conf", to: "resolv.conf")
        await loop.eventually { watcher.configuration.unreadable != nil }
        #expect(first(watcher) == "127.0.0.1")
        #expect(watcher.configuration.unreadable == "\(Errno(ELOOP))")
        #expect(ResolverFile.configuration(at: scratch("resolv.conf")) == watcher.configuration)
        watcher.stop()
    }

    @Test func `tells only of changes of the contents`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try scratch.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        let watcher = watch(scratch, loop)
        var changes = 0
        var events = 0
        watcher.onChange = { changes += 1 }
        watcher.onEvent = { events += 1 }
        try scratch.write("# a comment\nnameserver 192.0.2.1\n", to: "resolv.conf")
        await loop.eventually { events == 1 }
        #expect(changes == 0)
        try scratch.write("noise\n", to: "mtab")
        try scratch.write("nameserver 192.0.2.2\n", to: "resolv.conf")
        await loop.eventually { changes == 1 }
        watcher.stop()
        try scratch.write("nameserver 192.0.2.3\n", to: "resolv.conf")
        await loop.sleep(for: .milliseconds(30))
        #expect(changes == 1)
    }

    @Test func `does not hang on a pipe, nor on a directory`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        try Command.run(["mkfifo", scratch("resolv.conf")])
        let watcher = watch(scratch, loop)
        #expect(first(watcher) == "127.0.0.1")
        try Command.run(["rm", scratch("resolv.conf")])
        try Command.run(["mkdir", scratch("resolv.conf")])
        watcher.refresh()
        #expect(watcher.health.isStale)
        #expect(watcher.health.lastError == .system(call: "open \(scratch("resolv.conf"))", code: Errno(EISDIR)))
        watcher.stop()
    }
}
