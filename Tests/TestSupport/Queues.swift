// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Dispatch

extension DispatchQueue {
    /// A concurrent queue that goes on while tests compute.
    ///
    /// Tests are tasks of medium priority, and those run on the threads of `DispatchQueue.global()`, one for each
    /// processor: what a test hands to that queue, to one of its own that is concurrent or to a plain `OperationQueue`
    /// waits for every test that is under way. Serial queues have threads of their own, and so has this one.
    public static var apart: DispatchQueue { .global(qos: .userInitiated) }
}
