// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
public import Testing

/// Runs a test on the thread of a namespace of its own; the body finds it as ``Namespace/current``.
public struct InNamespace: TestTrait, SuiteTrait, TestScoping {
    /// Whether a test waits for its turn.
    let queues: Bool

    /// Applies to every test of a suite, not to the suite as a whole.
    public var isRecursive: Bool { true }

    /// Makes the namespace when there is room for another one, and runs the test case on its thread.
    @concurrent public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await perform(function, of: testCase) { body in
            try await withTaskExecutorPreference(Self.entrance.get()) {
                if queues { await Turnstile.namespaces.enter() }
                defer { if queues { Turnstile.namespaces.leave() } }
                let namespace = try Namespace()
                try await Namespace.$scoped.withValue(namespace) {
                    try await withTaskExecutorPreference(namespace.loop, operation: body)
                }
            }
        }
    }

    /// A thread on which tests wait for their namespace and come back.
    ///
    /// The threads that all tests share are busy for minutes with those that only compute; tests that wait for a kernel or
    /// a program would come after them, when nothing is left to do meanwhile.
    private static let entrance = Result {
        let loop = try EventLoop()
        try startThread { loop.run() }
        return loop
    }
}

extension TestScoping {
    /// Runs a test case in a scope that chooses its threads; a suite as a whole has no scope.
    @concurrent func perform(
        _ function: @concurrent @Sendable () async throws -> Void,
        of testCase: Test.Case?,
        in scope: @escaping (_ body: @concurrent @Sendable () async throws -> Void) async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await scope {
            // Without this the optimiser lets the body run on the thread that came here.
            await Task.yield()
            try await function()
        }
    }
}

extension Trait where Self == InNamespace {
    /// Runs each test case on the thread of a network namespace of its own.
    public static var inNamespace: InNamespace { InNamespace(queues: true) }

    /// The same at once, for tests that take minutes, so that none is left alone at the end of a run.
    public static var inNamespaceAtOnce: InNamespace { InNamespace(queues: false) }
}

extension Namespace {
    @TaskLocal static var scoped: Namespace?

    /// The namespace whose thread the test runs on; only in tests with `.inNamespace`.
    public static var current: Namespace {
        guard let scoped else { preconditionFailure("the test lacks the trait .inNamespace") }
        precondition(scoped.loop.isCurrent, "the test left the thread of its namespace")
        return scoped
    }
}
