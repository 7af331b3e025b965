// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// Why an attempt failed; the raw value is what events, metrics and documents show.
public enum ProbeReason: String, Hashable, Sendable, CaseIterable {
    /// There was no answer in time.
    case timeout
    /// The port is closed, or somebody on the way says so (`ECONNREFUSED`).
    case refused
    /// There is no route, or a router says that there is none.
    case unreachable
    /// The name has no address, or the name server gave no usable answer.
    case dns
    /// The encrypted connection could not be made, or the certificate does not verify.
    case tls
    /// The page has another status than expected.
    case status
    /// Something on the way answered in place of the server and wants a login.
    case captivePortal = "captive_portal"
    /// This machine's own packet filter dropped it (`EPERM`).
    case blocked
    /// The connection broke, or what came was no answer.
    case answer
    /// This machine lacks what is needed, such as descriptors.
    case resources
}

public struct PageAnswer: Hashable, Sendable {
    public var status: Int
    /// Where a redirect leads.
    public var location: String?
    /// The answer to the key of a WebSocket's handshake.
    public var acceptance: String?
    /// The media type of the body, in small letters and without its parameters.
    public var mediaType: String?
    /// The whole body, where it was asked for and is not too long.
    public var body: [UInt8]?
    /// How many bytes of the body were read.
    package var bodyRead = 0
    /// How many it has, where the head says so.
    package var bodyLength: Int?
    /// Whether the server offers HTTP/3 on UDP port 443.
    package var offersQUIC = false
    /// Whether the challenge of the request came back, which somebody on the way could not know of.
    public var isEchoed = false

    public init(status: Int, location: String? = nil) {
        self.status = status
        self.location = location
    }
}

public enum CertificateFailure: Hashable, Sendable {
    /// Nobody who is trusted vouches for it, or it is another server's.
    case untrusted
    /// It is not valid any more, or not yet, if the own clock is right.
    case outOfDate
}

public struct ProbeResult: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        case success
        /// It is wrong, or there is none; the text says more, for people.
        case failure(ProbeReason, detail: String)
        /// The attempt could not be made by this process; the text says what would allow it.
        case notAssessed(advice: String)
    }

    public var outcome: Outcome
    /// From the first packet to the verdict; looking up the name does not count.
    public var duration: Duration
    /// How long the kernel had had the answer when this process looked at it, which is not part of the duration.
    var lateness: Duration = .zero
    /// How long looking up the name took; `nil` when there was none to look up.
    public var resolution: Duration?
    public var address: ScopedAddress?
    /// How many bytes were sent, without IP headers and those of TCP and UDP.
    public var sent: Int
    /// How many bytes came back, counted likewise.
    public var received: Int
    /// The hop limit that an echo reply arrived with.
    public var hopLimit: Int?
    /// How often the SYN of a TCP connection was sent again; most of the duration is the wait for that then.
    public var retransmissions = 0
    public var page: PageAnswer?
    /// What is wrong with the server's certificate; `nil` when nothing is known against it.
    public var certificate: CertificateFailure?
    /// Whether a connection for a page was made, that to the proxy where there is one, whatever became of it then.
    package var isConnected = false
    /// Whether the connection was encrypted, whatever became of it then.
    public var isSecured = false
    /// The proxy of the environment that the request went through.
    package var proxy: EnvironmentProxy?
    /// The addresses that a name server gave.
    public var addresses: [IPAddress]

    public init(
        _ outcome: Outcome,
        duration: Duration = .zero,
        address: ScopedAddress? = nil,
        sent: Int = 0,
        received: Int = 0,
        page: PageAnswer? = nil
    ) {
        self.outcome = outcome
        self.duration = duration
        self.address = address
        self.sent = sent
        self.received = received
        self.page = page
        addresses = []
    }

    public var isSuccess: Bool { outcome == .success }

    /// Whether anything was found out.
    public var isAssessed: Bool {
        if case .notAssessed = outcome { false } else { true }
    }

    /// What this machine lacks, as a clause; `nil` unless that is why it failed.
    public var shortage: String? {
        if case .failure(.resources, let detail) = outcome { detail } else { nil }
    }

    /// Why it failed; `nil` when it did not.
    public var reason: ProbeReason? {
        if case .failure(let reason, _) = outcome { reason } else { nil }
    }
}
