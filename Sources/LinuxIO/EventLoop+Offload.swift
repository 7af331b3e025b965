// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension EventLoop {
    /// Computes on a thread of its own, and hands the result over on the loop's.
    ///
    /// For rare, slow work, such as checking a password. The thread ends with the work; keeping the number
    /// of them small is the caller's part.
    /// - Parameters:
    ///   - work: What to compute; runs on the new thread.
    ///   - completion: Receives the result on the loop's thread; refer weakly to what must not outlive the loop.
    /// - Throws: An ``Errno`` when there is no thread to be had, pthread_create(3).
    public func offload<Value: Sendable>(
        _ work: @escaping @Sendable () -> Value,
        completion: @escaping (Value) -> Void
    ) throws(Errno) {
        let box = LoopCompletion(completion)
        try DetachedThread.start { [self] in
            let value = work()
            perform { box.take(value) }
        }
    }
}
