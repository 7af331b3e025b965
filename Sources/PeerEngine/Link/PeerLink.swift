// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetworkShims
internal import LinuxIO

/// The events of a connection.
enum LinkEvent {
    /// Both know who they are.
    case opened
    case control(ControlMessage)
    /// What an invitation comes with.
    case context([UInt8])
    case certificate([UInt8])
    case proof([UInt8])
    case message([UInt8])
    case channelOpened(UInt16, ChannelPurpose)
    case chunk(UInt16, [UInt8])
    /// The peer has sent all.
    case ended(UInt16)
    /// The peer has given a channel up, because it wanted to or had to.
    case reset(UInt16, isFailure: Bool)
    case done(UInt16)
    /// A channel of ours has room for more.
    case room(UInt16)
    /// Once, and nothing after it.
    case closed(RefusalReason)
}

/// The connection of two peers: TLS with pinned keys, frames upon it, round-robin channels; confined to the thread of
/// its loop.
final class PeerLink {
    /// Channels that are always there.
    enum Channel {
        static let messages: UInt16 = 1
        /// Messages that may be lost, where datagrams do not get through.
        static let latest: UInt16 = 2
        static let firstDynamic: UInt16 = 16
        static let mostOpen = 512
    }

    private struct Incoming {
        /// How much the peer may send still.
        var credit = ChannelScheduler.initialCredit
        /// What was used up and is not granted again yet.
        var used = 0
        var partial: [UInt8] = []
    }

    let isDialer: Bool
    let remote: nwp_end
    let local: nwp_end
    var onEvent: (LinkEvent) -> Void = { _ in }
    private(set) var peer: PeerKey?
    private(set) var name = ""
    private(set) var port: UInt16 = 0
    /// Where it says that it can be reached.
    private(set) var addresses: [IPAddress] = []
    private(set) var outbox: MessageOutbox?
    /// Whether content may come; an unauthenticated peer sends none.
    private(set) var admitsContent = false
    private(set) var datagrams: DatagramPath?

    private let loop: EventLoop
    private let stream: SecureStream
    private let expected: PeerKey?
    private let hello: ControlMessage
    private var reader = FrameReader(limit: PeerLink.unauthenticatedLimit)
    private var scheduler = ChannelScheduler()
    private var incoming: [UInt16: Incoming] = [:]
    private var outgoing: Set<UInt16> = []
    private var lastChannel: UInt16 = 0
    private(set) var isClosed = false
    private var hasHello = false
    private var isPumping = false
    private var leaving: RefusalReason?
    private var lastSeen: Duration
    private var lastLateness: Duration
    private var timer: EventLoop.Timer?
    private var scratch: [UInt8] = []
    /// Bytes of messages that the program has not consumed yet.
    private var undelivered = 0
    private var undeliveredMessages = 0

    static let unauthenticatedLimit = 8 << 10
    static let handshakeTimeout = Duration.seconds(10)
    static let pingInterval = Duration.seconds(2)
    static let inactivityTimeout = Duration.seconds(6)
    /// While so much waits for the program, its peer gets no more room.
    private static let mostUndelivered = 1 << 20
    /// More than a peer that keeps to its credit and to what it may queue can have in transit, empty ones included.
    private static let mostUndeliveredMessages = 1 << 20
    private static let mostControl = 2048
    /// Who sends on a channel gets more credit below this.
    private static let highWater = 512 << 10
    private static let lowWater = 256 << 10

    /// Assumes ownership of a connected socket; the peer must have the `expected` key, where there is one.
    init(
        owning descriptor: Int32,
        isDialer: Bool,
        expected: PeerKey?,
        identity: PeerIdentity,
        hello: ControlMessage,
        loop: EventLoop,
        buffer: LinkBuffer
    ) throws(Errno) {
        self.isDialer = isDialer
        self.expected = expected
        self.hello = hello
        self.loop = loop
        stream = try SecureStream(
            owning: descriptor,
            identity: identity,
            isServer: !isDialer,
            loop: loop,
            buffer: buffer
        )
        remote = stream.remote
        local = stream.local
        lastSeen = loop.clock.boot
        lastLateness = loop.lateness
        for channel in [Channel.messages, Channel.latest] {
            scheduler.openChannel(channel)
            incoming[channel] = Incoming()
        }
        stream.onOpen = { [unowned self] in opened() }
        unsafe stream.onInput = { [unowned self] bytes in unsafe receive(bytes) }
        stream.onRoom = { [unowned self] in pump() }
        stream.onFailure = { [unowned self] failure in
            end(failure == .unintelligible ? .protocolError : .unreachable)
        }
        timer = loop.schedule(after: Self.handshakeTimeout) { [weak self] in self?.close(.timedOut) }
    }

