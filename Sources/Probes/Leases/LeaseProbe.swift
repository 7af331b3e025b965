// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import Glibc
public import LinuxIO

/// What was found out about the DHCP servers of a link.
public enum LeaseResult: Hashable, Sendable {
    /// What they offer, one entry a server.
    case offers([LeaseOffer])
    /// The question could not be sent; the text says why.
    case failed(detail: String)
    /// This process may not ask; the text says what would allow it.
    case notAssessed(advice: String)
}

/// Asks the DHCP servers of a link what they would offer, twice, and collects every answer; nothing is leased.
///
/// It sends two DHCPDISCOVER messages of 300 bytes to everybody on the link. Confined to the loop's thread.
public final class LeaseProbe: Cancelable {
    /// When the second question is sent, for the first may be lost.
    private static let retry = Duration.milliseconds(600)

    private let loop: EventLoop
    private let index: UInt32
    private let message: LeaseMessage
    private let completion: (LeaseResult) -> Void
    private var descriptor: Int32 = -1
    private var watch: EventLoop.Watch?
    private var timers: [EventLoop.Timer] = []
    private var offers: [LeaseOffer] = []
    private var isOver = false

    /// Starts to ask.
    /// - Parameters:
    ///   - index: The interface of the link.
    ///   - sender: The interface's hardware address.
    ///   - limit: How long answers are collected; some servers try an address for three seconds before they offer it.
    ///   - loop: Where it goes on.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        on index: Int,
        from sender: HardwareAddress,
        limit: Duration,
        loop: EventLoop,
        completion: @escaping (LeaseResult) -> Void
    ) {
        self.loop = loop
        self.index = UInt32(clamping: index)
        self.completion = completion
        message = LeaseMessage(transaction: .random(in: .min ... .max), sender: sender)
        let started = loop.clock.boot
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
        let result = nwp_lease_open(index)
        guard result >= 0 else {
            let error = Errno(result)
            guard error == .notPermitted || error == .accessDenied else {
                return finish(.failed(detail: error.description))
            }
            return finish(.notAssessed(advice: "asking for DHCP servers needs CAP_NET_RAW: setcap cap_net_raw+ep"))
        }
        descriptor = result
        do throws(Errno) {
            watch = try loop.watch(result, for: .readable) { [weak self] _ in self?.receive() }
        } catch {
            return finish(.failed(detail: error.description))
        }
        ask()
    }

    private func ask() {
        guard descriptor >= 0, !isOver else { return }
        let sent = unsafe message.packet.withUnsafeBytes { bytes in
            unsafe nwp_lease_broadcast(descriptor, index, bytes.baseAddress, bytes.count)
        }
        if sent < 0 && sent != -Int(EAGAIN) { finish(.failed(detail: Errno(Int32(sent)).description)) }
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 1500)
        for _ in 0..<64 {
            var hopLimit: Int32 = -1
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe nwp_probe_receive(descriptor, bytes.baseAddress, bytes.count, &hopLimit)
            }
            guard count >= 0 else { return }
            let packet = Array(buffer[..<count])
            guard let offer = message.offer(in: packet.span), offers.count < 16,
                !offers.contains(where: { $0.server == offer.server })
            else { continue }
            offers.append(offer)
        }
    }

    private func end() { finish(.offers(offers)) }

    private func finish(_ result: LeaseResult) {
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
