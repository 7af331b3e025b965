// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A thread that nobody waits for, pthread_create(3).
public enum DetachedThread {
    /// Runs `work` on a new thread.
    /// - Throws: An ``Errno`` when there is no thread to be had.
    public static func start(_ work: @escaping @Sendable () -> Void) throws(Errno) {
        let body = Body(work)
        var thread = pthread_t()
        let raw = unsafe Unmanaged.passRetained(body).toOpaque()
        let code = unsafe pthread_create(
            &thread,
            nil,
            { raw in
                guard let raw = unsafe raw else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run()
                return nil
            },
            raw
        )
        guard code == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(raw).release()
            throw Errno(code)
        }
        pthread_detach(thread)
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}

/// A closure that travels with a thread and is called on the loop's only.
@safe final class LoopCompletion<Value: Sendable>: Sendable {
    private nonisolated(unsafe) let completion: (Value) -> Void

    init(_ completion: @escaping (Value) -> Void) { unsafe self.completion = completion }

    func take(_ value: Value) { unsafe completion(value) }
}
