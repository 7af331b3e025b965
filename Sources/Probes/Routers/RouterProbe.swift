// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import Glibc
public import LinuxIO

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
    private let completion: (RouterResult) -> Void
    private var conversation: LinkConversation?
    private var routers: [RouterAdvertisement] = []

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
        self.completion = completion
        let question = RouterAdvertisement.solicitation(from: sender)
        let index = UInt32(clamping: index)
        let manner = LinkConversation.Manner(
            open: { nwp_router_open(index) },
            ask: { descriptor in
                let group = RouterAdvertisement.group.bytes
                return unsafe question.withUnsafeBytes { bytes in
                    unsafe nwp_neighbor_send(descriptor, index, group, bytes.baseAddress, bytes.count)
                }
            },
            receive: { [weak self] descriptor, buffer in self?.receive(descriptor, &buffer) ?? -Int(EAGAIN) }
        )
        conversation = LinkConversation(manner, limit: limit, loop: loop) { [weak self] end in self?.finish(end) }
    }

    /// Ends it without a result.
    public func cancel() { conversation?.cancel() }

    private func receive(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
        var hopLimit: Int32 = -1
        var source = [UInt8](repeating: 0, count: 16)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe nwp_router_receive(descriptor, bytes.baseAddress, bytes.count, &hopLimit, &source)
        }
        // A link that fails now may still answer: only a question that cannot be sent ends it.
        guard count >= 0 else { return -Int(EAGAIN) }
        let message = Array(buffer[..<count])
        if let address = IPAddress(bytes: source.span),
            let router = RouterAdvertisement(message.span, from: address, hopLimit: Int(hopLimit))
        {
            take(router)
        }
        return count
    }

    /// The last word of each counts.
    private func take(_ router: RouterAdvertisement) {
        if let place = routers.firstIndex(where: { $0.source == router.source }) {
            routers[place] = router
        } else if routers.count < LinkConversation.most {
            routers.append(router)
        }
    }

    private func finish(_ end: LinkConversation.End) {
        switch end {
        case .starved where routers.isEmpty: completion(.failed(detail: Starvation.text))
        case .timeOver, .starved: completion(.advertisements(routers))
        case .failed(let error): completion(.failed(detail: error.description))
        case .notPermitted:
            let advice = "soliciting routers needs CAP_NET_RAW: \(Capability.advice("cap_net_raw"))"
            completion(.notAssessed(advice: advice))
        }
    }
}
