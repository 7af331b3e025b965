// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Configuration
import EventHub
import EventLog
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import PathService

/// Where a log file may be, and what it may not be; what others prepared is left as it is.
@Suite(.enabled(if: geteuid() == 0)) struct LogPlaceTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        try Command.run(["install", "-d", "-m", "1777", scratch.file("tmp")])
        try Command.run(["install", "-d", "-m", "755", "-o", "60001", scratch.file("tmp/other")])
        try Command.run(["install", "-d", "-m", "755", scratch.file("own")])
        try Command.run(["install", "-d", "-m", "775", scratch.file("group")])
        try Command.run(["install", "-d", "-m", "755", "-o", "60001", scratch.file("foreign")])
        for place in ["tmp", "own", "group", "foreign"] {
            try Command.run(["ln", "-s", scratch.file("target"), scratch.file(place + "/link.jsonl")])
        }
        for name in ["foreign.jsonl", "locked.jsonl.lock"] {
            try scratch.write("", to: "tmp/" + name)
            try Command.run(["chown", "60001", scratch.file("tmp/" + name)])
        }
        try scratch.write("", to: "marker")
        try Command.run(["ln", scratch.file("marker"), scratch.file("tmp/hard.jsonl")])
        try Command.run(["ln", scratch.file("marker"), scratch.file("tmp/hard-lock.jsonl.lock")])
        try scratch.write("", to: "own/open.jsonl")
        try Command.run(["chmod", "666", scratch.file("own/open.jsonl")])
    }

    private func open(_ file: String) throws(ServiceError) -> EventLog {
        var configuration = Configuration(paths: StandardPaths(userID: 0, environment: [:]))
        configuration.stateDirectory = scratch.file("state")
        configuration.listen = []
        configuration.log.file = file
        try RuntimeDirectories().prepare(configuration)
        return try Daemon.openLog(configuration, identity: DaemonIdentity(version: "1"))
    }

    private func refusal(_ file: String) -> ServiceError? {
        do throws(ServiceError) {
            _ = try open(file)
            return nil
        } catch {
            return error
        }
    }

    private func refused(_ path: String, _ cause: FileRefusal.Cause) -> ServiceError {
        .log(.refused(FileRefusal(path: scratch.file(path), cause: cause)))
    }

    @Test(arguments: ["tmp/other/events.jsonl", "tmp/other/deep/events.jsonl", "tmp/other/deep/down/events.jsonl"])
    func `a log in somebody else's directory of a shared place is refused`(file: String) throws {
        #expect(refusal(scratch.file(file)) == refused("tmp/other", .foreignDirectory(owner: 60001)))
        #expect(try Command.run(["ls", scratch.file("tmp/other")]).isEmpty)
    }

    @Test(arguments: ["tmp/link.jsonl", "group/link.jsonl", "foreign/link.jsonl"])
    func `a log file that others could lead elsewhere is refused`(file: String) throws {
        #expect(refusal(scratch.file(file)) == refused(file, .link))
        #expect(!scratch.exists("target") && !scratch.exists(file + ".lock"))
    }

    @Test func `a log or a lock that somebody else prepared is refused, and nothing is written to it`() throws {
        let file = refused("tmp/foreign.jsonl", .foreignFile(owner: 60001))
        #expect(refusal(scratch.file("tmp/foreign.jsonl")) == file)
        let lock = refused("tmp/locked.jsonl.lock", .foreignFile(owner: 60001))
        #expect(refusal(scratch.file("tmp/locked.jsonl")) == lock)
        #expect(refusal(scratch.file("tmp/hard.jsonl")) == refused("tmp/hard.jsonl", .hardLinked))
        #expect(refusal(scratch.file("tmp/hard-lock.jsonl")) == refused("tmp/hard-lock.jsonl.lock", .hardLinked))
        #expect(refusal(scratch.file("own/open.jsonl")) == refused("own/open.jsonl", .writable(mode: 0o666)))
        for name in ["tmp/foreign.jsonl", "tmp/locked.jsonl.lock", "marker", "own/open.jsonl"] {
            #expect(try scratch.text(name).isEmpty)
        }
        #expect(!scratch.exists("tmp/locked.jsonl"))
    }

    @Test func `files that somebody else put beside the log are no part of it`() throws {
        let record = #"{"time":"2026-11-20T12:00:00.000Z","seq":7,"stream":"00c0ffee","schema":"nwpath.event/1","#
        try scratch.write(record + "\"event\":\"path.changed\"}\n", to: "tmp/events.jsonl.1")
        #expect(try open(scratch.file("tmp/events.jsonl")).recovered?.sequence == 7)
        try Command.run(["rm", scratch.file("tmp/events.jsonl")])
        try Command.run(["chown", "60001", scratch.file("tmp/events.jsonl.1")])
        #expect(try open(scratch.file("tmp/events.jsonl")).recovered == nil)
    }

    @Test(arguments: ["own", "tmp"])
    func `a log is not opened anew where others could lead it elsewhere by now`(place: String) throws {
        let log = try open(scratch.file(place + "/deep/events.jsonl"))
        let isOpen = place == "own"
        try Command.run(["rm", "-r", scratch.file(place + "/deep")])
        // Somebody makes the directory first.
        try Command.run(["install", "-d", "-o", isOpen ? "0" : "60001", scratch.file(place + "/deep")])
        log.reopen()
        #expect(log.status.isWritable == isOpen && log.status.reopenings == (isOpen ? 1 : 0))
        #expect(try Command.run(["ls", scratch.file(place + "/deep")]) == (isOpen ? "events.jsonl\n" : ""))
        if !isOpen { #expect(log.status.outage?.error == "EPERM") }
    }

    @Test(arguments: [
        "own/link.jsonl", "own/events.jsonl", "tmp/events.jsonl", "tmp/new/events.jsonl", "none/deep/events.jsonl",
        "group/events.jsonl", "foreign/events.jsonl",
    ])
    func `others are as they were`(file: String) throws {
        #expect(refusal(scratch.file(file)) == nil)
        #expect(refusal("-") == nil)
    }
}