    deinit {
        if let timer { loop.cancel(timer) }
        if !isClosed { stream.close() }
    }

    /// Begins to talk.
    func start() { stream.start() }

    private func opened() {
        guard let key = stream.peerKey, expected == nil || key == expected else { return close(.impostor) }
        peer = key
        scheduler.add(hello.frame())
        pump()
    }

    // MARK: - Sending

    func send(_ message: ControlMessage, channel: UInt16 = 0) { send(message.frame(channel: channel)) }

    func send(_ frame: Frame) {
        guard !isClosed else { return }
        scheduler.add(frame)
        pump()
        // The peer requests answers, and reads none.
        if scheduler.controlCount > Self.mostControl { end(.protocolError) }
    }

    /// Opens a channel to the peer.
    /// - Returns: `nil` when there are too many.
    func openChannel(_ purpose: ChannelPurpose) -> UInt16? {
        guard outgoing.count < Channel.mostOpen, !isClosed else { return nil }
        repeat {
            lastChannel =
                lastChannel > UInt16.max - 2 || lastChannel < Channel.firstDynamic
                ? Channel.firstDynamic + (isDialer ? 0 : 1) : lastChannel + 2
        } while outgoing.contains(lastChannel)
        outgoing.insert(lastChannel)
        scheduler.openChannel(lastChannel)
        send(.open(purpose), channel: lastChannel)
        return lastChannel
    }

    /// How much should be given now for a channel of ours.
    func room(on channel: UInt16) -> Int { max(Self.lowWater - scheduler.waiting(on: channel), 0) }

    func send(chunk: [UInt8], on channel: UInt16) {
        scheduler.addChunk(chunk, on: channel)
        pump()
    }

    /// Says that all was sent, when it has gone.
    func end(channel: UInt16) {
        scheduler.end(channel, with: Frame(kind: .end, channel: channel))
        pump()
    }

    /// How much was given and has not gone.
    func waiting(on channel: UInt16) -> Int { scheduler.waiting(on: channel) }

    /// Gives a channel up, whoever opened it, because one wants to or has to.
    func reset(channel: UInt16, isFailure: Bool) {
        forget(channel)
        send(Frame(kind: .reset, flags: isFailure ? Frame.isFailure : 0, channel: channel))
    }

    /// A channel has served its purpose.
    func forget(_ channel: UInt16) {
        guard channel >= Channel.firstDynamic else { return }
        outgoing.remove(channel)
        incoming[channel] = nil
        scheduler.closeChannel(channel)
    }

    /// The peer is in a session: what it sends is content from now on.
    ///
    /// \`send\` sends a datagram to an address, and loses it where there is no room.
    func admitContent(send: @escaping ([UInt8], nwp_end) -> Void) {
        admitsContent = true
        guard let destination = PeerAddress(remote)?.end(port: port) else { return }
        datagrams = DatagramPath(isDialer: isDialer, export: export) { send($0, destination) }
        datagrams?.sendCheck()
    }

    /// Receives a datagram of anybody.
    func receive(datagram: [UInt8]) {
        guard let message = datagrams?.receive(datagram, at: loop.clock.boot), !isClosed else { return }
        deliver(unreliable: message)
    }

    /// A program that is busy loses what may be lost.
    private func deliver(unreliable message: [UInt8]) {
        guard undelivered < Self.mostUndelivered, undeliveredMessages < Self.mostUndeliveredMessages else { return }
        deliver(message)
    }

    private func deliver(_ message: [UInt8]) {
        undelivered += message.count
        undeliveredMessages += 1
        onEvent(.message(message))
    }

    /// So many messages, and their bytes, were consumed by the program.
    func consumeMessages(_ messages: Int, bytes: Int) {
        undelivered -= bytes
        undeliveredMessages -= messages
        grant(Channel.messages)
    }

