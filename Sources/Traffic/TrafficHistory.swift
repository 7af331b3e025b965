// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What readings found in the last hour, in steps of ten seconds.
public struct TrafficHistory: Hashable, Sendable {
    public static let step = Duration.seconds(10)
    public static let capacity = 360

    public struct Step: Hashable, Sendable {
        /// The number of the step since the clock's zero.
        public var number: Int64
        public var roundTrip: Duration?
        public var loss: Double?
        public var isStalled: Bool
        public var connections: Int
    }

    public private(set) var steps: [Step] = []

    public init() {}

    /// Records what a reading found: of several in a step the last counts, but a stall is kept, and the worst loss.
    public mutating func record(_ report: TrafficReport, isStalled: Bool, at now: Duration) {
        let number = now.components.seconds / Self.step.components.seconds
        var step = Step(
            number: number,
            roundTrip: report.total.roundTrips?.p50,
            loss: report.total.loss,
            isStalled: isStalled,
            connections: report.total.connections
        )
        if let last = steps.last, last.number == number {
            step.isStalled = isStalled || last.isStalled
            step.loss = [step.loss, last.loss].compactMap(\.self).max()
            step.roundTrip = step.roundTrip ?? last.roundTrip
            steps[steps.count - 1] = step
        } else {
            steps.append(step)
            if steps.count > Self.capacity { steps.removeFirst() }
        }
    }
}
