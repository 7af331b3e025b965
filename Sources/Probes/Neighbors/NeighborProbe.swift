// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CLinuxShims
internal import Glibc
public import LinuxIO

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
    private let completion: (NeighborResult) -> Void
    private let started: Duration
    private var conversation: LinkConversation?
    private var owners: [HardwareAddress: Duration] = [:]

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
        self.completion = completion
        started = loop.clock.boot
        var bits: UInt32 = 0
        if case .v4(let own)? = source { bits = own }
        let message = NeighborMessage(target: target, sender: sender, source: bits)
        self.message = message
        let index = UInt32(clamping: index)
        let manner = LinkConversation.Manner(
            open: { message.group == nil ? nwp_arp_open(index) : nwp_neighbor_open(index) },
            ask: { descriptor in
                let bytes = message.request
                return unsafe bytes.withUnsafeBytes { buffer in
                    guard let group = message.group?.bytes else {
                        return unsafe nwp_arp_broadcast(descriptor, index, buffer.baseAddress, buffer.count)
                    }
                    return unsafe nwp_neighbor_send(descriptor, index, group, buffer.baseAddress, buffer.count)
                }
            },
            receive: { [weak self] descriptor, buffer in self?.receive(descriptor, &buffer) ?? -Int(EAGAIN) }
        )
        conversation = LinkConversation(manner, retry: Self.retry, limit: limit, loop: loop) { [weak self] end in
            self?.finish(end)
        }
    }

    /// Ends it without a result.
    public func cancel() { conversation?.cancel() }

    private func receive(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
        var arrival = nwp_probe_arrival()
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe nwp_probe_receive(descriptor, bytes.baseAddress, bytes.count, &arrival)
        }
        guard count >= 0 else { return count }
        let datagram = Array(buffer[..<count])
        let owner = message.owner(in: datagram.span, hopLimit: Int(arrival.hop_limit))
        if let owner, owners.count < LinkConversation.most, owners[owner] == nil {
            owners[owner] = loop.clock.boot - started
        }
        return count
    }

    private func finish(_ end: LinkConversation.End) {
        switch end {
        case .starved where owners.isEmpty: completion(.failed(.resources, detail: Starvation.text))
        case .timeOver, .starved: completion(.owners(owners))
        case .failed(let error):
            guard case .failure(let reason, let detail) = FailureClassifier.outcome(of: error, at: .use) else { return }
            completion(.failed(reason, detail: detail))
        case .notPermitted:
            let advice = "querying neighbours needs CAP_NET_RAW: \(Capability.advice("cap_net_raw"))"
            completion(.notAssessed(advice: advice))
        }
    }
}