    /// So many bytes of a channel of the peer's are used up.
    func consume(_ count: Int, on channel: UInt16) {
        guard var entry = incoming[channel] else { return }
        entry.used += count
        incoming[channel] = entry
        grant(channel)
    }

    private func grant(_ channel: UInt16) {
        guard var entry = incoming[channel], entry.used >= ChannelScheduler.initialCredit / 4 else { return }
        if channel == Channel.messages, undelivered >= Self.mostUndelivered { return }
        let count = UInt32(entry.used)
        entry.credit += entry.used
        entry.used = 0
        incoming[channel] = entry
        let bytes = [UInt32(24), 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        send(Frame(kind: .credit, channel: channel, payload: bytes))
    }

    private func makeOutbox() {
        let loop = loop
        let handle = LoopReference(self)
        outbox = MessageOutbox { loop.perform { handle.value?.pump() } }
    }

    /// Sends what there is, as far as there is room.
    func pump() {
        guard !isClosed, !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        // What goes by datagrams does not wait for room.
        fetch()
        while !isClosed, stream.room > 0 {
            fetch()
            if let leaving, scheduler.isEmpty { return close(leaving) }
            guard !scheduler.isIdle else { return }
            scratch.removeAll(keepingCapacity: true)
            let gone = scheduler.dequeue(room: min(stream.room, Frame.maximumPayload), into: &scratch)
            stream.write(scratch)
            for (channel, count) in gone {
                if channel == Channel.messages { outbox?.gone(count) }
                guard channel >= Channel.firstDynamic, scheduler.waiting(on: channel) < Self.highWater else { continue }
                onEvent(.room(channel))
            }
        }
    }

    private func fetch() {
        guard let outbox, admitsContent else { return }
        let room = Self.lowWater - scheduler.waiting(on: Channel.messages)
        let (reliable, unreliable) = outbox.dequeue(room: max(room, 0))
        for message in reliable {
            scheduler.addMessage(message, on: Channel.messages)
            outbox.gone(MessageOutbox.overhead)
        }
        for message in unreliable where datagrams?.send(message: message) != true {
            scheduler.replaceMessage(message, on: Channel.latest)
        }
    }

    // MARK: - Receiving

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        lastSeen = loop.clock.boot
        lastLateness = loop.lateness
        unsafe reader.append(bytes)
        do throws(FrameError) {
            while !isClosed, let frame = try reader.next() { try handle(frame) }
            return true
        } catch {
            return false
        }
    }

    private func handle(_ frame: Frame) throws(FrameError) {
        guard hasHello else {
            guard case .hello(let name, let port, let addresses) = try ControlMessage(frame) else {
                throw .misplaced(frame.kind)
            }
            hasHello = true
            (self.name, self.port, self.addresses) = (name, port, addresses)
            reader.limit = Frame.maximumPayload
            makeOutbox()
            if let timer { loop.cancel(timer) }
            listen()
            return onEvent(.opened)
        }
        switch frame.kind {
        case .hello: throw .misplaced(.hello)
        case .ping: send(Frame(kind: .pong))
        case .pong: return
        case .invite, .accept, .decline, .join, .members: onEvent(.control(try ControlMessage(frame)))
        case .bye:
            guard case .bye(let reason) = try ControlMessage(frame) else { throw .misplaced(.bye) }
            end(reason)
        case .context: onEvent(.context(frame.payload))
        case .certificate: onEvent(.certificate(frame.payload))
        case .proof: onEvent(.proof(frame.payload))
        case .credit:
            guard frame.payload.count == 4 else { throw .misplaced(.credit) }
            let count = frame.payload.reduce(0) { $0 << 8 | Int($1) }
            guard scheduler.grant(count, on: frame.channel) else { throw .misplaced(.credit) }
            pump()
        case .open, .fragment, .chunk, .end, .reset, .done:
            guard admitsContent else { throw .misplaced(frame.kind) }
            try handleContent(frame)
        }
    }

