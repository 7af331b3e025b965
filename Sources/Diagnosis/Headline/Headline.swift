// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// The state of the machine's connection: one word, one sentence and one chain.
public struct Headline: Hashable, Sendable {
    /// The words that people and programs get; the raw value is what documents and metrics show and never changes.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// Something beyond the gateway answered.
        case online
        /// The kernel would send; nothing beyond the gateway was tested.
        case connected
        /// Tests failed, or have no result yet; a few seconds decide.
        case checking
        /// Something beyond answers, slower than it should.
        case slow
        /// Most tests fail, or one of two families does.
        case degraded
        /// Something beyond the gateway answers, and no name is found.
        case dnsBroken = "dns_broken"
        /// A portal wants a login first.
        case loginNeeded = "login_needed"
        /// Packets leave, and nothing beyond the gateway answers.
        case noInternet = "no_internet"
        /// An interface works, and no route leads beyond its network.
        case localOnly = "local_only"
        /// No interface carries packets.
        case offline

        /// The word for people.
        public var word: String {
            switch self {
            case .online: "Online"
            case .connected: "Connected"
            case .checking: "Checking"
            case .slow: "Slow"
            case .degraded: "Degraded"
            case .dnsBroken: "DNS broken"
            case .loginNeeded: "Login needed"
            case .noInternet: "No Internet"
            case .localOnly: "Local only"
            case .offline: "Offline"
            }
        }

        /// Whether nothing is known to be wrong.
        public var isGood: Bool { level == .good || level == .untested }

        /// How bad it is.
        public var level: Level {
            switch self {
            case .online: .good
            case .connected, .checking: .untested
            case .slow, .degraded: .worse
            case .dnsBroken, .loginNeeded, .noInternet, .localOnly, .offline: .bad
            }
        }
    }

    /// How bad a state is; every surface has one symbol, colour or exit code for each.
    public enum Level: Hashable, Sendable, CaseIterable {
        case good
        /// Nothing is known to be wrong, and no test shows that it works.
        case untested
        case worse, bad

        /// The symbol for people, beside a colour or without.
        public var symbol: String {
            switch self {
            case .good: "\u{2713}"
            case .untested: "?"
            case .worse: "!"
            case .bad: "\u{2717}"
            }
        }
    }

    public let state: State
    /// The cause, one sentence without a full stop.
    public let message: String
    /// What to do; `nil` when there is nothing to be done.
    public let hint: String?
    /// What it is concluded from; `nil` when nothing is known to be wrong.
    public let cause: Cause?
    /// When the first test failed that led to it, or the first one answered again, as time since boot; `nil` where the
    /// kernel's state alone says it.
    public let began: Duration?
    /// From this machine to the name server.
    public let chain: [ChainElement]
    /// The same for IPv4 and IPv6, where something is wrong with one of them only; else empty.
    public internal(set) var familyChains: [FamilyChain] = []

    /// What a state is concluded from.
    public struct Cause: Hashable, Sendable {
        /// Such as `no_carrier` (the reason of the path), `wan.down` (a verdict), `tests` or `portal`.
        public let code: String
        /// Whether it names the broken element, and not only what fails.
        public let isSpecific: Bool

        public init(_ code: String, isSpecific: Bool = true) {
            (self.code, self.isSpecific) = (code, isSpecific)
        }

        static let tests = Cause("tests", isSpecific: false)
    }
}

/// The path of one family's packets.
public struct FamilyChain: Hashable, Sendable {
    public let family: AddressFamily
    public let chain: [ChainElement]

    public init(_ family: AddressFamily, _ chain: [ChainElement]) {
        (self.family, self.chain) = (family, chain)
    }
}

/// One element of the path.
public struct ChainElement: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case host, interface, gateway, internet, dns
    }

    public enum Condition: String, Hashable, Sendable, CaseIterable {
        case good, degraded, broken
        /// Something before it is broken.
        case notReached = "not_reached"
        /// It was not tested.
        case notAsked = "not_asked"

        /// Whether something is wrong there or before it.
        public var isWrong: Bool { self != .good && self != .notAsked }
    }

    public let kind: Kind
    /// The host's name, the interface's, or an address; `nil` where there is none.
    public let name: String?
    public let condition: Condition
    /// The round trip of its last answer; `nil` where that was not measured.
    public let roundTrip: Duration?

    public init(_ kind: Kind, _ name: String?, _ condition: Condition, roundTrip: Duration? = nil) {
        self.kind = kind
        self.name = name
        self.condition = condition
        self.roundTrip = roundTrip
    }
}
