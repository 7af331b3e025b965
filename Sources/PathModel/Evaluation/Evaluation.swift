// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// The result of one evaluation: the path, and what to do so that it stays true.
public struct Evaluation: Hashable, Sendable {
    public var path: Path
    /// Facts behind the path that run out (rule S28).
    public var expiries: [Expiry]
    /// When to evaluate again even without an event, as time since boot; `nil` when nothing is known to run out.
    public var nextCheck: Duration?
    /// The neighbours whose entries matter, also those that made a path unsatisfied.
    public var neighbors: NeighborDependencies
    public var lookups: Int
    /// Addresses whose routes the path rests on although their prefixes may be long (rule S3).
    public var restsOn: Set<IPAddress>
    /// Links that the kernel's answers count as down though the last message about them does not: to be read again.
    public var outdatedLinks: Set<Int>

    public init(
        path: Path,
        expiries: [Expiry] = [],
        nextCheck: Duration? = nil,
        neighbors: NeighborDependencies = NeighborDependencies(),
        lookups: Int = 0,
        restsOn: Set<IPAddress> = [],
        outdatedLinks: Set<Int> = []
    ) {
        self.path = path
        self.expiries = expiries
        self.nextCheck = nextCheck
        self.neighbors = neighbors
        self.lookups = lookups
        self.restsOn = restsOn
        self.outdatedLinks = outdatedLinks
    }
}

/// Something behind a path that ends unless it is refreshed (rule S28).
public struct Expiry: Hashable, Sendable {
    /// What ends.
    public var subject: Subject
    /// When it ends, as time since boot.
    public var at: Duration

    public enum Subject: Hashable, Sendable {
        /// The default route of a router advertisement (`rta_expires`).
        case route(AddressFamily, index: Int)
        /// The source address of a lease or a router advertisement (`IFA_CACHEINFO`).
        case address(IPAddress, index: Int)
    }

    public init(subject: Subject, at: Duration) {
        self.subject = subject
        self.at = at
    }
}
