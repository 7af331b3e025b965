// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import CNetworkShims
internal import Glibc
internal import LinuxIO

/// Memory that all connections of a loop read into, one after another.
@safe final class LinkBuffer {
    let wire: UnsafeMutableRawBufferPointer
    let content: UnsafeMutableRawBufferPointer

    init() {
        unsafe wire = .allocate(byteCount: 256 << 10, alignment: 16)
        unsafe content = .allocate(byteCount: 64 << 10, alignment: 16)
    }

    deinit {
        unsafe wire.deallocate()
        unsafe content.deallocate()
    }
}

/// A connected socket with TLS 1.3 upon it; confined to the thread of its loop.
@safe final class SecureStream {
    enum Failure: Hashable {
        /// The socket, or TLS.
        case broken
        /// The peer has sent all, and said so.
        case ended
        /// What came is none.
        case unintelligible
    }

    /// The handshake is over.
    var onOpen: () -> Void = {}
    /// Content has come; returns whether the connection goes on.
    var onInput: (UnsafeRawBufferPointer) -> Bool = { _ in true }
    /// There is room for more.
    var onRoom: () -> Void = {}
    var onFailure: (Failure) -> Void = { _ in }

    private let loop: EventLoop
    private let buffer: LinkBuffer
    private let descriptor: Int32
    private var registration: EventLoop.Registration?
    private var registeredEvents: EventLoop.Interest = []
    private let end: TLSEnd
    private(set) var isOpen = false
    private var isFinishing = false
    private var timer: EventLoop.Timer?
    /// For the wire, from `offset` on.
    private var output: [UInt8] = []
    private var offset = 0

    /// More than this is not accepted while the wire has no room.
    private static let enough = 256 << 10
    private static let closeTimeout = Duration.seconds(3)
    /// How much is read in one iteration, so that other connections are served.
    private static let bytesPerTick = 1 << 20

