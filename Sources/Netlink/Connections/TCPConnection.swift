// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// A TCP socket as the kernel describes it.
///
/// Source: `struct inet_diag_msg` and `struct tcp_info` (sock_diag(7), linux/tcp.h); ages are in milliseconds, round trips
/// and timeouts in microseconds.
public struct TCPConnection: Hashable, Sendable {
    /// TCP_* of linux/tcp_states.h.
    public enum State: UInt8, Hashable, Sendable {
        case established = 1
        case synSent = 2
        case finWait1 = 4
        case closed = 7
        case closeWait = 8
        case lastAck = 9
        case listening = 10
        case closing = 11
    }

    public var state: State
    public var source: IPAddress
    public var sourcePort: UInt16
    public var destination: IPAddress
    public var destinationPort: UInt16
    /// The interface it is bound to, if to one.
    public var boundInterface: Int?
    public var uid: UInt32
    /// The firewall mark; 0 unless this process has `CAP_NET_ADMIN`.
    public var mark: UInt32 = 0
    /// Names the socket for as long as it lives.
    public var cookie: UInt64
    /// Whether the peer's receive window is full, so that only window probes are sent.
    public var isProbingWindow = false
    /// Retransmission timeouts in a row without an answer.
    public var retransmissions: UInt8 = 0
    /// How often the retransmission timeout was doubled.
    public var backoff: UInt8 = 0
    /// The retransmission timeout, doubled ones included.
    public var timeout: UInt32 = 0
    /// Milliseconds until that timeout, or another timer of the socket.
    public var timeLeft: UInt32 = 0
    /// Segments that were sent and not acknowledged.
    public var unacknowledged: UInt32 = 0
    public var lastSent: UInt32 = 0
    public var lastReceived: UInt32 = 0
    public var lastAcknowledged: UInt32 = 0
    public var roundTrip: UInt32 = 0
    /// The least round trip; `nil` before the first.
    public var leastRoundTrip: UInt32?
    /// Segments that were sent again, of all that carried data, and those that the peer had received already.
    public var retransmitted: UInt32 = 0
    public var duplicates: UInt32 = 0
    public var segments: UInt32 = 0
    public var bytesAcknowledged: UInt64 = 0
    public var segmentsReceived: UInt32 = 0

    public init(
        _ state: State,
        from source: IPAddress,
        port: UInt16 = 0,
        to destination: IPAddress,
        port destinationPort: UInt16 = 0,
        cookie: UInt64 = 0
    ) {
        self.state = state
        self.source = source
        self.sourcePort = port
        self.destination = destination
        self.destinationPort = destinationPort
        self.cookie = cookie
        uid = 0
    }
}

extension TCPConnection {
    /// Reads the body of a message of `SOCK_DIAG_BY_FAMILY`.
    /// - Returns: `nil` when the bytes are not a TCP socket of IPv4 or IPv6 in a state of ``State``.
    public init?(decoding body: Span<UInt8>) {
        guard body.count >= Self.headerLength, let family = AddressFamily(kernel: body[0]),
            let state = State(rawValue: body[1])
        else { return nil }
        let width = family.bitWidth / 8
        guard let source = IPAddress(bytes: body.extracting(8..<8 + width)),
            let destination = IPAddress(bytes: body.extracting(24..<24 + width))
        else { return nil }
        self.init(
            state,
            from: source.unmapped,
            port: body.host16(at: 4).bigEndian,
            to: destination.unmapped,
            port: body.host16(at: 6).bigEndian,
            cookie: body.host64(at: 44)
        )
        let index = body.index(at: 40)
        boundInterface = index > 0 ? index : nil
        uid = body.host32(at: 64)
        // ICSK_TIME_PROBE0.
        isProbingWindow = body[2] == 4
        timeLeft = body.host32(at: 52)
        var attributes = AttributeReader(body, from: Self.headerLength)
        while attributes.advance() {
            switch attributes.kind {
            case 2: readInformation(attributes.payload)  // INET_DIAG_INFO
            case 15: mark = attributes.word  // INET_DIAG_MARK
            default: continue
            }
        }
    }

    static let headerLength = 72

    /// Older kernels write a shorter `struct tcp_info`: what is missing is 0.
    private mutating func readInformation(_ information: Span<UInt8>) {
        guard information.count >= 104 else { return }
        retransmissions = information[2]
        backoff = information[4]
        timeout = information.host32(at: 8)
        unacknowledged = information.host32(at: 24)
        lastSent = information.host32(at: 44)
        lastReceived = information.host32(at: 52)
        lastAcknowledged = information.host32(at: 56)
        roundTrip = information.host32(at: 68)
        retransmitted = information.host32(at: 100)
        bytesAcknowledged = information.host64(at: 120)
        segmentsReceived = information.host32(at: 140)
        let least = information.host32(at: 148)
        leastRoundTrip = least == 0 || least == .max ? nil : least
        segments = information.host32(at: 156)
        duplicates = information.host32(at: 216)
    }
}
