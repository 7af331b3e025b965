// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetworkShims
internal import FoundationEssentials
internal import Glibc
internal import LinuxIO

/// What datagrams bring along.
enum Datagrams {
    /// Requests our address and the traffic class of what comes.
    static func prepare(_ descriptor: Int32, isIPv6: Bool) {
        let (v4, v6) = (Int32(IPPROTO_IP), Int32(IPPROTO_IPV6))
        _ = nwp_flow_option(descriptor, v4, IP_RECVTOS, 1)
        guard isIPv6 else {
            _ = nwp_flow_option(descriptor, v4, IP_PKTINFO, 1)
            return
        }
        _ = nwp_flow_option(descriptor, v6, IPV6_RECVPKTINFO, 1)
        _ = nwp_flow_option(descriptor, v6, IPV6_RECVTCLASS, 1)
    }

    /// The metadata of a datagram.
    static func metadata(_ datagram: nwp_flow_datagram) -> [any NWProtocolMetadata] {
        let time = UInt64(max(0, datagram.nanoseconds))
        let internet = NWProtocolIP.Metadata(trafficClass: datagram.traffic_class, receiveTime: time)
        return [NWProtocolUDP.Metadata(), internet]
    }
}

extension NWError {
    /// Whether an error is that of one datagram: it is too long, or cannot leave now.
    var concernsOneDatagram: Bool {
        let codes: [POSIXErrorCode] = [
            .EMSGSIZE, .ENOBUFS, .ENETUNREACH, .EHOSTUNREACH, .ENETDOWN, .EPERM, .EACCES, .EADDRNOTAVAIL, .EINVAL,
        ]
        return codes.contains { self == .posix($0) }
    }
}

/// One UDP socket and the peers that send to it, each a flow of its own; confined to the thread of its loop.
///
/// When nobody wants new peers any more each of those that are left gets a socket of its own, connected to it, so that
/// somebody else can have the port: an open socket would receive a part of what is sent to that.
final class DatagramPort {
    /// Who sends, and to which of our addresses.
    private struct Pair: Hashable {
        let remote: SocketEnd
        let local: SocketEnd?
    }

    /// Called for an unknown peer, with its first datagram; the answer is whether it is wanted.
    var onPeer: ((PeerFlow, Data) -> Bool)?
    /// Our end.
    let local: SocketEnd

    private let loop: EventLoop
    private let buffer: ReadBuffer
    private let prepare: (Int32, _ isIPv6: Bool) throws(Errno) -> Void
    private let number: Int32
    private var registration: EventLoop.Registration?
    private var peers: [Pair: PeerFlow] = [:]
    private var isWriting = false

    /// Assumes ownership of a bound socket; `prepare` sets the options of another one.
    /// - Throws: epoll_ctl(2)'s error; the socket is closed then.
    init(
        owning number: Int32,
        local: SocketEnd,
        loop: EventLoop,
        buffer: ReadBuffer,
        prepare: @escaping (Int32, _ isIPv6: Bool) throws(Errno) -> Void
    ) throws(Errno) {
        self.number = number
        self.local = local
        self.loop = loop
        self.buffer = buffer
        self.prepare = prepare
        do throws(Errno) {
            registration = try loop.register(number, for: .readable) { [weak self] readiness in self?.handle(readiness)
            }
        } catch {
            _ = Glibc.close(number)
            throw error
        }
    }

    deinit { close() }

    /// Nobody wants new peers any more.
    func stopAccepting() {
        onPeer = nil
        _ = nwp_flow_option(number, SOL_SOCKET, SO_REUSEADDR, 1)
        let separated = peers.filter { pair, peer in separate(peer, as: pair) }
        // What came before they had their own is here still.
        while registration != nil, receive() {}
        for pair in separated.keys { peers[pair] = nil }
        if peers.isEmpty { close() }
    }