    /// Assumes ownership of a connected socket.
    /// - Throws: The error of epoll_ctl(2), or `ENOMEM`; the socket is closed then.
    init(
        owning descriptor: Int32,
        identity: PeerIdentity,
        isServer: Bool,
        loop: EventLoop,
        buffer: LinkBuffer
    ) throws(Errno) {
        self.loop = loop
        self.buffer = buffer
        self.descriptor = descriptor
        guard let end = TLSEnd(identity, isServer: isServer) else {
            Glibc.close(descriptor)
            throw Errno(ENOMEM)
        }
        self.end = end
        _ = nwp_flow_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        do throws(Errno) {
            registration = try loop.register(descriptor, for: []) { [weak self] readiness in self?.handle(readiness) }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        expect()
    }

    deinit { close() }

    /// Begins to talk.
    func start() { advance() }

    /// Whose key the peer has; `nil` before the handshake is over, or when it speaks something else.
    var peerKey: PeerKey? { isOpen && end.hasProtocol ? end.peerKey : nil }

    func export(_ label: String, count: Int) -> [UInt8]? { end.export(label, count: count) }

    var remote: nwp_end {
        var found = nwp_end()
        _ = unsafe nwp_flow_end(descriptor, 1, &found)
        return found
    }

    var local: nwp_end {
        var found = nwp_end()
        _ = unsafe nwp_flow_end(descriptor, 0, &found)
        return found
    }

    /// How many bytes more should be given now.
    var room: Int { registration == nil || isFinishing ? 0 : max(Self.enough - (output.count - offset), 0) }

    /// Queues content for the peer; it goes as there is room.
    func write(_ bytes: [UInt8]) {
        guard registration != nil, !isFinishing, !bytes.isEmpty else { return }
        guard end.write(bytes) else { return fail(.broken) }
        flush()
    }

    /// Sends a close-notify alert, and closes when that has gone, or soon.
    ///
    /// What still comes is read and dropped: close(2) with unread bytes resets a connection, and the last words are lost.
    func finish() {
        guard registration != nil, !isFinishing else { return }
        isFinishing = true
        (onOpen, onRoom, onFailure) = ({}, {}, { _ in })
        unsafe onInput = { _ in true }
        end.finish()
        // The loop keeps it until then.
        timer = loop.schedule(after: Self.closeTimeout) { [self] in close() }
        flush()
    }

    /// Closes at once.
    func close() {
        guard let registration else { return }
        if let timer { loop.cancel(timer) }
        timer = nil
        loop.unregister(registration)
        self.registration = nil
        Glibc.close(descriptor)
    }

    private func fail(_ failure: Failure) {
        guard registration != nil else { return }
        close()
        onFailure(failure)
    }

    private func handle(_ readiness: EventLoop.Readiness) {
        if isFinishing { return drain(readiness) }
        if readiness.contains(.writable) {
            flush()
            if isOpen, room > 0 { onRoom() }
        }
        guard registration != nil else { return }
        if !readiness.isDisjoint(with: [.readable, .peerClosed, .failed]) { advance() }
    }

    private func drain(_ readiness: EventLoop.Readiness) {
        if readiness.contains(.writable) { flush() }
        guard registration != nil, !readiness.isDisjoint(with: [.readable, .peerClosed, .failed]) else { return }
        let count = unsafe nwp_flow_read(descriptor, buffer.wire.baseAddress, buffer.wire.count)
        if count == 0 || count < 0 && Errno(Int32(count)) != .again { close() }
    }

    /// Reads what has come, and goes on with the handshake or with content.
    private func advance() {
        var total = 0
        while registration != nil, total < Self.bytesPerTick {
            if !isOpen {
                guard let isOver = end.handshake() else {
                    flush()
                    return fail(.broken)
                }
                flush()
                if isOver {
                    isOpen = true
                    onOpen()
                    continue
                }
            } else {
                guard readContent() else { return }
            }
            guard registration != nil else { break }
            let count = unsafe nwp_flow_read(descriptor, buffer.wire.baseAddress, buffer.wire.count)
            guard count != 0 else { return fail(.broken) }
            guard count > 0 else {
                if Errno(Int32(count)) == .again { break }
                return fail(.broken)
            }
            total += count
            unsafe end.feed(UnsafeRawBufferPointer(rebasing: buffer.wire[..<count]))
        }
        flush()
    }

    /// - Returns: Whether to go on.
    private func readContent() -> Bool {
        while registration != nil {
            switch unsafe end.read(into: buffer.content) {
            case nil: return true
            case .bytes(let count):
                guard unsafe onInput(UnsafeRawBufferPointer(rebasing: buffer.content[..<count])) else {
                    fail(.unintelligible)
                    return false
                }
            case .end:
                fail(.ended)
                return false
            case .failed:
                fail(.broken)
                return false
            }
        }
        return false
    }

    private func flush() {
        guard registration != nil else { return }
        let count = end.outputCount
        if count > 0 {
            if offset == output.count {
                output.removeAll(keepingCapacity: true)
                offset = 0
            } else if offset > Self.enough {
                output.removeFirst(offset)
                offset = 0
            }
            unsafe output += [UInt8](unsafeUninitializedCapacity: count) { room, initialized in
                initialized = unsafe end.drain(into: UnsafeMutableRawBufferPointer(room))
            }
        }
        while offset < output.count {
            let sent = unsafe output.withUnsafeBytes { bytes in
                unsafe nwp_send(descriptor, bytes.baseAddress?.advanced(by: offset), bytes.count - offset)
            }
            guard sent >= 0 else {
                guard Errno(Int32(sent)) == .again else { return fail(.broken) }
                break
            }
            offset += sent
        }
        if isFinishing, offset == output.count { Glibc.shutdown(descriptor, Int32(SHUT_WR)) }
        expect()
    }

    private func expect() {
        var wanted: EventLoop.Interest = .readable
        if offset < output.count { wanted.insert(.writable) }
        guard let registration, wanted != registeredEvents else { return }
        registeredEvents = wanted
        try? loop.change(registration, to: wanted)
    }
}
