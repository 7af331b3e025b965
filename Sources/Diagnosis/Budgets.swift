// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What is still good enough; the operator's figures where there are some.
public struct Budgets: Hashable, Sendable {
    /// The median round trip beyond which latency is a fault.
    public var roundTrip = Duration.milliseconds(250)
    /// The spread of round trips beyond which jitter is a fault, if it also exceeds 30 % of the median.
    public var jitter = Duration.milliseconds(30)
    /// The loss, in percent, from which on it is a fault.
    public var loss = 3.0
    /// The least throughput towards us, in Mbit/s.
    public var down: Double?
    /// The least throughput from us, in Mbit/s.
    public var up: Double?
    /// The responsiveness below which a queue is a fault, in round trips per minute.
    public var roundTripsPerMinute = 300

    public init() {}
}
