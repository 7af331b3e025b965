// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims

/// The unreliable messages of a connection: by datagrams, once one has come back; confined to the thread of
/// its loop.
final class DatagramPath {
    /// By what the peer's datagrams are known.
    let receivingTag: UInt32
    private var codec: DatagramCodec
    private let send: ([UInt8]) -> Void
    private var isOpen = false
    /// How many times a probe was sent since an answer came.
    private var unanswered = 0
    private var hasSent = false

    /// After so many questions without an answer datagrams do not get through any more.
    private static let mostUnanswered = 3

    /// - Returns: `nil` when the connection has no keys.
    init?(isDialer: Bool, export: (String, Int) -> [UInt8]?, send: @escaping ([UInt8]) -> Void) {
        let label = { (what: String, isDialer: Bool) in
            "EXPORTER-nwmc datagram \(what) \(isDialer ? "dialer" : "listener")"
        }
        guard let sendingKey = export(label("key", isDialer), 32),
            let receivingKey = export(label("key", !isDialer), 32),
            let sendingTag = export(label("tag", isDialer), 3), let receivingTag = export(label("tag", !isDialer), 3)
        else { return nil }
        let number = { (bytes: [UInt8]) in bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
        let made = DatagramCodec(
            sendingKey: sendingKey,
            receivingKey: receivingKey,
            sendingTag: number(sendingTag),
            receivingTag: number(receivingTag)
        )
        guard let made else { return nil }
        codec = made
        self.receivingTag = number(receivingTag)
        self.send = send
    }

    /// Tests whether datagrams get through, where that is not known or was a while ago; called from time to time.
    func sendCheck() {
        guard !isOpen || hasSent else { return }
        hasSent = false
        if isOpen {
            unanswered += 1
            if unanswered > Self.mostUnanswered { isOpen = false }
        }
        if let probe = codec.probe() { send(probe) }
    }

    /// Sends a message.
    /// - Returns: `false` when it has to go by the connection.
    func send(message: [UInt8]) -> Bool {
        guard isOpen, let datagrams = codec.seal(message) else { return false }
        hasSent = true
        for datagram in datagrams { send(datagram) }
        return true
    }

    /// Receives a datagram of anybody.
    /// - Returns: A message that is whole with it.
    func receive(_ datagram: [UInt8], at now: Duration) -> [UInt8]? {
        switch codec.open(datagram, at: now) {
        case .message(let message): return message
        case .probe:
            if let answer = codec.acknowledgement() { send(answer) }
        case .acknowledgement:
            isOpen = true
            unanswered = 0
        case .incomplete, .refused: break
        }
        return nil
    }
}
