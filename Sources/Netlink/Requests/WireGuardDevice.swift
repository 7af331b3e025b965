// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CNetlink

/// The peers of a WireGuard interface, and where its own packets go (linux/wireguard.h).
public struct WireGuardDevice: Hashable, Sendable {
    public struct Peer: Hashable, Sendable {
        /// The address its packets are sent to; `nil` until one is configured or the peer has sent something.
        public var endpoint: IPAddress?
        /// The index of the interface of a link-local endpoint.
        public var scope: Int?
        /// The destinations that are sent to it.
        public var allowed: [IPPrefix]

        public init(endpoint: IPAddress? = nil, scope: Int? = nil, allowed: [IPPrefix] = []) {
            self.endpoint = endpoint
            self.scope = scope
            self.allowed = allowed
        }
    }

    /// The fwmark of its own packets; 0 without one.
    public var mark: UInt32
    /// The UDP port that its own packets come from.
    public var port: UInt16
    public var peers: [Peer]

    public init(mark: UInt32 = 0, port: UInt16 = 0, peers: [Peer] = []) {
        self.mark = mark
        self.port = port
        self.peers = peers
    }

    /// What becomes of packets to a destination: they go to the peer with the longest prefix.
    ///
    /// A device that was moved here sends from the network namespace where it was created: its endpoint says nothing then.
    public func answer(for destination: IPAddress, isLocal: Bool = true) -> TunnelAnswer {
        var best: (length: Int, peer: Peer)?
        for peer in peers {
            for prefix in peer.allowed where prefix.contains(destination) && prefix.length > best?.length ?? -1 {
                best = (prefix.length, peer)
            }
        }
        guard let peer = best?.peer else { return .refused(.noPeer) }
        guard let endpoint = peer.endpoint else { return .refused(.noEndpoint) }
        return isLocal ? .sent(to: endpoint, by: peer.scope, mark: mark) : .unknown
    }

    /// Reads the device of an interface in the calling thread's network namespace.
    /// - Throws: ``NetlinkError``; without `CAP_NET_ADMIN` that it is refused.
    public static func read(index: Int) throws(NetlinkError) -> WireGuardDevice {
        // A peer's part of a message is at most as long as the kernel's buffer of a dump.
        var socket = try NetlinkSocket(family: NETLINK_GENERIC, capacity: 65_536)
        try socket.limitWaiting(to: .seconds(2))
        let question = Question.wireGuardDevice(index: index, family: try socket.genericFamily("wireguard"))
        for attempt in 2..<5 as Range<UInt32> {
            var device = WireGuardDevice()
            var last: [UInt8] = []
            let isConsistent = try socket.exchange(question, sequence: attempt) { _, body in
                device.add(body, continuing: &last)
            }
            if isConsistent { return device }
        }
        throw .malformedAnswer(request: MessageType(rawValue: question.type))
    }

    /// Adds one message of a device, which may go on with the peer that the one before ended with.
    mutating func add(_ body: Span<UInt8>, continuing last: inout [UInt8]) {
        var attributes = AttributeReader(body, from: WireGuardAttribute.header)
        while attributes.advance() {
            switch attributes.kind {
            case WireGuardAttribute.mark: mark = attributes.word
            case WireGuardAttribute.port where attributes.payload.count >= 2: port = attributes.payload.host16(at: 0)
            case WireGuardAttribute.peers:
                var list = AttributeReader(attributes.payload)
                while list.advance() { addPeer(list.payload, continuing: &last) }
            default: break
            }
        }
    }

    private mutating func addPeer(_ nested: Span<UInt8>, continuing last: inout [UInt8]) {
        var peer = Peer()
        var key: [UInt8] = []
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch attributes.kind {
            case WireGuardAttribute.publicKey: key = attributes.payload.array
            case WireGuardAttribute.endpoint:
                peer.endpoint = Self.address(ofSocket: attributes.payload)
                let scope = attributes.payload.count >= 28 ? attributes.payload.index(at: 24) : 0
                peer.scope = peer.endpoint?.isLinkLocal == true && scope > 0 ? scope : nil
            case WireGuardAttribute.allowed:
                var list = AttributeReader(attributes.payload)
                while list.advance() {
                    if let prefix = Self.prefix(list.payload) { peer.allowed.append(prefix) }
                }
            default: break
            }
        }
        if key == last, !peers.isEmpty {
            peers[peers.count - 1].allowed += peer.allowed
        } else {
            peers.append(peer)
        }
        last = key
    }

    /// Reads a `struct sockaddr_in` or `sockaddr_in6`.
    private static func address(ofSocket bytes: Span<UInt8>) -> IPAddress? {
        guard bytes.count >= 16 else { return nil }
        switch bytes.host16(at: 0) {
        case 2: return IPAddress(bytes: bytes.extracting(4..<8))
        case 10 where bytes.count >= 24: return IPAddress(bytes: bytes.extracting(8..<24))
        default: return nil
        }
    }

    private static func prefix(_ nested: Span<UInt8>) -> IPPrefix? {
        var (address, length): (IPAddress?, Int?)
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch attributes.kind {
            case WireGuardAttribute.allowedAddress: address = attributes.address
            case WireGuardAttribute.allowedLength: length = Int(attributes.byte)
            default: break
            }
        }
        guard let address, let length, length <= address.family.bitWidth else { return nil }
        return IPPrefix(address, length: length)
    }
}

/// The numbers of linux/wireguard.h.
private enum WireGuardAttribute {
    /// The length of `struct genlmsghdr`.
    static let header = 4
    static let port = 6
    static let mark = 7
    static let peers = 8
    static let publicKey = 1
    static let endpoint = 4
    static let allowed = 9
    static let allowedAddress = 2
    static let allowedLength = 3
}

extension Question {
    /// WG_CMD_GET_DEVICE, by WGDEVICE_A_IFINDEX.
    fileprivate static func wireGuardDevice(index: Int, family: UInt16) -> Question {
        var question = Question(type: family, flags: dump, body: [0, 1, 0, 0])
        question.add(1, UInt32(clamping: index))
        return question
    }
}
