// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Configuration
import EventHub
import EventLog
import Glibc
import TestSupport
import Testing

@testable import PathService

/// Where a log file may be, and what it may not be.
@Suite(.enabled(if: geteuid() == 0)) struct LogPlaceTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        try Command.run(["install", "-d", "-m", "1777", scratch.file("tmp")])
        try Command.run(["install", "-d", "-m", "755", "-o", "65534", scratch.file("tmp/other")])
        try Command.run(["install", "-d", "-m", "755", scratch.file("own")])
        try Command.run(["install", "-d", "-m", "775", scratch.file("group")])
        try Command.run(["install", "-d", "-m", "755", "-o", "65534", scratch.file("foreign")])
        for place in ["tmp", "own", "group", "foreign"] {
            try Command.run(["ln", "-s", scratch.file("target"), scratch.file(place + "/link.jsonl")])
        }
    }

    private func refusal(_ file: String) -> ServiceError? {
        var configuration = Configuration(paths: StandardPaths(userID: 0, environment: [:]))
        configuration.stateDirectory = scratch.file("state")
        configuration.listen = []
        configuration.log.file = file
        do throws(ServiceError) {
            try RuntimeDirectories().prepare(configuration)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["tmp/other/events.jsonl", "tmp/other/deep/events.jsonl", "tmp/other/deep/down/events.jsonl"])
    func `a log in somebody else's directory of a shared place is refused`(file: String) throws {
        let place = scratch.file("tmp/other")
        #expect(refusal(scratch.file(file)) == .foreignDirectory(path: place, owner: 65534))
        #expect(try Command.run(["ls", place]).isEmpty)
    }

    @Test(arguments: ["tmp/link.jsonl", "group/link.jsonl", "foreign/link.jsonl"])
    func `a log file that others could lead elsewhere is refused`(file: String) {
        #expect(refusal(scratch.file(file)) == .linkedLog(path: scratch.file(file)))
    }

    @Test(arguments: ["own", "tmp"])
    func `a log is not opened anew where others could lead it elsewhere by now`(place: String) throws {
        let file = scratch.file(place + "/deep/events.jsonl")
        var configuration = Configuration(paths: StandardPaths(userID: 0, environment: [:]))
        configuration.log.file = file
        let log = try Daemon.openLog(configuration, identity: DaemonIdentity(version: "1"))
        let isOpen = place == "own"
        try Command.run(["rm", "-r", scratch.file(place + "/deep")])
        // Somebody makes the directory first.
        try Command.run(["install", "-d", "-o", isOpen ? "0" : "65534", scratch.file(place + "/deep")])
        log.reopen()
        #expect(log.status.isWritable == isOpen && log.status.reopenings == (isOpen ? 1 : 0))
        #expect(try Command.run(["ls", scratch.file(place + "/deep")]) == (isOpen ? "events.jsonl\n" : ""))
        if !isOpen { #expect(log.status.outage?.error == "EPERM") }
    }

    @Test(arguments: [
        "own/link.jsonl", "own/events.jsonl", "tmp/events.jsonl", "tmp/new/events.jsonl", "none/deep/events.jsonl",
        "group/events.jsonl", "foreign/events.jsonl",
    ])
    func `others are as they were`(file: String) {
        #expect(refusal(scratch.file(file)) == nil)
        #expect(refusal("-") == nil)
    }
}
