// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CTLSShims

/// Messages that may be lost, as sealed datagrams of one connection; pure.
///
/// On the wire: the version in 1 byte, the receiver's tag in 3, a counter in 8; then what is sealed by ChaCha20-Poly1305
/// (RFC 8439), with these 12 bytes as its header, and 4 zeros and the counter as its nonce; numbers in network order.
/// Sealed is the kind in 1 byte; of a fragment also its message's number in 4, its index, their count, and content.
///
/// The number is the end of the counter of the message's first fragment, which the others follow: since no counter is
/// used twice, neither is a fragment, and no two messages can be mixed, whatever the peer sends.
struct DatagramCodec: Sendable {
    enum Opened: Hashable, Sendable {
        case message([UInt8])
        /// The sender tests whether datagrams get through.
        case probe
        case acknowledgement
        /// A piece of a message that is not whole yet.
        case incomplete
        /// It is not the peer's, came too late or a second time, or makes no sense.
        case refused
    }

    /// A message of which some fragments have arrived.
    struct Partial: Sendable {
        /// The counter of its first fragment.
        let start: UInt64
        let received: Duration
        var pieces: [[UInt8]?]
        var missing: Int
    }

    private enum Kind: UInt8 {
        case probe = 0
        case acknowledgement = 1
        case fragment = 2
    }

    static let version: UInt8 = 1
    /// What a datagram has besides its plaintext.
    static let overhead = headerLength + Int(NWP_TAG)
    /// With what is around it, it fits into the 1280 bytes that every link for IPv6 carries (RFC 8200 section 5).
    static let maximumPlaintext = 1200
    static let mostFragments = 16
    static let maximumMessage = mostFragments * maximumContent
    /// How many messages may be incomplete; the oldest makes room.
    static let mostPartials = 8
    /// How long the rest of a message may take to arrive.
    static let reassemblyTimeout = Duration.seconds(1)
    static let maximumContent = maximumPlaintext - fragmentHeaderLength
    private static let headerLength = 12
    private static let fragmentHeaderLength = 7
    private static let maximumTag = UInt32(0xFF_FFFF)

    private let sendingKey: [UInt8]
    private let receivingKey: [UInt8]
    private let sendingTag: UInt32
    private let receivingTag: UInt32
    /// The next datagram's; the last one of all is never used.
    private var counter: UInt64
    private var window = ReplayWindow()
    /// In the order of their first fragments.
    private(set) var partials: [Partial] = []

    /// Keys and tags of a connection, one of each for either direction; `counter` is the first one that is sent.
    /// - Returns: `nil` when a key has not 32 bytes, or a tag more than 24 bits.
    init?(
        sendingKey: [UInt8],
        receivingKey: [UInt8],
        sendingTag: UInt32,
        receivingTag: UInt32,
        counter: UInt64 = 0
    ) {
        guard sendingKey.count == Int(NWP_SEED), receivingKey.count == Int(NWP_SEED),
            sendingTag <= Self.maximumTag, receivingTag <= Self.maximumTag
        else { return nil }
        self.sendingKey = sendingKey
        self.receivingKey = receivingKey
        self.sendingTag = sendingTag
        self.receivingTag = receivingTag
        self.counter = counter
    }

