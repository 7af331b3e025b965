// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import OrderedJSON

/// Where a session can be reached, for programs that find one another by other means.
package struct PeerEndpoint: Hashable, Sendable {
    package let peer: PeerInfo
    package let session: SessionID
    package let addresses: [PeerAddress]
    package let port: UInt16

    /// As it is given to others: JSON with the members `key`, `name`, `session`, `port` and `addresses`.
    package var bytes: [UInt8] {
        let member = ControlMessage.Member(
            key: peer.key,
            name: peer.name,
            session: session,
            port: port,
            addresses: addresses.prefix(ControlMessage.maximumAddresses).map(\.address)
        )
        return (try? OrderedJSONEncoder().encode(JSONValue.object(member.object))) ?? []
    }

    package init(peer: PeerInfo, session: SessionID, addresses: [PeerAddress], port: UInt16) {
        self.peer = peer
        self.session = session
        self.addresses = addresses
        self.port = port
    }

    /// Reads what another one gave, which may be anything; `scopes` are the interfaces on which a link-local address may
    /// be, since others cannot know them.
    package init?(_ bytes: [UInt8], scopes: [UInt32]) {
        guard bytes.count <= Frame.maximumPayload,
            let value = try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 8, size: 1 << 17)),
            let member = ControlMessage.Member(value)
        else { return nil }
        self.init(
            peer: PeerInfo(key: member.key, name: member.name),
            session: member.session,
            addresses: PeerAddress.expand(member.addresses, scopes: scopes),
            port: member.port
        )
    }
}
