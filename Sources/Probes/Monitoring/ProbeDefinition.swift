// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public struct ProbeRoute: Hashable, Sendable {
    /// The interface they must leave by (`SO_BINDTODEVICE`); `nil` leaves the choice to the routes.
    public var interface: String?
    /// Their firewall mark (`SO_MARK`); needs CAP_NET_ADMIN.
    public var mark: UInt32?
    /// The user they count as, for rules by user id; needs CAP_CHOWN.
    public var userID: UInt32?
    /// The own address that datagrams come from; `nil` leaves the choice to the routes.
    public var source: IPAddress?

    /// The route of any program of the same user.
    public init(interface: String? = nil, mark: UInt32? = nil, userID: UInt32? = nil) {
        self.interface = interface
        self.mark = mark
        self.userID = userID
    }
}

public struct ServerQuestion: Hashable, Sendable {
    public enum Transport: String, Hashable, Sendable, CaseIterable {
        /// One datagram.
        case udp
        /// A connection (RFC 7766).
        case tcp
    }

    /// The type of record that must be in the answer.
    public enum Record: String, Hashable, Sendable, CaseIterable {
        /// An IPv4 address.
        case a = "A"
        /// An IPv6 address.
        case aaaa = "AAAA"
        case text = "TXT"
        /// The name servers of a zone; any answer shows that the server finds things out.
        case nameServers = "NS"

        /// Those that a configured probe may ask for: what it finds are addresses.
        public static let allCases: [Record] = [.a, .aaaa]
    }

    /// The server; `nil` is the first one of the system.
    public var server: SocketAddress?
    public var record: Record
    public var transport: Transport
    /// Names that are looked up at a server that refuses the query, one after another.
    ///
    /// It is in order if it knows one of them, or denies it with the start of a zone (SOA, RFC 2308).
    public var namesIfRefused: [String] = []

    /// A question for an IPv4 address by one datagram to the system's first server.
    public init(server: SocketAddress? = nil, record: Record = .a, transport: Transport = .udp) {
        self.server = server
        self.record = record
        self.transport = transport
    }
}

public struct PageExpectation: Hashable, Sendable {
    public var statuses: [Int]
    /// A file of certificates the server's must verify against; `nil` is the system's.
    public var authorities: String?
    /// What is sent as `X-NWPath-Challenge` and must come back as `X-NWPath-Response` after the word `response`.
    public var challenge: String?
    /// The key of a WebSocket's opening handshake (RFC 6455 section 4.1), which makes the request one.
    public var key: String?
    /// How many bytes the request is made longer by, so that it fills several packets.
    public var padding = 0
    /// The media type that is asked for; `nil` takes any.
    public var accepted: String?
    /// How many bytes of the answer's body are kept; a longer one is none.
    public var longestBody = 0
    /// How many bytes of the body are read and thrown away, to see whether they come.
    package var measuredBody = 0
    /// Whether the head of the answer is enough, so that its body is left alone.
    public var isHeadEnough = false
    /// Whether it goes through the proxy of the environment, if that names one for it (libcurl-env(3)).
    package var usesProxy = false
    /// When the request ends by itself, which tells how far it got; `nil` leaves that to the probe's timeout.
    public var limit: Duration?

    /// A page, or none on purpose.
    public init(statuses: [Int] = [200, 204], authorities: String? = nil) {
        self.statuses = statuses
        self.authorities = authorities
    }
}

/// One probe: what is asked, how, how often, and what counts as broken.
public struct ProbeDefinition: Hashable, Sendable {
    /// Its name in events, metrics and routes.
    public var name: String
    public var method: ProbeMethod
    public var target: ProbeTarget
    /// The family that a host name is resolved to; `nil` takes what the system prefers.
    public var family: AddressFamily?
    /// The address that is asked in place of those that the name has; `nil` looks the name up.
    public var address: ScopedAddress?
    public var route: ProbeRoute
    public var page: PageExpectation
    public var question: ServerQuestion
    /// From the start of one attempt to that of the next.
    public var interval: Duration
    /// From the start of a first failed attempt to that of the next; it doubles with each failure up to the interval.
    public var retryInterval: Duration
    /// How long an answer may take, looking up the name included.
    public var timeout: Duration
    /// How many attempts in a row must fail before it is told.
    public var threshold: Int

    public init(
        name: String,
        method: ProbeMethod,
        target: ProbeTarget,
        family: AddressFamily? = nil,
        route: ProbeRoute = ProbeRoute(),
        page: PageExpectation = PageExpectation(),
        question: ServerQuestion = ServerQuestion(),
        interval: Duration = .seconds(30),
        retryInterval: Duration = .seconds(1),
        timeout: Duration = .seconds(2),
        threshold: Int = 3
    ) {
        self.name = name
        self.method = method
        self.target = target
        self.family = family
        self.route = route
        self.page = page
        self.question = question
        self.interval = interval
        self.retryInterval = retryInterval
        self.timeout = timeout
        self.threshold = threshold
    }
}