    private func handleContent(_ frame: Frame) throws(FrameError) {
        let channel = frame.channel
        let isDynamic = channel >= Channel.firstDynamic
        let isPeers = isDynamic && (channel & 1 == 0) != isDialer
        switch frame.kind {
        case .open:
            guard isPeers, incoming[channel] == nil, case .open(let purpose) = try ControlMessage(frame) else {
                throw .misplaced(.open)
            }
            guard incoming.count < Channel.mostOpen else { return send(Frame(kind: .reset, channel: channel)) }
            incoming[channel] = Incoming()
            onEvent(.channelOpened(channel, purpose))
        case .fragment:
            guard !isDynamic, let known = incoming[channel]?.credit, frame.payload.count <= known else {
                throw .misplaced(.fragment)
            }
            // In place: a message may be long, and a copy of it for each fragment would be quadratic.
            incoming[channel]?.credit -= frame.payload.count
            incoming[channel]?.used += frame.payload.count
            incoming[channel]?.partial += frame.payload
            let length = incoming[channel]?.partial.count ?? 0
            guard length <= MessageOutbox.maximumMessage else { throw .tooLong(length) }
            let isLast = frame.flags & Frame.isLast != 0
            let message = isLast ? incoming[channel]?.partial ?? [] : []
            if isLast { incoming[channel]?.partial = [] }
            if isLast, channel == Channel.messages {
                guard undeliveredMessages < Self.mostUndeliveredMessages else { throw .misplaced(.fragment) }
                deliver(message)
            } else if isLast {
                deliver(unreliable: message)
            }
            grant(channel)
        case .chunk:
            guard isPeers, !frame.payload.isEmpty else { throw .misplaced(.chunk) }
            // One that was given up may have some in transit still.
            guard var entry = incoming[channel] else { return }
            guard frame.payload.count <= entry.credit else { throw .misplaced(.chunk) }
            entry.credit -= frame.payload.count
            incoming[channel] = entry
            onEvent(.chunk(channel, frame.payload))
        case .end:
            guard isPeers else { throw .misplaced(.end) }
            if incoming[channel] != nil { onEvent(.ended(channel)) }
        case .reset:
            guard isDynamic else { throw .misplaced(.reset) }
            guard isPeers ? incoming[channel] != nil : outgoing.contains(channel) else { return }
            forget(channel)
            onEvent(.reset(channel, isFailure: frame.flags & Frame.isFailure != 0))
        default:
            guard isDynamic, !isPeers else { throw .misplaced(frame.kind) }
            guard outgoing.contains(channel) else { return }
            forget(channel)
            onEvent(.done(channel))
        }
    }

    /// Finds out from time to time whether the peer is there.
    private func listen() {
        timer = loop.schedule(after: Self.pingInterval) { [weak self] in
            guard let self, !isClosed else { return }
            // Our own scheduling delay does not count as the peer's inactivity.
            let silent = loop.clock.boot - lastSeen - (loop.lateness - lastLateness)
            if silent >= Self.inactivityTimeout { return end(.unreachable) }
            if silent >= Self.pingInterval / 2 { send(Frame(kind: .ping)) }
            datagrams?.sendCheck()
            listen()
        }
    }

    // MARK: - Closing

    /// Bytes that both ends of this connection know, and nobody else.
    func export(_ label: String, count: Int) -> [UInt8]? { stream.export(label, count: count) }

    /// Closes when all that was sent has gone, or soon; no more events.
    func leave(_ reason: RefusalReason) {
        onEvent = { _ in }
        fetch()
        guard stream.isOpen, !scheduler.isEmpty, !isClosed else { return close(reason) }
        leaving = reason
        // The loop keeps it until then.
        loop.schedule(after: Self.handshakeTimeout) { [self] in close(reason) }
        pump()
    }

    /// Closes at once, and reports why.
    func close(_ reason: RefusalReason) {
        guard !isClosed else { return }
        if stream.isOpen {
            var output: [UInt8] = []
            _ = scheduler.dequeue(room: 0, into: &output)
            ControlMessage.bye(reason).frame().append(to: &output)
            stream.write(output)
        }
        end(reason)
    }

    private func end(_ reason: RefusalReason) {
        guard !isClosed else { return }
        isClosed = true
        if let timer { loop.cancel(timer) }
        timer = nil
        outbox?.close()
        stream.finish()
        let onEvent = onEvent
        onEvent(.closed(reason))
    }
}

/// What belongs to a loop's thread, held by what other threads hand over; used on that thread alone.
final class LoopReference<Object: AnyObject>: Sendable {
    private nonisolated(unsafe) weak var object: Object?
    init(_ object: Object) { unsafe self.object = object }
    var value: Object? { unsafe object }
}