/// Files of the state directory that somebody else prepared.
@Suite(.enabled(if: geteuid() == 0)) struct StatePlaceTests {
    @Test func `they are not read, not written to, and do not keep the service from running`() throws {
        let scratch = try Scratch()
        try Command.run(["install", "-d", "-m", "1777", scratch.file("state")])
        let position = EventPosition(stream: .random(), sequence: 7)
        let sign = SignOfLife(bootID: nil, boot: .zero, time: WallTime(nanoseconds: 0), position: position)
        let text = String(decoding: sign.record, as: UTF8.self)
        for name in ["alive", "names.json"] {
            try scratch.write(text, to: "state/" + name)
            try Command.run(["chown", "60001", scratch.file("state/" + name)])
        }
        let file = AliveFile(directory: scratch.file("state"))
        #expect(file.earlier == nil)
        #expect(file.problem?.contains("belongs to user 60001") == true)
        file.write(sign)
        var names = AdvertisedNames(directory: scratch.file("state"))
        #expect(names.read().isEmpty)
        #expect(names.problem?.contains("belongs to user 60001") == true)
        #expect(try scratch.text("state/alive") == text && scratch.text("state/names.json") == text)
        // Ours takes its place whole.
        names.write([:])
        #expect(names.problem == nil)
        #expect(try Command.run(["stat", "-c", "%u %a", scratch.file("state/names.json")]) == "0 640\n")
        // A link is not followed, whoever made it.
        try Command.run(["rm", scratch.file("state/alive")])
        let marker = try scratch.write(text, to: "marker")
        try Command.run(["ln", "-s", marker, scratch.file("state/alive")])
        let linked = AliveFile(directory: scratch.file("state"))
        #expect(linked.earlier == nil && linked.problem != nil)
    }
}
