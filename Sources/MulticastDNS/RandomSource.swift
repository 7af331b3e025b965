// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Where delays and jitter come from: a generator whose numbers follow from its seed (SplitMix64).
///
/// Machines hold one as a value, so that a test that knows the seed knows every delay.
public struct RandomSource: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Starts the sequence of `seed`.
    public init(seed: UInt64) { state = seed }

    /// Starts a sequence that nobody can predict.
    public init() {
        var system = SystemRandomNumberGenerator()
        state = system.next()
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    /// A time in `range`, evenly distributed over its milliseconds.
    mutating func duration(in range: ClosedRange<Int>) -> Duration {
        .milliseconds(Int.random(in: range, using: &self))
    }
}
