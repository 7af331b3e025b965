// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension NWConnection {
    /// What became of a connection.
    public enum State: Hashable, Sendable {
        /// It was not started.
        case setup
        /// The endpoint cannot be reached now; it is tried again when the network changes, or on ``NWConnection/restart()``.
        case waiting(NWError)
        /// The endpoint is looked up and connected to.
        case preparing
        /// Content can be exchanged.
        case ready
        /// It cannot go on, and will not.
        case failed(NWError)
        /// It was cancelled.
        case cancelled
    }

    /// What is called when content was sent.
    public enum SendCompletion: Sendable {
        /// Called once: without an error when the kernel has accepted all of the content, which is the time for more.
        ///
        /// Whether the peer gets it is not known.
        case contentProcessed(@Sendable (_ error: NWError?) -> Void)
        /// Nobody needs to know, and the content may be sent twice.
        case idempotent
    }
}
