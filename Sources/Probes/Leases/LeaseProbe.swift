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
    private let message: LeaseMessage
    private let completion: (LeaseResult) -> Void
    private var conversation: LinkConversation?
    private var offers: [LeaseOffer] = []

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
        self.completion = completion
        let message = LeaseMessage(transaction: .random(in: .min ... .max), sender: sender)
        self.message = message
        let index = UInt32(clamping: index)
        let manner = LinkConversation.Manner(
            open: { nwp_lease_open(index) },
            ask: { descriptor in
                unsafe message.packet.withUnsafeBytes { bytes in
                    unsafe nwp_lease_broadcast(descriptor, index, bytes.baseAddress, bytes.count)
                }
            },
            receive: { [weak self] descriptor, buffer in self?.receive(descriptor, &buffer) ?? -Int(EAGAIN) }
        )
        conversation = LinkConversation(manner, limit: limit, loop: loop) { [weak self] end in self?.finish(end) }
    }

    /// Ends it without a result.
    public func cancel() { conversation?.cancel() }

    private func receive(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
        var arrival = nwp_probe_arrival()
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe nwp_probe_receive(descriptor, bytes.baseAddress, bytes.count, &arrival)
        }
        // A link that fails now may still answer: only a question that cannot be sent ends it.
        guard count >= 0 else { return -Int(EAGAIN) }
        let packet = Array(buffer[..<count])
        if let offer = message.offer(in: packet.span), offers.count < LinkConversation.most,
            !offers.contains(where: { $0.server == offer.server })
        {
            offers.append(offer)
        }
        return count
    }

    private func finish(_ end: LinkConversation.End) {
        switch end {
        case .starved where offers.isEmpty: completion(.failed(detail: Starvation.text))
        case .timeOver, .starved: completion(.offers(offers))
        case .failed(let error): completion(.failed(detail: error.description))
        case .notPermitted:
            let advice = "querying DHCP servers needs CAP_NET_RAW: \(Capability.advice("cap_net_raw"))"
            completion(.notAssessed(advice: advice))
        }
    }
}
