// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public struct LoadResult: Hashable, Sendable {
    public struct Loaded: Hashable, Sendable {
        public var megabitsPerSecond: Double
        /// The median time to make a connection meanwhile; `nil` when none was made.
        public var roundTrip: Duration?
        /// Responsiveness in round trips per minute; `nil` when no connection was made.
        public var roundTripsPerMinute: Int?
    }

    /// The median time to make a connection before; `nil` when none was made.
    public var idle: Duration?
    /// What came of each direction that could be loaded.
    public var directions: [LoadDirection: Loaded] = [:]
    /// Why something could not be measured, each a sentence that begins with the key of what was asked for.
    public var failures: [String] = []
    public var duration = Duration.zero
    /// The bytes that were sent, without the headers of IP, TCP and TLS.
    public var sent = 0
    /// The bytes that came back, counted likewise.
    public var received = 0
}
