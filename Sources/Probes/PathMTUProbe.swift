// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing
internal import Glibc
internal import LinuxIO

/// What became of a search for the largest packet that arrives.
public struct PathMTUResult: Hashable, Sendable {
    /// Its size in bytes, headers of IP included; `nil` when no size was answered.
    public var largest: Int?
    /// Whether a router reported that larger packets are too big.
    public var isAnnounced = false
}

/// Finds the largest packet that a peer sends back, without letting routers fragment it (RFC 4821).
///
/// The first size is sent five times, others twice; each is over at its first answer. A search without any success
/// sends at most 20 kB.
package struct PathMTUProbe: Probe {
    private static let pace = Duration.milliseconds(80)
    private static let tooLong = Errno(EMSGSIZE)
    /// How often the first size and how often each further one is sent.
    private static let copies = (first: 5, later: 2)

    private let address: ScopedAddress
    private let kind: TrainKind
    private let roundTrip: Duration
    private let isSearching: Bool
    private var search: PathMTUSearch
    private var message: EchoMessage
    private var isRaw = false
    private var isResent = false
    private var left = 0
    private var isFirst = true
    private var request: [UInt8] = []
    package private(set) var bytesReceived = 0
    package private(set) var result = PathMTUResult()

    /// - Parameters:
    ///   - address: The peer, which sends packets back.
    ///   - kind: What the packets are.
    ///   - limit: The MTU of the own link, in bytes.
    ///   - roundTrip: How long an answer usually takes.
    ///   - isSearching: Whether to go on after the first size; otherwise only that is tested.
    package init(
        _ address: ScopedAddress,
        by kind: TrainKind,
        limit: Int,
        roundTrip: Duration,
        isSearching: Bool = true
    ) {
        self.address = address
        self.kind = kind
        self.roundTrip = roundTrip
        self.isSearching = isSearching
        search = PathMTUSearch(address.address.family, limit: limit)
        message = EchoMessage(family: address.address.family, sequence: 0)
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started: return [.open(kind.socket(to: address, isUnfragmented: true))]
        case .opened(_, let state):
            isRaw = state.isRaw
            return next(at: now)
        case .fired: return send(at: now)
        case .received(let packet, _):
            guard isAnswer(packet.bytes) else { return [] }
            bytesReceived += packet.bytes.count - (isRaw && address.address.family == .ipv4 ? 20 : 0)
            return settle(isAnswered: true, at: now)
        case .fault(let fault, _, _):
            guard fault.kind == .tooBig else { return [] }
            result.isAnnounced = true
            if let largest = fault.largest { search.announce(largest) }
            // Others may be about a size before.
            return search.announced.map { $0 < size } == true ? settle(isAnswered: false, at: now) : []
        case .failed(let failure, _, .send(let bytes)):
            return bytes == request ? fail(failure, at: now) : []
        case .failed(_, _, .receive): return []
        // A search that silence of this machine misleads is worth nothing.
        case .failed(_, _, .open), .timedOut(isDelayed: true): return [.finish]
        case .timedOut: return settle(isAnswered: false, at: now)
        }
    }

    /// The size of a packet of now, headers of IP included.
    private var size: Int { request.count + overhead }
    private var overhead: Int { (address.address.family == .ipv4 ? 20 : 40) + (kind == .echo ? 0 : 8) }

    private mutating func next(at now: ProbeTime) -> [ProbeAction] {
        switch search.next {
        case .done(let largest):
            result.largest = largest
            // What is lost below the size that a router named, nobody reported.
            if let announced = search.announced, let largest, largest + PathMTUSearch.step < announced {
                result.isAnnounced = false
            }
            return [.finish]
        case .send(let size):
            guard isFirst || isSearching else { return [.finish] }
            left = isFirst ? Self.copies.first : Self.copies.later
            isFirst = false
            message = EchoMessage(family: message.family, sequence: message.sequence &+ 1)
            message.size = size - overhead
            request = kind == .echo ? message.request : message.token
            request += [UInt8](repeating: 0x55, count: max(0, size - overhead - request.count))
            return send(at: now)
        }
    }

    private mutating func send(at now: ProbeTime) -> [ProbeAction] {
        left -= 1
        isResent = false
        let wait = max(.milliseconds(300), roundTrip * 2)
        let pause: [ProbeAction] =
            left > 0
            ? [.schedule(at: now.boot + Self.pace), .timeout(after: nil)] : [.timeout(after: wait)]
        return [.send(request)] + pause
    }

    private mutating func settle(isAnswered: Bool, at now: ProbeTime) -> [ProbeAction] {
        search.record(size, isAnswered: isAnswered)
        return next(at: now)
    }

    private mutating func fail(_ failure: SocketFailure, at now: ProbeTime) -> [ProbeAction] {
        if !isResent {
            isResent = true
            return [.resend(request)]
        }
        // The own link takes less than its MTU says.
        if failure.error == Self.tooLong { return settle(isAnswered: false, at: now) }
        return FailureClassifier.shortage(failure) == nil ? [] : [.finish]
    }

    private func isAnswer(_ bytes: [UInt8]) -> Bool {
        guard kind != .echo else { return message.isAnswered(by: bytes.span, isRaw: isRaw) }
        return bytes.count == request.count && bytes.starts(with: message.token)
    }
}

/// Searches for the largest packet that arrives, in few steps.
///
/// The MTU of the own link is tested first; if that arrives, nothing else is. Then a size that passes everywhere, then
/// halves of what is between, down to eight bytes.
struct PathMTUSearch: Equatable {
    enum Step: Equatable {
        /// Send packets of so many bytes.
        case send(Int)
        /// The largest packet that arrives; `nil` when not even the smallest does, which says nothing about sizes.
        case done(Int?)
    }

    /// How exact the result is, in bytes.
    static let step = 8

    /// The MTU of the own link.
    let limit: Int
    /// What every path must pass (RFC 791 section 3.1 for hosts, RFC 8200 section 5).
    let floor: Int
    private var known: Int?
    private var tooBig: Int
    /// The smallest size that a router named.
    private(set) var announced: Int?
    private var isStarted = false

    init(_ family: AddressFamily, limit: Int) {
        floor = min(family == .ipv4 ? 576 : 1280, limit)
        self.limit = limit
        tooBig = limit + 1
    }

    var next: Step {
        guard isStarted else { return .send(limit) }
        if let announced, announced < tooBig, announced > known ?? 0 { return .send(announced) }
        guard let known else { return tooBig > floor ? .send(floor) : .done(nil) }
        // What lies above may have been refused by the network for its size alone.
        guard tooBig - known > Self.step else { return .done(known) }
        let middle = (known + tooBig) / 2
        return .send(middle - middle % 2)
    }

    mutating func record(_ size: Int, isAnswered: Bool) {
        isStarted = true
        if isAnswered {
            known = max(known ?? 0, size)
            // A router that named this size knows its link.
            if size == announced { tooBig = min(tooBig, size + 1) }
        } else {
            tooBig = min(tooBig, size)
        }
    }

    /// Records the MTU of the next link, as a router reported it.
    mutating func announce(_ size: Int) {
        // RFC 791 section 3.2 and RFC 8200 section 5: no link takes less.
        guard size >= (floor == 1280 ? 1280 : 68), size < tooBig else { return }
        announced = min(announced ?? size, size)
    }
}