    /// Gives a peer a socket of its own.
    /// - Returns: Whether that went well; without one it stays with this socket.
    private func separate(_ peer: PeerFlow, as pair: Pair) -> Bool {
        let isIPv6 = pair.remote.family == .ipv6
        let own = nwp_flow_open(isIPv6 ? 16 : 4, 0)
        guard own >= 0 else { return false }
        let near = pair.local ?? .any(pair.remote.family, port: local.port)
        do throws(Errno) {
            try prepare(own, isIPv6)
            _ = nwp_flow_option(own, SOL_SOCKET, SO_REUSEADDR, 1)
            if isIPv6 { _ = nwp_flow_option(own, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
            var end = near.shim
            _ = try ConnectAttempt.checked(unsafe nwp_flow_bind(own, &end))
            end = pair.remote.shim
            _ = try ConnectAttempt.checked(unsafe nwp_flow_connect(own, &end))
        } catch {
            _ = Glibc.close(own)
            return false
        }
        guard let port = try? DatagramPort(owning: own, local: near, loop: loop, buffer: buffer, prepare: prepare)
        else { return false }
        port.peers[pair] = peer
        peer.move(to: port)
        return true
    }

    private func close() {
        guard let registration else { return }
        loop.unregister(registration)
        self.registration = nil
        _ = Glibc.close(number)
    }

    // MARK: - Reading

    private func handle(_ readiness: EventLoop.Readiness) {
        if readiness.contains(.writable) {
            expectWriting(false)
            for peer in peers.values { peer.onReadiness(.writable) }
        }
        // Readiness is level-triggered; other sources of the loop come first.
        for _ in 0..<64 where registration != nil && !receive() { return }
    }

    /// Reads one datagram.
    /// - Returns: Whether there may be more.
    private func receive() -> Bool {
        var datagram = nwp_flow_datagram()
        // An error is that of a datagram to one peer, which UDP does not identify: this call cleared it.
        let result = Result { () throws(NWError) in
            unsafe try buffer.fill(upTo: ReadBuffer.capacity) { start, count in
                unsafe nwp_flow_receive(number, start, count, &datagram)
            }
        }
        guard case .success(let found) = result else { return true }
        guard let bytes = found else { return false }
        handle(bytes, datagram)
        return true
    }

    private func handle(_ bytes: Data, _ datagram: nwp_flow_datagram) {
        guard let remote = SocketEnd(datagram.source), remote.port != 0 else { return }
        var local = SocketEnd(datagram.destination)
        if local?.address.isMulticast == true { local = nil }
        local?.port = self.local.port
        let pair = Pair(remote: remote, local: local)
        let message = ReceivedMessage(bytes: bytes, metadata: Datagrams.metadata(datagram))
        if let peer = peers[pair] { return peer.deliver(message) }
        let peer = PeerFlow(self, remote: remote, local: local)
        peer.deliver(message)
        guard let onPeer, onPeer(peer, bytes) else { return }
        peers[pair] = peer
    }

    // MARK: - Peers

    /// Sends to one peer.
    fileprivate func send(_ bytes: Data, to remote: SocketEnd, from local: SocketEnd?) throws(NWError) -> Int? {
        guard registration != nil else { throw .posix(.EPIPE) }
        var (to, from) = (remote.shim, local?.shim ?? nwp_end())
        func send() -> Int {
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe Int(nwp_flow_send(number, bytes.baseAddress, bytes.count, &to, &from))
            }
        }
        var count = send()
        // That an earlier datagram was refused is reported instead of sending this one.
        if count == -Int(ECONNREFUSED) { count = send() }
        guard count >= 0 else {
            let error = Errno(Int32(count))
            guard error != .again else { return nil }
            throw NWError(error)
        }
        return count
    }

    fileprivate func expectWriting(_ isExpected: Bool) {
        guard isExpected != isWriting, let registration else { return }
        isWriting = isExpected
        try? loop.change(registration, to: isExpected ? [.readable, .writable] : .readable)
    }

    fileprivate func leave(_ peer: PeerFlow) {
        let pair = Pair(remote: peer.peer, local: peer.local)
        guard peers[pair] === peer else { return }
        peers[pair] = nil
        if peers.isEmpty, onPeer == nil { close() }
    }
}

/// One peer of a ``DatagramPort``.
final class PeerFlow: Flow {
    let isStream = false
    let local: SocketEnd?
    /// The peer's end.
    let peer: SocketEnd
    var onReadiness: (EventLoop.Readiness) -> Void = { _ in }

    private var port: DatagramPort
    private var messages: [ReceivedMessage] = []
    private var held = 0
    private var isExpected = false
    private var isWriting = false
    private var counted = TransferCounts.Transport()

    /// How much waits for a program that does not read; more is dropped, as the kernel does when its buffer is full.
    private static let (mostMessages, mostBytes) = (1024, 1 << 22)

    fileprivate init(_ port: DatagramPort, remote: SocketEnd, local: SocketEnd?) {
        self.port = port
        self.local = local
        peer = remote
    }

    var remote: SocketEnd? { peer }
    var transport: TransferCounts.Transport? { counted }
    var metadata: [any NWProtocolMetadata] { [NWProtocolUDP.Metadata()] }
    /// What a datagram can have at most: the path of one peer of a shared socket is not known.
    var maximumDatagramSize: Int { peer.family == .ipv6 ? 65_527 : 65_507 }

    fileprivate func move(to port: DatagramPort) {
        self.port = port
        if isWriting { port.expectWriting(true) }
    }

    fileprivate func deliver(_ message: ReceivedMessage) {
        counted.receiveDatagram(message.bytes.count)
        guard messages.count < Self.mostMessages, held + message.bytes.count <= Self.mostBytes else { return }
        messages.append(message)
        held += message.bytes.count
        if isExpected { onReadiness(.readable) }
    }

    func read(upTo limit: Int) throws(NWError) -> FlowInput? {
        guard !messages.isEmpty else { return nil }
        let message = messages.removeFirst()
        held -= message.bytes.count
        return .message(message)
    }

    func write(_ bytes: Data) throws(NWError) -> Int? {
        let count = try port.send(bytes, to: peer, from: local)
        if let count { counted.sendDatagram(count) }
        return count
    }

    func expect(reading: Bool, writing: Bool) {
        isExpected = reading
        isWriting = writing
        if writing { port.expectWriting(true) }
    }

    func finishWriting() {}

    func close(isAbrupt: Bool) {
        messages = []
        port.leave(self)
    }
}
