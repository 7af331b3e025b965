// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

// The tests of the scratch package of retry_test, which is no part of this project's own package.

let folder = ProcessInfo.processInfo.environment["SCRATCH_FOLDER"] ?? "."

/// Whether this is asked for `name` for the first time, in this process or one before.
func first(_ name: String) -> Bool {
    let mark = "\(folder)/\(name)"
    return !FileManager.default.fileExists(atPath: mark) && FileManager.default.createFile(atPath: mark, contents: nil)
}

func crash() { preconditionFailure("as it should") }

func hang() { Thread.sleep(forTimeInterval: 3_600) }

@Suite struct Passing {
    @Test func `passes, with "quotes" (and 1 + 1)`() {}
    @Test(.disabled("it says why")) func skipped() {}
}

@Suite struct FailsFirst {
    @Test func `fails first, in [brackets] | a.b* and $5?`() {
        #expect(!first("one"), "only at first")
    }

    @Test(arguments: 1...3) func `a case of it fails first`(number: Int) {
        #expect(!(number == 2 && first("case")))
    }
}

@Suite struct FailsAtFirst {
    @Test func a() { #expect(!first("a")) }
    @Test func b() { #expect(!first("b")) }
    @Test func c() { #expect(!first("c")) }
    @Test func d() { #expect(!first("d")) }
    @Test func e() { #expect(!first("e")) }
    @Test func f() { #expect(!first("f")) }
}

@Suite struct FailsTwice {
    @Test func `fails twice`() {
        #expect(!first("twice.1") && !first("twice.2"))
    }
}

@Suite struct FailsAlways {
    @Test func `fails always`() {
        #expect(1 == 2, "each time")
    }
}

@Suite(.serialized) struct CrashesFirst {
    @Test func before() {}
    @Test func crashes() { if first("crash") { crash() } }
    @Test func later() { #expect(!first("later")) }
}

@Suite(.serialized) struct CrashesAlways {
    @Test func crashes() { crash() }
    @Test func later() {}
}

@Suite(.serialized) struct HangsFirst {
    @Test func hangs() { if first("hang") { hang() } }
    @Test func later() {}
}

@Suite(.serialized) struct HangsAlways {
    @Test func hangs() { hang() }
    @Test func later() {}
}

@Suite struct LeavesSomething {
    @Test func `starts what outlives it`() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "setsid sleep 3571 & setsid sleep 3572 >/dev/null 2>&1 & touch \(folder)/started"]
        try process.run()
        while !FileManager.default.fileExists(atPath: "\(folder)/started") { Thread.sleep(forTimeInterval: 0.01) }
    }
}
