// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The bounds of an engine's tables (rule C11), and its timeouts.
public struct MulticastSettings: Hashable, Sendable {
    /// How many instances are followed per interface.
    public var maximumInstances = 4096
    /// How many records are kept per interface and family.
    public var maximumRecords = 16384
    /// How many questions leave per second, interface and family.
    public var questionsPerSecond = 2000
    /// After how long a socket that could not be opened is tried again.
    public var socketRetry = Duration.seconds(10)

    public init() {}
}
