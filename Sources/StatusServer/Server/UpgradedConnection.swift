// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// Carries bytes between a connection that is no longer HTTP and those who took it over.
///
/// The descriptor stays the library's, which closes it when it is given back. It is any stream socket: nothing here
/// assumes TCP.
final class UpgradedConnection {
    /// How much is read or written at a time, in bytes.
    private static let block = 16_384
    /// How many blocks before others have their turn.
    private static let blocks = 16
    /// How long a client may take to end its side, so that what was sent last is not lost to a reset.
    private static let farewell = Duration.seconds(2)

    private let descriptor: Int32
    private let stream: OutgoingStream
    private let receive: ([UInt8]) -> Void
    private let loop: EventLoop
    private let shutDown: () -> Void
    private var giveBack: (() -> Void)?
    private var watch: EventLoop.Registration?
    private var timer: EventLoop.Timer?
    private var isWaitingForRoom = false
    private var isFlushPlanned = false
    private var isFlushing = false
    private var isFinished = false
    /// What was taken from the stream and not by the kernel.
    private var unsent: ArraySlice<UInt8> = []

    /// Takes a connection over.
    /// - Parameters:
    ///   - descriptor: Where bytes come and go.
    ///   - upgrade: Who takes it over.
    ///   - early: What the client sent before it was asked to go on.
    ///   - loop: Where it is served.
    ///   - shutDown: Drops what the client has not read, wherever its own socket is.
    ///   - giveBack: Called once, when nobody uses the descriptor any more.
    init(
        _ descriptor: Int32,
        upgrade: HTTPUpgrade,
        early: [UInt8],
        loop: EventLoop,
        shutDown: @escaping () -> Void,
        giveBack: @escaping () -> Void
    ) {
        self.descriptor = descriptor
        self.loop = loop
        self.shutDown = shutDown
        self.giveBack = giveBack
        stream = upgrade.stream
        receive = upgrade.receive
        let flags = fcntl(descriptor, F_GETFL)
        if flags >= 0 { _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
        watch = try? loop.register(descriptor, for: .readable) { [weak self] readiness in self?.serve(readiness) }
        stream.wake = { [weak self] in self?.plan() }
        stream.breakOff = { [weak self] in self?.cut() }
        // The library is in the middle of its turn, and must not be called back from here.
        loop.deferring { [weak self] in
            guard let self, self.giveBack != nil else { return }
            guard watch != nil else { return cut() }
            if !early.isEmpty { receive(early) }
            flush()
        }
    }

    /// Ends it at once; what the kernel has taken may still arrive.
    func close() {
        guard let giveBack else { return }
        self.giveBack = nil
        if let watch { loop.unregister(watch) }
        if let timer { loop.cancel(timer) }
        watch = nil
        timer = nil
        unsent = []
        stream.close()
        giveBack()
    }

    private func cut() {
        guard giveBack != nil else { return }
        shutDown()
        close()
    }

    /// Writes once for everything that is queued while the events in hand are handled.
    private func plan() {
        guard !isFlushPlanned, !isFlushing else { return }
        isFlushPlanned = true
        loop.deferring { [weak self] in
            guard let self else { return }
            isFlushPlanned = false
            flush()
        }
    }

    private func serve(_ readiness: EventLoop.Readiness) {
        if readiness.contains(.writable) { flush() }
        if !readiness.isDisjoint(with: [.readable, .peerClosed, .failed]) { read() }
    }

    private func read() {
        for _ in 0..<Self.blocks where giveBack != nil {
            var result = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.block) { buffer, count in
                result = unsafe recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if result < 0 { result = -Int(errno) }
                count = max(0, result)
            }
            switch result {
            case 1...: if !isFinished { receive(bytes) }
            case -Int(EAGAIN), -Int(EINTR): return
            default: return close()
            }
            guard result == Self.block else { return }
        }
    }

    private func flush() {
        guard giveBack != nil, !isFlushing, !isFinished else { return }
        isFlushing = true
        defer { isFlushing = false }
        for _ in 0..<Self.blocks {
            if unsent.isEmpty {
                switch take() {
                case .bytes: break
                case .wait: return wantRoom(false)
                case .end: return finish()
                case .broken: return cut()
                }
            }
            guard write() else { return }
        }
        wantRoom(true)
    }

    private func take() -> OutgoingStream.Read {
        var result = OutgoingStream.Read.wait
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.block) { buffer, count in
            result = unsafe stream.read(into: UnsafeMutableRawBufferPointer(buffer))
            if case .bytes(let taken) = result { count = taken }
        }
        unsent = bytes[...]
        return result
    }

    /// - Returns: `false` when there is no room, or nobody.
    private func write() -> Bool {
        let sent = unsafe unsent.withUnsafeBytes { unsafe nwp_send(descriptor, $0.baseAddress, $0.count) }
        if sent >= 0 {
            unsent = unsent.dropFirst(sent)
            return true
        }
        if sent == -Int(EAGAIN) { wantRoom(true) } else { close() }
        return false
    }

    private func wantRoom(_ isWanted: Bool) {
        guard isWanted != isWaitingForRoom, let watch else { return }
        isWaitingForRoom = isWanted
        try? loop.change(watch, to: isWanted ? [.readable, .writable] : .readable)
    }

    /// Everything is sent: nothing the client still says matters, only that it ends.
    private func finish() {
        isFinished = true
        wantRoom(false)
        shutdown(descriptor, Int32(SHUT_WR))
        timer = loop.schedule(after: Self.farewell) { [weak self] in self?.close() }
    }
}
