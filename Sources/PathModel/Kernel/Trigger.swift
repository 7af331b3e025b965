// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why the state is evaluated (rule S44); the raw value is what events show.
public enum CauseKind: String, Hashable, Sendable, CaseIterable {
    case initial
    case link
    case address = "addr"
    case route
    case rule
    case nexthop
    case neighbor = "neigh"
    case dns
    case policy
    case audit
    case resync
    case resume
    case expiry
    case settings
}

public struct Trigger: Hashable, Sendable {
    public var cause: CauseKind
    /// The kernel's name of the message, such as `RTM_NEWLINK`.
    public var message: String
    public var index: Int?
    /// Links to read from the kernel at once, because it announces their new state late (rules S7, S14).
    public var reread: [Int]
    /// Whether the event may change a path; without it only `reread` counts.
    public var needsEvaluation: Bool

    /// Describes a trigger; it requires an evaluation by default.
    public init(
        cause: CauseKind,
        message: String,
        index: Int? = nil,
        reread: [Int] = [],
        needsEvaluation: Bool = true
    ) {
        self.cause = cause
        self.message = message
        self.index = index
        self.reread = reread
        self.needsEvaluation = needsEvaluation
    }
}

/// What a full reading of the kernel changed in a state that was kept by events.
public struct StateDifference: Hashable, Sendable {
    /// Links that were missing.
    public var addedLinks: [Int] = []
    /// Links that no longer exist.
    public var removedLinks: [Int] = []
    /// Links with other attributes.
    public var changedLinks: [Int] = []
    /// Interfaces with other addresses; lifetimes do not count.
    public var changedAddresses: [Int] = []

    /// How many interfaces differ in anything.
    public var count: Int {
        addedLinks.count + removedLinks.count + Set(changedLinks).union(changedAddresses).subtracting(addedLinks).count
    }
    /// Whether events had announced everything.
    public var isEmpty: Bool { count == 0 }

    /// Finds no difference.
    public init() {}
}
