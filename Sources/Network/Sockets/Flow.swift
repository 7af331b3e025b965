// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LinuxIO

/// An open flow to one peer; confined to the thread of its loop.
protocol Flow: AnyObject {
    /// Whether it is a stream; else content goes in messages.
    var isStream: Bool { get }
    /// Our end; `nil` for unix sockets.
    var local: SocketEnd? { get }
    /// The peer's end; `nil` for unix sockets.
    var remote: SocketEnd? { get }
    /// The largest content of a datagram in bytes; 0 for a stream.
    var maximumDatagramSize: Int { get }
    /// The metadata of the transport.
    var metadata: [any NWProtocolMetadata] { get }
    /// What protocols upon the transport did until content could be exchanged, the lowest first.
    var handshakes: [HandshakeRecord] { get }
    /// What the transport has counted so far; `nil` when it is gone.
    var transport: TransferCounts.Transport? { get }
    /// Called when something that was expected can be done, or the flow broke.
    var onReadiness: (EventLoop.Readiness) -> Void { get set }

    /// Lets the protocols of the flow agree with those of the peer.
    /// - Returns: Whether content can be exchanged; `false` when the peer has to answer first.
    func establish() throws(NWError) -> Bool
    /// Reads without waiting.
    /// - Returns: `nil` when nothing has come.
    func read(upTo limit: Int) throws(NWError) -> FlowInput?
    /// Writes without waiting; a datagram goes as a whole.
    /// - Returns: How many bytes went; `nil` when there is no room.
    func write(_ bytes: Data) throws(NWError) -> Int?
    /// As ``write(_:)``, with what the program wants protocols to do with a message.
    func write(_ message: Data, with metadata: [any NWProtocolMetadata]) throws(NWError) -> Int?
    /// Why a message cannot be sent, without harm to others; `nil` when it can.
    func refusal(of message: Data, with metadata: [any NWProtocolMetadata]) -> NWError?
    /// Whether something may have come that ``onReadiness`` does not report any more.
    var mayHoldInput: Bool { get }
    /// Whether something was accepted by ``write(_:)`` that has not left yet.
    var hasOutput: Bool { get }
    /// Writes what was accepted before, as far as there is room.
    func flush() throws(NWError)
    /// The pending error, once; reading does not report it after the peer's end.
    func pendingError() -> NWError?
    /// Says what ``onReadiness`` is waited for with.
    func expect(reading: Bool, writing: Bool)
    /// Shuts down writing.
    func finishWriting()
    /// Closes the flow in its protocol, once the program is done and everything was sent.
    /// - Returns: Whether nothing more is to be waited for; ``onReadiness`` tells when to call again.
    func finishClose() -> Bool
    /// Closes the socket; with `isAbrupt` by a reset.
    func close(isAbrupt: Bool)
}

extension Flow {
    var handshakes: [HandshakeRecord] { [] }
    func establish() throws(NWError) -> Bool { true }
    func pendingError() -> NWError? { nil }
    var hasOutput: Bool { false }
    func flush() throws(NWError) {}
    func write(_ message: Data, with metadata: [any NWProtocolMetadata]) throws(NWError) -> Int? { try write(message) }
    func refusal(of message: Data, with metadata: [any NWProtocolMetadata]) -> NWError? { nil }
    var mayHoldInput: Bool { false }
    func finishClose() -> Bool { true }
}

/// What a flow read.
enum FlowInput {
    /// Bytes of a stream.
    case bytes(Data)
    /// A message, such as a datagram.
    case message(ReceivedMessage)
    /// The peer sends no more.
    case end
}

/// Memory that reads go into before they are copied to what programs get; one for each thread of engines.
@safe final class ReadBuffer {
    private let bytes: UnsafeMutableRawBufferPointer

    /// How many bytes fit: more than any datagram has.
    static let capacity = 1 << 18

    init() { unsafe bytes = .allocate(byteCount: Self.capacity, alignment: 16) }

    deinit { unsafe bytes.deallocate() }

    /// Has `body` fill in at most `limit` bytes; it returns their number, or a negative errno.
    func fill(upTo limit: Int, _ body: (UnsafeMutableRawPointer, Int) -> Int) throws(NWError) -> Data? {
        guard let start = unsafe bytes.baseAddress else { return nil }
        let count = unsafe body(start, min(limit, Self.capacity))
        guard count >= 0 else {
            let error = Errno(Int32(count))
            guard error != .again else { return nil }
            throw NWError(error)
        }
        return unsafe Data(bytes: start, count: count)
    }
}
