// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import Glibc
public import LinuxIO

/// What was found out about who has an address on a link.
public enum NeighborResult: Hashable, Sendable {
    /// Those who say that they have it, with the time of their first answer; two of them are in conflict, none is silence.
    case owners([HardwareAddress: Duration])
    /// The question could not be sent; the reason is as for any probe.
    case failed(ProbeReason, detail: String)
    /// This process may not ask; the text says what would allow it.
    case notAssessed(advice: String)
}

/// Asks a link who has an address, twice within a second, and collects every answer.
///
/// It asks also when the kernel knows a neighbour already: an entry says nothing about now. It sends two ARP requests of
/// 28 bytes, or two neighbour solicitations of 32, and changes no neighbour table: the kernel takes no notice of answers
/// to requests that it did not make, unless `arp_accept` is set. Confined to the loop's thread.
public final class NeighborProbe {
    /// When the second request is sent, for the first may be lost.
    static let retry = Duration.milliseconds(400)

    private let loop: EventLoop
    private let message: NeighborMessage
    private let index: UInt32
    private let completion: (NeighborResult) -> Void
    private let started: Duration
    private var descriptor: Int32 = -1
    private var watch: EventLoop.Watch?
    private var timers: [EventLoop.Timer] = []
    private var owners: [HardwareAddress: Duration] = [:]
    private var isOver = false

    /// Starts to ask.
    /// - Parameters:
    ///   - target: Whose owner is wanted.
    ///   - index: The interface of the link.
    ///   - sender: The interface's hardware address.
    ///   - source: The interface's IPv4 address; `nil` asks without one, as for an address of its own (RFC 5227).
    ///   - limit: How long answers are collected.
    ///   - loop: Where it goes on.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        _ target: IPAddress,
        on index: Int,
        from sender: HardwareAddress,
        source: IPAddress? = nil,
        limit: Duration = .seconds(1),
        loop: EventLoop,
        completion: @escaping (NeighborResult) -> Void
    ) {
        self.loop = loop
        self.index = UInt32(clamping: index)
        self.completion = completion
        started = loop.clock.boot
        var bits: UInt32 = 0
        if case .v4(let own)? = source { bits = own }
        message = NeighborMessage(target: target, sender: sender, source: bits)
        timers = [
            loop.schedule(at: started) { [weak self] in self?.open() },
            loop.schedule(at: started + Self.retry) { [weak self] in self?.ask() },
            loop.schedule(at: started + limit) { [weak self] in self?.end() },
        ]
    }

    deinit { close() }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        close()
    }

    private func open() {
        let result = message.group == nil ? nwp_arp_open(index) : nwp_neighbor_open(index)
        guard result >= 0 else { return fail(Errno(result), isOpening: true) }
        descriptor = result
        do throws(Errno) {
            watch = try loop.watch(result, for: .readable) { [weak self] _ in self?.receive() }
        } catch {
            return fail(error, isOpening: false)
        }
        ask()
    }

    private func ask() {
        guard descriptor >= 0, !isOver else { return }
        let bytes = message.request
        let sent = unsafe bytes.withUnsafeBytes { buffer in
            guard let group = message.group?.bytes else {
                return unsafe nwp_arp_broadcast(descriptor, index, buffer.baseAddress, buffer.count)
            }
            return unsafe nwp_neighbor_send(descriptor, index, group, buffer.baseAddress, buffer.count)
        }
        if sent < 0 && sent != -Int(EAGAIN) { fail(Errno(Int32(sent)), isOpening: false) }
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 1500)
        for _ in 0..<64 {
            var hopLimit: Int32 = -1
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe nwp_probe_receive(descriptor, bytes.baseAddress, bytes.count, &hopLimit)
            }
            if count == -Int(EAGAIN) { return }
            guard count >= 0 else { return fail(Errno(Int32(count)), isOpening: false) }
            let datagram = Array(buffer[..<count])
            guard let owner = message.owner(in: datagram.span, hopLimit: Int(hopLimit)), owners.count < 16 else {
                continue
            }
            if owners[owner] == nil { owners[owner] = loop.clock.boot - started }
        }
    }

    private func end() { finish(.owners(owners)) }

    private func fail(_ error: Errno, isOpening: Bool) {
        if isOpening && (error == .notPermitted || error == .accessDenied) {
            let advice = "asking a link for its neighbours needs CAP_NET_RAW: setcap cap_net_raw+ep"
            return finish(.notAssessed(advice: advice))
        }
        finish(.failed(FailureJudge.reason(of: error), detail: error.description))
    }

    private func finish(_ result: NeighborResult) {
        guard !isOver else { return }
        isOver = true
        close()
        completion(result)
    }

    private func close() {
        if let watch { loop.unwatch(watch) }
        watch = nil
        for timer in timers { loop.cancel(timer) }
        timers = []
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
        descriptor = -1
    }
}
