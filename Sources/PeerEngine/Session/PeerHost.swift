// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetworkShims
internal import Glibc
package import LinuxIO

/// One peer on this machine: its port, those who knock there, and its sessions; confined to the thread of its loop.
package final class PeerHost {
    package let identity: PeerIdentity
    package let name: String
    /// Distinguishes this start of the program from others.
    let boot = Hexadecimal.text(Array(SessionID().bytes.prefix(4)))
    let loop: EventLoop
    /// What reads and writes files beside the loop.
    let files: Worker
    private let buffer = LinkBuffer()
    private var lastNumber: UInt64 = 0
    private let port: PeerPort
    private var unauthenticated = UnauthenticatedPeers()
    private var inbound: [UInt64: InboundHandshake] = [:]
    private var lastInboundID: UInt64 = 0
    private var advertisers: [WeakReference<PeerAdvertiser>] = []
    private var sessions: [SessionID: WeakReference<PeerSession>] = [:]
    /// Who may send datagrams, by what they are known by; two may happen to have the same.
    private var receivers: [UInt32: [WeakReference<PeerLink>]] = [:]

    private struct WeakReference<Object: AnyObject> {
        weak var object: Object?
    }

    /// Opens the port.
    /// - Throws: Why there is none.
    package init(_ identity: PeerIdentity, name: String, loop: EventLoop) throws(Errno) {
        self.identity = identity
        self.name = name
        self.loop = loop
        files = Worker(loop: loop)
        port = try PeerPort(loop: loop, buffer: buffer)
        port.onConnection = { [unowned self] descriptor, end in accept(descriptor, from: end) }
        unsafe port.onDatagram = { [unowned self] bytes, _ in unsafe receive(Array(bytes)) }
    }

    /// The addresses of this machine that can be used.
    package var addresses: Set<PeerAddress> = []

    /// Those that others can use, in an order.
    package var shownAddresses: [PeerAddress] {
        addresses.filter { !$0.address.isLoopback }.sorted { ($0.address, $0.scope) < ($1.address, $1.scope) }
    }

    /// The interfaces on which a link-local address may be.
    package var scopes: [UInt32] { Set(addresses.map(\.scope)).subtracting([0]).sorted() }

    /// Where it is called, on each of its addresses.
    package var portNumber: UInt16 { port.number }

    /// A number that no other connection has.
    func makeNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    var info: PeerInfo { PeerInfo(key: identity.key, name: name) }

    func makeLink(_ descriptor: Int32, isDialer: Bool, expected: PeerKey?) -> PeerLink? {
        try? PeerLink(
            owning: descriptor,
            isDialer: isDialer,
            expected: expected,
            identity: identity,
            hello: .hello(
                name: name,
                port: port.number,
                addresses: Array(shownAddresses.map(\.address).prefix(ControlMessage.maximumAddresses))
            ),
            loop: loop,
            buffer: buffer
        )
    }

    // MARK: - Datagrams

    /// Lets a connection send and get content.
    func admitContent(_ link: PeerLink) {
        link.admitContent { [weak self] bytes, end in self?.port.send(bytes, to: end) }
        receivers = receivers.compactMapValues { links in
            let living = links.filter { $0.object != nil }
            return living.isEmpty ? nil : living
        }
        if let tag = link.datagrams?.receivingTag { receivers[tag, default: []].append(WeakReference(object: link)) }
    }

    private func receive(_ datagram: [UInt8]) {
        guard let tag = DatagramCodec.tag(of: datagram) else { return }
        for link in receivers[tag] ?? [] { link.object?.receive(datagram: datagram) }
    }

    // MARK: - Who is here

    func add(_ advertiser: PeerAdvertiser) { advertisers.append(WeakReference(object: advertiser)) }

    func remove(_ advertiser: PeerAdvertiser) {
        advertisers.removeAll { $0.object == nil || $0.object === advertiser }
    }

    /// Who receives invitations to this type: the one that came last.
    func advertiser(of serviceType: String) -> PeerAdvertiser? {
        advertisers.last { $0.object?.serviceType == serviceType }?.object
    }

    func add(_ session: PeerSession) { sessions[session.id] = WeakReference(object: session) }

    func remove(_ id: SessionID) { sessions[id] = nil }

    func session(_ id: SessionID) -> PeerSession? { sessions[id]?.object }

    /// Whether this peer has an invitation of ours, or will have it soon.
    func hasInvited(_ key: PeerKey, serviceType: String) -> Bool {
        sessions.values.contains { $0.object?.hasInvited(key, serviceType: serviceType) == true }
    }

    func cancelInvitations(of key: PeerKey, serviceType: String) {
        for session in sessions.values { session.object?.cancelInvitation(of: key, serviceType: serviceType) }
    }

    /// Refuses what a peer has invited us to, since ours is the one.
    func refuseInvitations(from key: PeerKey, serviceType: String) {
        for handshake in Array(inbound.values) { handshake.refuseInvitation(from: key, serviceType: serviceType) }
    }

    // MARK: - Who knocks

    private func accept(_ descriptor: Int32, from end: nwp_end) {
        lastInboundID += 1
        let id = lastInboundID
        guard let address = PeerAddress(end)?.address else {
            Glibc.close(descriptor)
            return
        }
        switch unauthenticated.admit(id, from: address) {
        case .refused:
            Glibc.close(descriptor)
            return
        case .replacing(let other): inbound.removeValue(forKey: other)?.drop()
        case .admitted: break
        }
        guard let link = makeLink(descriptor, isDialer: false, expected: nil) else { return forgetUnauthenticated(id) }
        let handshake = InboundHandshake(id, link, host: self)
        inbound[id] = handshake
        handshake.start()
    }

    /// One has said what it wants, or has gone: it counts no more among those that have not.
    func forgetUnauthenticated(_ id: UInt64) { unauthenticated.forget(id) }

    func allowsInvitation(from key: PeerKey) -> Bool {
        unauthenticated.allowsInvitation(from: key, at: loop.clock.boot)
    }

    func answered(_ key: PeerKey, isAccepted: Bool) { unauthenticated.answered(key, isAccepted: isAccepted) }

    /// One is somebody else's from now on, or has gone.
    func forget(_ id: UInt64) {
        forgetUnauthenticated(id)
        inbound[id] = nil
    }
}
