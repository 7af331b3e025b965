// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation

/// Suites that run in a process of their own, started by a test.
///
/// They change what all tests share, or need threads that nobody else has used: a thread is in the network namespace of
/// the one that made it (clone(2)), so nobody knows which one the threads are in that all tests share.
public enum OwnProcess {
    private static let variable = "NWPATH_TEST_ONLY"

    /// Whether this is the process for a suite; for `.enabled(if:)`.
    public static func isFor(_ suite: String) -> Bool { ProcessInfo.processInfo.environment[variable] == suite }

    /// Runs a suite in a process of its own.
    /// - Parameters:
    ///   - suite: Its name.
    ///   - command: What starts the process, such as `prlimit` with its options.
    /// - Returns: What was said.
    /// - Throws: ``CommandFailure`` when a test failed.
    public static func run(_ suite: String, by command: [String] = []) throws -> String {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let tests = [program, "--testing-library", "swift-testing", "--filter", suite]
        return try Command.run(["env", "\(variable)=\(suite)"] + command + tests)
    }
}
