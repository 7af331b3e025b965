// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport

@testable import Providers

extension PrivateBus {
    /// A connection that gives up soon enough for tests of failures, and not sooner than a busy machine answers.
    func connect(_ loop: EventLoop, limit: Duration = .seconds(2)) -> BusConnection {
        let timing = BusConnection.Timing(
            limit: limit,
            shortestPause: .milliseconds(20),
            longestPause: .milliseconds(80)
        )
        let connection = BusConnection(loop: loop, address: address, timing: timing)
        connection.start()
        return connection
    }

    /// Starts the fake that stands for hardware; it runs the lines of Python in `having` before it requests its names.
    func fake(_ names: String..., having lines: String...) throws -> RunningCommand {
        let words = names + (lines.isEmpty ? [] : ["--"] + lines)
        return try RunningCommand(["/usr/bin/python3", fixtures + "/fake_services.py", address] + words)
    }

    /// Tells the fake what to do.
    func tell(_ name: String, _ code: String) throws {
        try Command.run([
            "busctl", "--address=\(address)", "call", name, "/org/nwpath/Test", "org.nwpath.Test", "Do", "s", code,
        ])
    }
}

extension ServiceTiming {
    /// Short enough for a test to see everything.
    static let quick = ServiceTiming(
        grace: .seconds(3),
        check: .milliseconds(100),
        retry: .milliseconds(20)
    )
}
