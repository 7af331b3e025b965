// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
public import Testing

/// Runs a test that only computes, for a second or longer, on threads that give way to all others.
///
/// On the threads that all tests share it would keep those waiting that wait for a kernel or a program themselves, and
/// these are what a run takes long for.
public struct Computing: TestTrait, SuiteTrait, TestScoping {
    /// Applies to every test of a suite, not to the suite as a whole.
    public var isRecursive: Bool { true }

    /// Runs the test case on a thread for computing.
    @concurrent public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(ComputingThreads.shared) {
            // Without this the optimiser lets the body run on the thread that came here.
            await Task.yield()
            try await function()
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
