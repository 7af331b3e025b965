// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
public import Testing

/// Runs a test that only computes, for a second or longer, on threads that give way to all others.
///
/// On the threads that all tests share, it would delay the tests that wait for the kernel or for another program, and
/// a run takes as long as those do.
public struct Computing: TestTrait, SuiteTrait, TestScoping {
    /// Applies to every test of a suite, not to the suite as a whole.
    public var isRecursive: Bool { true }

    /// Runs the test case on a thread for computing.
    @concurrent public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await perform(function, of: testCase) { body in
            try await withTaskExecutorPreference(ComputingThreads.shared, operation: body)
        }
    }
}

extension Trait where Self == Computing {
    /// Runs each test case on threads that give way to all others; for a test that computes for a second or longer.
    public static var computing: Computing { Computing() }
}

/// As many threads as there are processors, of a low priority (nice(2)).
private final class ComputingThreads: TaskExecutor {
    static let shared = ComputingThreads()

    private let queue = DispatchQueue(label: "nwpath.computing", qos: .utility, attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            // Of the calling thread only.
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}
