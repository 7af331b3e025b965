// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import CNetworkShims
internal import FoundationEssentials
internal import Glibc
internal import LinuxIO

/// A connected socket of its own: TCP, UDP or unix.
final class SocketFlow: Flow {
    let isStream: Bool
    let local: SocketEnd?
    let remote: SocketEnd?
    var onReadiness: (EventLoop.Readiness) -> Void = { _ in }

    private let loop: EventLoop
    private let buffer: ReadBuffer
    private let descriptor: SharedDescriptor
    private let number: Int32
    private let isInternet: Bool
    private var registration: EventLoop.Registration?
    private var registeredEvents: EventLoop.Interest = []
    /// What TCP does not count: datagrams, and bytes of unix sockets.
    private var counted = TransferCounts.Transport()

    /// Assumes ownership of a connected, non-blocking socket, whose peer may be known.
    /// - Throws: epoll_ctl(2)'s error; the socket is closed then.
    init(
        owning number: Int32,
        isStream: Bool,
        isInternet: Bool,
        remote: SocketEnd? = nil,
        loop: EventLoop,
        buffer: ReadBuffer
    ) throws(Errno) {
        self.loop = loop
        self.buffer = buffer
        self.number = number
        self.isStream = isStream
        self.isInternet = isInternet
        descriptor = SharedDescriptor(owning: number)
        local = isInternet ? Self.end(of: number, isPeer: false) : nil
        self.remote = isInternet ? remote ?? Self.end(of: number, isPeer: true) : nil
        registration = try loop.register(number, for: []) { [weak self] readiness in self?.handle(readiness) }
    }

    deinit { close(isAbrupt: false) }

    private static func end(of number: Int32, isPeer: Bool) -> SocketEnd? {
        var end = nwp_end()
        return unsafe nwp_flow_end(number, isPeer ? 1 : 0, &end) == 0 ? SocketEnd(end) : nil
    }

    var metadata: [any NWProtocolMetadata] {
        guard isInternet else { return [] }
        return isStream ? [NWProtocolTCP.Metadata(descriptor)] : [NWProtocolUDP.Metadata()]
    }

    var maximumDatagramSize: Int {
        guard !isStream else { return 0 }
        let isIPv6 = remote?.family == .ipv6
        let (level, option) = isIPv6 ? (Int32(IPPROTO_IPV6), IPV6_MTU) : (Int32(IPPROTO_IP), IP_MTU)
        let limit = nwp_flow_value(number, level, option)
        let header = isIPv6 ? 48 : 28
        // RFC 8085 section 3.2: what the path carries unfragmented, and what a datagram can have at most.
        return limit > 0 ? min(Int(limit), 65_535 + (isIPv6 ? 40 : 0)) - header : 65_507
    }

    func read(upTo limit: Int) throws(NWError) -> FlowInput? {
        if isStream {
            let bytes = unsafe try buffer.fill(upTo: limit) { unsafe nwp_flow_read(number, $0, $1) }
            if !isInternet { counted.receivedBytes += UInt64(bytes?.count ?? 0) }
            return bytes.map { $0.isEmpty ? .end : .bytes($0) }
        }
        var datagram = nwp_flow_datagram()
        let bytes = unsafe try buffer.fill(upTo: ReadBuffer.capacity) { start, count in
            unsafe nwp_flow_receive(number, start, count, &datagram)
        }
        if let bytes { counted.receiveDatagram(bytes.count) }
        return bytes.map { .message(ReceivedMessage(bytes: $0, metadata: Datagrams.metadata(datagram))) }
    }

    func write(_ bytes: Data) throws(NWError) -> Int? {
        let count = unsafe bytes.withUnsafeBytes { unsafe nwp_send(number, $0.baseAddress, $0.count) }
        guard count >= 0 else {
            let error = Errno(Int32(count))
            guard error != .again else { return nil }
            throw NWError(error)
        }
        if !isStream { counted.sendDatagram(count) } else if !isInternet { counted.sentBytes += UInt64(count) }
        return count
    }

    var transport: TransferCounts.Transport? {
        guard isStream, isInternet else { return counted }
        var state = nwp_tcp_state()
        guard unsafe nwp_flow_tcp_state(number, &state) == 0 else { return nil }
        return TransferCounts.Transport(state)
    }

    func pendingError() -> NWError? {
        let code = nwp_flow_value(number, SOL_SOCKET, SO_ERROR)
        return code > 0 ? NWError(Errno(code)) : nil
    }

    func expect(reading: Bool, writing: Bool) {
        var wanted: EventLoop.Interest = []
        if reading { wanted.insert(.readable) }
        if writing { wanted.insert(.writable) }
        guard let registration, wanted != registeredEvents else { return }
        registeredEvents = wanted
        try? loop.change(registration, to: wanted)
    }

    func finishWriting() { shutdown(number, Int32(SHUT_WR)) }

    func close(isAbrupt: Bool) {
        guard let registration else { return descriptor.close() }
        loop.unregister(registration)
        self.registration = nil
        if isAbrupt {
            nwp_flow_abort(number)
        } else if isStream {
            discardInput()
        }
        descriptor.close()
    }

    /// What was not read makes close(2) reset the connection, and what was sent last would be lost.
    private func discardInput() {
        guard nwp_flow_queued(number, 0) != 0 else { return }
        shutdown(number, Int32(SHUT_WR))
        for _ in 0..<64 {
            let bytes = unsafe try? buffer.fill(upTo: ReadBuffer.capacity) { unsafe nwp_flow_read(number, $0, $1) }
            guard let bytes, !bytes.isEmpty else { return }
        }
    }

    private func handle(_ readiness: EventLoop.Readiness) {
        onReadiness(readiness)
        // Nobody reads any more, and the kernel would report forever that both directions are closed, or broken.
        guard !readiness.isDisjoint(with: [.peerClosed, .failed]), let registration, registeredEvents.isEmpty else {
            return
        }
        loop.unregister(registration)
    }
}
