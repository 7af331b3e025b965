// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The events of a session, in the order in which it happens with each peer.
package enum SessionEvent {
    /// A peer is about to be in the session.
    case connecting(PeerInfo)
    /// It is; messages for it go into the outbox.
    case connected(PeerInfo, MessageOutbox)
    /// It is not, or not any more.
    case notConnected(PeerInfo, RefusalReason)
    /// What it says about itself besides its key: DER, the leaf first, or nothing. Nothing goes on before
    /// ``PeerSession/decide(_:connection:isTrusted:)``.
    case certificates(PeerInfo, [[UInt8]], connection: UInt64)
    /// A message; say ``PeerSession/consume(_:bytes:from:)`` when the program has it.
    case message(PeerInfo, [UInt8])
    case transfer(PeerInfo, TransferEvent)
}
