// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public struct LoadOrder: Hashable, Sendable {
    public struct Page: Hashable, Sendable {
        public var page: PageAddress
        public var address: ScopedAddress
        /// A file of certificates the server's must verify against; `nil` is the system's.
        public var authorities: String?

        public init(_ page: PageAddress, at address: ScopedAddress, authorities: String? = nil) {
            self.page = page
            self.address = address
            self.authorities = authorities
        }
    }

    /// A large page; without it nothing is loaded towards us.
    public var download: Page?
    /// A page that takes whatever is posted; without it nothing is loaded from us.
    public var upload: Page?
    /// A small page, asked for meanwhile; without it latency is not measured.
    public var small: Page?
    /// The bytes it may move, both ways together.
    public var maximumBytes = 40_000_000
    public var maximumDuration = Duration.seconds(5)

    /// Orders nothing.
    public init() {}
}

public enum LoadDirection: String, Hashable, Sendable, CaseIterable {
    case down
    case up

    var key: String { self == .down ? "nq.download" : "nq.upload" }
}

/// How a load test spends its time and its bytes: a look at the idle network, then each direction for as long.
struct LoadPlan: Equatable {
    /// How many connections carry the load of a direction.
    static let flows = 4
    /// From one pair of small requests to the next, under load.
    static let pace = Duration.milliseconds(100)
    /// How many small requests of a kind may wait for their answers.
    static let mostWaiting = 8
    /// About what a pair of small requests takes, with the certificates of the server.
    static let pairCost = 6_000

    let directions: [LoadDirection]
    /// How long the idle network may be looked at.
    let idle: Duration
    /// How long each direction is loaded.
    let loading: Duration
    /// The bytes that one connection may carry.
    let share: Int
    /// How many pairs of small requests the idle network is asked.
    let idlePairs: Int
    /// How many pairs of small requests each direction may have.
    let loadedPairs: Int

    init(_ order: LoadOrder) {
        directions = LoadDirection.allCases.filter { order.page($0) != nil }
        let count = max(1, directions.count)
        // A tenth is kept for small requests and for what encryption adds.
        let kept = order.maximumBytes / 10
        share = max(0, order.maximumBytes - kept) / (count * Self.flows)
        let pairs = order.small == nil ? 0 : kept / 2 / Self.pairCost
        idlePairs = min(5, pairs / 3)
        loadedPairs = (pairs - idlePairs) / count
        idle = order.small == nil ? .zero : min(.milliseconds(800), order.maximumDuration / 5)
        loading = (order.maximumDuration - idle) / count
    }
}

extension LoadOrder {
    func page(_ direction: LoadDirection) -> Page? { direction == .down ? download : upload }
}
