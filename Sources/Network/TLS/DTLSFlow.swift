// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import LinuxIO

/// DTLS upon datagrams: each message is one record in a datagram of its own; confined to the thread of its loop.
///
/// What is not the peer's, or came before, is dropped without a word (RFC 6347 sections 4.1.2.6 and 4.1.2.7). It reads
/// ahead of the program by one message: a peer that missed the end of the handshake gets it again (section 4.2.4), also
/// while nobody receives.
final class DTLSFlow: TLSFlow {
    /// What was read ahead.
    private var ahead: Result<FlowInput, NWError>?
    /// What UDP and IP say of the datagram that came last.
    private var datagramMetadata: [any NWProtocolMetadata] = []
    private var fed = 0

    /// What a record holds at most, in bytes (RFC 6347 section 4.1).
    private static let longestContent = 1 << 14
    /// How many datagrams in a row may be nothing, before other flows are served; as many as a ``PeerFlow`` holds.
    private static let mostFed = 1024

    /// How long a datagram of the handshake may be, in bytes: what the path is known to carry, at most what any path
    /// of IPv6 does (RFC 8200 section 5: 1280, less both headers), because one that swallows long ones may not say so.
    static func longestHandshakeDatagram(upon flow: any Flow) -> Int32 {
        Int32(max(280, min(flow.maximumDatagramSize, 1280 - 48)))
    }

    override var isStream: Bool { false }

    override var maximumDatagramSize: Int { min(session.room(in: flow.maximumDatagramSize), Self.longestContent) }

    // MARK: - Reading

    override func feed() throws(NWError) -> Bool {
        guard fed < Self.mostFed, case .message(let datagram)? = try flow.read(upTo: ReadBuffer.capacity) else {
            fed = 0
            return false
        }
        fed += 1
        datagramMetadata = datagram.metadata
        session.feed(datagram.bytes)
        return true
    }

    override func read(upTo limit: Int) throws(NWError) -> FlowInput? {
        if let ahead {
            self.ahead = nil
            return try ahead.get()
        }
        fed = 0
        guard let arrived = try super.read(upTo: Self.longestContent) else { return nil }
        guard case .bytes(let bytes) = arrived else { return arrived }
        return .message(ReceivedMessage(bytes: bytes, metadata: datagramMetadata))
    }

    override func expect(reading: Bool, writing: Bool) {
        if !reading, ahead == nil {
            do throws(NWError) {
                ahead = try read(upTo: Self.longestContent).map { .success($0) }
            } catch {
                ahead = .failure(error)
            }
        }
        super.expect(reading: reading || ahead == nil, writing: writing)
    }

    // MARK: - Writing

    override func refusal(of message: Data, with metadata: [any NWProtocolMetadata]) -> NWError? {
        // OpenSSL sends no empty records.
        if message.isEmpty { return .posix(.EINVAL) }
        return message.count > Self.longestContent ? .posix(.EMSGSIZE) : nil
    }

    override func write(_ bytes: Data) throws(NWError) -> Int? {
        try flush()
        guard output.isEmpty else { return nil }
        try session.write(bytes)
        try send()
        return bytes.count
    }

    override func flush() throws(NWError) {
        repeat {
            do throws(NWError) {
                try send()
            } catch {
                // What cannot leave now counts as lost in transit.
                guard error.concernsOneDatagram else { throw error }
            }
        } while output.isEmpty && loadNext()
        try flow.flush()
    }

    /// Sends one datagram, if there is room.
    private func send() throws(NWError) {
        guard !output.isEmpty || loadNext() else { return }
        do throws(NWError) {
            guard try flow.write(output) != nil else { return }
            output = Data()
        } catch {
            output = Data()
            throw error
        }
    }

    private func loadNext() -> Bool {
        output = session.drainOutput()
        return !output.isEmpty
    }
}
