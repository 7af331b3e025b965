// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension EventLoop {
    /// Computes on a thread of its own, and hands the result over on the loop's.
    ///
    /// For rare work that takes long, such as checking a password. The thread ends with the work; keeping the number
    /// of them small is the caller's part.
    /// - Parameters:
    ///   - work: What to compute; runs on the new thread.
    ///   - completion: Takes the result on the loop's thread; refer weakly to what must not outlive the loop.
    /// - Throws: An ``Errno`` when there is no thread to be had, pthread_create(3).
    public func offload<Value: Sendable>(
        _ work: @escaping @Sendable () -> Value,
        completion: @escaping (Value) -> Void
    ) throws(Errno) {
        let box = OffloadedCompletion(completion)
        let body = ThreadBody { [self] in
            let value = work()
            perform { box.take(value) }
        }
        var thread = pthread_t()
        let raw = unsafe Unmanaged.passRetained(body).toOpaque()
        let code = unsafe pthread_create(
            &thread,
            nil,
            { raw in
                guard let raw = unsafe raw else { return nil }
                unsafe Unmanaged<ThreadBody>.fromOpaque(raw).takeRetainedValue().run()
                return nil
            },
            raw
        )
        guard code == 0 else {
            unsafe Unmanaged<ThreadBody>.fromOpaque(raw).release()
            throw Errno(code)
        }
        pthread_detach(thread)
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// A closure that travels with its thread and is called on the loop's only.
@safe private final class OffloadedCompletion<Value: Sendable>: Sendable {
    private nonisolated(unsafe) let completion: (Value) -> Void

    init(_ completion: @escaping (Value) -> Void) { unsafe self.completion = completion }

    func take(_ value: Value) { unsafe completion(value) }
}