    /// The tag of the receiver of a datagram that may be anybody's.
    /// - Returns: `nil` when it is too short, or of another version.
    static func tag(of datagram: [UInt8]) -> UInt32? {
        guard datagram.count > overhead, datagram[0] == version else { return nil }
        return datagram[1..<4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

// MARK: - Sending

extension DatagramCodec {
    /// Seals a message.
    /// - Returns: Its datagrams, or `nil` when it is too long, or no counter is left.
    mutating func seal(_ message: [UInt8]) -> [[UInt8]]? {
        guard message.count <= Self.maximumMessage else { return nil }
        let count = max((message.count + Self.maximumContent - 1) / Self.maximumContent, 1)
        guard UInt64.max - counter >= UInt64(count) else { return nil }
        let number = Self.bytes(of: UInt32(truncatingIfNeeded: counter))
        var datagrams: [[UInt8]] = []
        for index in 0..<count {
            let head = [Kind.fragment.rawValue] + number + [UInt8(index), UInt8(count)]
            let content = message.dropFirst(index * Self.maximumContent).prefix(Self.maximumContent)
            guard let datagram = sealPlaintext(head + content) else { return nil }
            datagrams.append(datagram)
        }
        return datagrams
    }

    /// Tests whether datagrams get through.
    mutating func probe() -> [UInt8]? { sealPlaintext([Kind.probe.rawValue]) }

    /// Answers a probe.
    mutating func acknowledgement() -> [UInt8]? { sealPlaintext([Kind.acknowledgement.rawValue]) }

    /// Seals any bytes, as one datagram.
    /// - Returns: `nil` when no counter is left.
    mutating func sealPlaintext(_ plaintext: [UInt8]) -> [UInt8]? {
        guard counter < .max else { return nil }
        let number = Self.bytes(of: counter)
        counter += 1
        let header = Self.bytes(of: UInt32(Self.version) << 24 | sendingTag) + number
        var sealed = [UInt8](repeating: 0, count: plaintext.count + Int(NWP_TAG))
        let code = unsafe nwp_seal(
            sendingKey,
            Self.nonce(number),
            header,
            header.count,
            plaintext,
            plaintext.count,
            &sealed
        )
        return code == 0 ? header + sealed : nil
    }

    private static func nonce(_ counter: [UInt8]) -> [UInt8] { [0, 0, 0, 0] + counter }

    private static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
        stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}

// MARK: - Receiving

extension DatagramCodec {
    /// Opens a datagram that may be anybody's.
    mutating func open(_ datagram: [UInt8], at now: Duration) -> Opened {
        guard let (number, plaintext) = authenticate(datagram) else { return .refused }
        partials.removeAll { now - $0.received >= Self.reassemblyTimeout }
        guard let kind = Kind(rawValue: plaintext[0]) else { return .refused }
        switch kind {
        case .probe: return plaintext.count == 1 ? .probe : .refused
        case .acknowledgement: return plaintext.count == 1 ? .acknowledgement : .refused
        case .fragment: return receiveFragment(plaintext, number, at: now)
        }
    }

    /// What the peer sealed, which is not empty, and the counter with it; each once.
    private mutating func authenticate(_ datagram: [UInt8]) -> (counter: UInt64, plaintext: [UInt8])? {
        guard datagram.count <= Self.overhead + Self.maximumPlaintext, Self.tag(of: datagram) == receivingTag else {
            return nil
        }
        let header = Array(datagram.prefix(Self.headerLength))
        let number = Array(header.dropFirst(4))
        let counter = number.reduce(0) { $0 << 8 | UInt64($1) }
        guard window.isNew(counter) else { return nil }
        let sealed = Array(datagram.dropFirst(Self.headerLength))
        var plaintext = [UInt8](repeating: 0, count: datagram.count - Self.overhead)
        let code = unsafe nwp_open(
            receivingKey,
            Self.nonce(number),
            header,
            header.count,
            sealed,
            sealed.count,
            &plaintext
        )
        guard code == 0 else { return nil }
        window.insert(counter)
        return (counter, plaintext)
    }

    private mutating func receiveFragment(_ plaintext: [UInt8], _ counter: UInt64, at now: Duration) -> Opened {
        guard plaintext.count >= Self.fragmentHeaderLength else { return .refused }
        let number = plaintext[1..<5].reduce(0) { $0 << 8 | UInt32($1) }
        let (index, count) = (Int(plaintext[5]), Int(plaintext[6]))
        guard (1...Self.mostFragments).contains(count), index < count, UInt64(index) <= counter else { return .refused }
        let start = counter - UInt64(index)
        guard number == UInt32(truncatingIfNeeded: start) else { return .refused }
        let content = Array(plaintext.dropFirst(Self.fragmentHeaderLength))
        if count == 1 { return .message(content) }
        guard let position = partials.firstIndex(where: { $0.start == start }) else {
            if partials.count >= Self.mostPartials { partials.removeFirst() }
            var pieces = [[UInt8]?](repeating: nil, count: count)
            pieces[index] = content
            partials.append(Partial(start: start, received: now, pieces: pieces, missing: count - 1))
            return .incomplete
        }
        guard partials[position].pieces.count == count, partials[position].pieces[index] == nil else { return .refused }
        partials[position].pieces[index] = content
        partials[position].missing -= 1
        guard partials[position].missing == 0 else { return .incomplete }
        return .message(partials.remove(at: position).pieces.flatMap { $0 ?? [] })
    }
}

/// Which counters have been seen, of the highest and the 1024 behind it.
///
/// Bits in a ring of words, as RFC 6479 has them: a word that the highest comes to begins anew, and nothing is shifted.
struct ReplayWindow: Sendable {
    static let size: UInt64 = 1024
    private static let count = size / 64 + 1

    private var words = [UInt64](repeating: 0, count: Int(count))
    private var highest: UInt64 = 0

    /// Whether a counter has not been seen, and is not too old to check.
    func isNew(_ counter: UInt64) -> Bool {
        if counter > highest { return true }
        return highest - counter <= Self.size && words[Self.wordIndex(counter)] & Self.bit(counter) == 0
    }

    /// Remembers a counter that is new.
    mutating func insert(_ counter: UInt64) {
        if counter > highest {
            let last = counter / 64
            // All words are passed at most once, however far it is.
            let first = max(highest / 64 + 1, last < Self.count ? 0 : last - Self.count + 1)
            for word in stride(from: first, through: last, by: 1) { words[Int(word % Self.count)] = 0 }
            highest = counter
        }
        words[Self.wordIndex(counter)] |= Self.bit(counter)
    }

    private static func wordIndex(_ counter: UInt64) -> Int { Int(counter / 64 % count) }

    private static func bit(_ counter: UInt64) -> UInt64 { 1 << (counter % 64) }
}
