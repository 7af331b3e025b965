// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import FoundationEssentials

/// Lets clients of DTLS in once they have shown that datagrams reach them (RFC 6347 section 4.2.1); confined to the
/// thread of its loop.
///
/// It answers a client's first word with a shorter one, a cookie made of its address and a secret of this object, and
/// keeps nothing: whoever sends with another's address costs no memory, and one packet for a longer one.
final class DTLSDoor {
    private let session: TLSSession

    /// Makes one for a listener.
    /// - Throws: ``errSSLBadConfiguration`` when the options make no sense.
    init(_ options: sec_protocol_options_t.Values) throws(NWError) {
        // It never goes so far that a long datagram is to be sent.
        session = try TLSSession(options, peerName: nil, isServer: true, longestDatagram: 280)
    }

    /// Evaluates the first datagram of an unknown peer.
    /// - Returns: Whether it is a client's, with the cookie that was made for it; `answer` is called with the cookie
    ///   where it has none.
    func admits(_ datagram: Data, from peer: SocketEnd, answer: (Data) -> Void) -> Bool {
        let port = [UInt8(peer.port >> 8), UInt8(truncatingIfNeeded: peer.port)]
        let isAdmitted = session.admits(datagram, from: peer.address.bytes + port)
        while case let cookie = session.drainOutput(), !cookie.isEmpty { answer(cookie) }
        return isAdmitted
    }
}
