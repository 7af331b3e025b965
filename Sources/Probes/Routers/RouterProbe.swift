// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import Glibc
public import LinuxIO

/// What was found out about the routers of a link.
public enum RouterResult: Hashable, Sendable {
    /// What each of them says, one entry a router.
    case advertisements([RouterAdvertisement])
    /// The question could not be sent; the text says why.
    case failed(detail: String)
    /// This process may not ask; the text says what would allow it.
    case notAssessed(advice: String)
}

/// Asks the routers of a link to make themselves known, twice, and collects what they say.
///
/// It sends two router solicitations of 16 bytes; routers answer as they answer any host. Confined to the loop's thread.
public final class RouterProbe: Cancelable {
    /// When the second question is sent, for the first may be lost.
    private static let retry = Duration.milliseconds(600)

    private let loop: EventLoop
    private let index: UInt32
    private let question: [UInt8]
    private let completion: (RouterResult) -> Void
    private var descriptor: Int32 = -1
    private var watch: EventLoop.Watch?
    private var timers: [EventLoop.Timer] = []
    private var routers: [RouterAdvertisement] = []
    private var isOver = false

    /// Starts to ask.
    /// - Parameters:
    ///   - index: The interface of the link.
    ///   - sender: The interface's hardware address.
    ///   - limit: How long answers are collected.
    ///   - loop: Where it goes on.
    ///   - completion: Takes the result, never before this call returns.
    public init(
        on index: Int,
        from sender: HardwareAddress,
        limit: Duration = .milliseconds(1500),
        loop: EventLoop,
        completion: @escaping (RouterResult) -> Void
    ) {
        self.loop = loop
        self.index = UInt32(clamping: index)
        self.completion = completion
        question = RouterAdvertisement.solicitation(from: sender)
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
        let result = nwp_router_open(index)
        guard result >= 0 else {
            let error = Errno(result)
            guard error == .notPermitted || error == .accessDenied else {
                return finish(.failed(detail: error.description))
            }
            return finish(.notAssessed(advice: "asking for routers needs CAP_NET_RAW: setcap cap_net_raw+ep"))
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
        let group = RouterAdvertisement.group.bytes
        let sent = unsafe question.withUnsafeBytes { bytes in
            unsafe nwp_neighbor_send(descriptor, index, group, bytes.baseAddress, bytes.count)
        }
        if sent < 0 && sent != -Int(EAGAIN) { finish(.failed(detail: Errno(Int32(sent)).description)) }
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 1500)
        var source = [UInt8](repeating: 0, count: 16)
        for _ in 0..<64 {
            var hopLimit: Int32 = -1
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe nwp_router_receive(descriptor, bytes.baseAddress, bytes.count, &hopLimit, &source)
            }
            guard count >= 0 else { return }
            let message = Array(buffer[..<count])
            guard let address = IPAddress(bytes: source.span),
                let router = RouterAdvertisement(message.span, from: address, hopLimit: Int(hopLimit))
            else { continue }
            take(router)
        }
    }

    /// The last word of each counts.
    private func take(_ router: RouterAdvertisement) {
        if let place = routers.firstIndex(where: { $0.source == router.source }) {
            routers[place] = router
        } else if routers.count < 16 {
            routers.append(router)
        }
    }

    private func end() { finish(.advertisements(routers)) }

    private func finish(_ result: RouterResult) {
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
