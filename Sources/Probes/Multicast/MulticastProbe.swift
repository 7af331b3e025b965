// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import Glibc
public import LinuxIO

/// What came of asking a host by multicast and by itself.
public struct MulticastResult: Hashable, Sendable {
    /// Whether it answered what was sent to it alone; `nil` when that could not be asked.
    public var answersUnicast: Bool?
    /// Whether its answer to what was sent to the group came back to the group; `nil` when that could not be asked, or
    /// could not be told from the answers of others.
    public var answersMulticast: Bool?
    /// The bytes of all questions.
    public var sent = 0
    /// The bytes of its answers.
    public var received = 0
}

/// Asks a host on the link the same by multicast DNS (RFC 6762) twice: with the whole group, and alone.
///
/// It sends two messages of about 80 bytes to the group, a second apart, and up to three to the host. It joins the group
/// meanwhile and shares its port with whoever else listens there, from whom it takes nothing: it is bound to the group,
/// not to an own address. Confined to the loop's thread.
public final class MulticastProbe: Cancelable {
    /// When the group is asked again: an answer is repeated after a second at the earliest (section 6).
    static let retry = Duration.milliseconds(1100)

    private let question: MulticastQuestion
    private let index: UInt32
    private let loop: EventLoop
    private let completion: (MulticastResult) -> Void
    private let id = UInt16.random(in: 1 ... .max)
    private var conversation: LinkConversation?
    private var alone: ProbeSocket?
    private var timers: [EventLoop.Timer] = []
    private var result = MulticastResult()
    private var unicast = MulticastQuestion.Reply.foreign
    private var isHeard = false
    private var isOver = false

    /// Starts to ask.
    /// - Parameters:
    ///   - peer: The host.
    ///   - index: The interface of the link.
    ///   - limit: How long answers are waited for.
    ///   - loop: Where it goes on.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        _ peer: IPAddress,
        on index: Int,
        limit: Duration = .milliseconds(1500),
        loop: EventLoop,
        completion: @escaping (MulticastResult) -> Void
    ) {
        self.loop = loop
        self.completion = completion
        self.index = UInt32(clamping: index)
        question = MulticastQuestion(peer: peer)
        timers = NameInterview.copies.map { delay in
            loop.schedule(at: loop.clock.boot + delay) { [weak self] in self?.askAlone() }
        }
        conversation = LinkConversation(manner, retry: Self.retry, limit: limit, loop: loop) { [weak self] end in
            self?.finish(end)
        }
    }

    deinit { release() }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        release()
    }

    private func release() {
        for timer in timers { loop.cancel(timer) }
        timers = []
        conversation?.cancel()
        alone?.close()
        alone = nil
    }

    // MARK: - Alone

    private func askAlone() {
        let bytes = question.bytes(id: id)
        do throws(SocketFailure) {
            if alone == nil { try openAlone() }
            guard unicast == .foreign, !isOver else { return }
            try alone?.send(bytes)
            result.answersUnicast = false
            result.sent += bytes.count
        } catch {
            // Nobody listens there, or a filter of one's own drops it; a later copy may find somebody.
        }
    }

    private func openAlone() throws(SocketFailure) {
        let peer = question.peer
        let socket = try ProbeSocket(.datagram, family: peer.family, route: ProbeRoute(), loop: loop)
        let scope = peer.isLinkLocal && peer.family == .ipv6 ? "\(index)" : nil
        try socket.connect(to: SocketAddress(ScopedAddress(peer, scope: scope), port: 5353))
        try socket.whenReady(.readable) { [weak self] _ in self?.receiveAlone() }
        alone = socket
    }

    private func receiveAlone() {
        for _ in 0..<ProbeSocket.burst {
            guard let alone, !isOver else { break }
            do throws(SocketFailure) {
                guard let bytes = try alone.receive(upTo: 9000)?.bytes else { break }
                let reply = question.read(bytes.span, id: id)
                guard reply > .foreign else { continue }
                result.received += bytes.count
                unicast = max(unicast, reply)
            } catch {
                break
            }
        }
        finishIfAnswered()
    }

    // MARK: - With the group

    private var manner: LinkConversation.Manner {
        let (index, bytes) = (index, question.bytes(id: 0))
        let family = question.peer.family == .ipv4 ? AF_INET : AF_INET6
        return LinkConversation.Manner(
            open: {
                let descriptor = nwp_multicast_open(family, index)
                guard descriptor >= 0 else { return descriptor }
                let code = nwp_multicast_join(descriptor, family, index)
                guard code < 0 else { return descriptor }
                _ = close(descriptor)
                return code
            },
            ask: { [weak self] descriptor in
                let count = unsafe bytes.withUnsafeBytes { buffer in
                    unsafe nwp_multicast_send(descriptor, family, index, buffer.baseAddress, buffer.count)
                }
                self?.result.sent += max(0, Int(count))
                return Int(count)
            },
            receive: { [weak self] descriptor, buffer in self?.receiveFromGroup(descriptor, &buffer) ?? -Int(EAGAIN) }
        )
    }

    private func receiveFromGroup(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
        var datagram = nwp_datagram()
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe nwp_multicast_receive(descriptor, bytes.baseAddress, bytes.count, &datagram)
        }
        guard count >= 0 else { return -Int(EAGAIN) }
        let own = question.peer.bytes
        let source = unsafe withUnsafeBytes(of: &datagram.source) { unsafe Array($0.prefix(own.count)) }
        if datagram.interface == index, datagram.port == 5353 {
            take(Array(buffer[..<Int(count)]), isFromPeer: source == own)
        }
        return Int(count)
    }

    private func take(_ bytes: [UInt8], isFromPeer: Bool) {
        let reply = question.read(bytes.span)
        guard reply == .named || isFromPeer && reply == .answer, !isHeard else { return }
        isHeard = true
        result.received += bytes.count
        // Not from within the conversation, which goes on receiving.
        timers.append(loop.schedule(after: .zero) { [weak self] in self?.finishIfAnswered() })
    }

    // MARK: - The end

    private func finishIfAnswered() {
        if isHeard && unicast > .foreign { finish(.timeOver) }
    }

    private func finish(_ end: LinkConversation.End) {
        guard !isOver else { return }
        isOver = true
        release()
        if case .starved = end {
            result.answersUnicast = unicast > .foreign ? true : nil
            result.answersMulticast = isHeard ? true : nil
        } else {
            if result.answersUnicast != nil { result.answersUnicast = unicast > .foreign }
            if case .timeOver = end { result.answersMulticast = isHeard }
        }
        // A host with several IPv6 addresses answers the group from another one: without its name it cannot be told.
        let isAmbiguous = question.peer.family == .ipv6 && !question.peer.isLinkLocal && unicast != .named
        if !isHeard && isAmbiguous { result.answersMulticast = nil }
        completion(result)
    }
}
