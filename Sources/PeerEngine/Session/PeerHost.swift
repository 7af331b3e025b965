// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
internal import Glibc
package import LinuxIO

/// One peer on this machine: its port, those who knock there, and its sessions; confined to the thread of its loop.
package final class PeerHost {
    package let identity: PeerIdentity
    package let name: String
    /// Tells this start of the program from others.
    let boot = Hexadecimal.text(Array(SessionID().bytes.prefix(4)))
    let loop: EventLoop
    private let buffer = LinkBuffer()
    private let port: PeerPort
    private var strangers = Strangers()
    private var arrivals: [UInt64: PeerArrival] = [:]
    private var lastArrival: UInt64 = 0
    private var advertisers: [String: WeakReference<PeerAdvertiser>] = [:]
    private var sessions: [SessionID: WeakReference<PeerSession>] = [:]

    private struct WeakReference<Object: AnyObject> {
        weak var object: Object?
    }

    /// Opens the port.
    /// - Throws: Why there is none.
    package init(_ identity: PeerIdentity, name: String, loop: EventLoop) throws(Errno) {
        self.identity = identity
        self.name = name
        self.loop = loop
        port = try PeerPort(loop: loop, buffer: buffer)
        port.onConnection = { [unowned self] descriptor, end in accept(descriptor, from: end) }
    }

    /// Where it is called, on each of its addresses.
    package var portNumber: UInt16 { port.number }

    var info: PeerInfo { PeerInfo(key: identity.key, name: name) }

    func makeLink(_ descriptor: Int32, isDialer: Bool, expected: PeerKey?) -> PeerLink? {
        try? PeerLink(
            owning: descriptor,
            isDialer: isDialer,
            expected: expected,
            identity: identity,
            hello: .hello(name: name, port: port.number),
            loop: loop,
            buffer: buffer
        )
    }

    // MARK: - Who is here

    func add(_ advertiser: PeerAdvertiser) { advertisers[advertiser.serviceType] = WeakReference(object: advertiser) }

    func remove(_ advertiser: PeerAdvertiser) {
        guard advertisers[advertiser.serviceType]?.object === advertiser else { return }
        advertisers[advertiser.serviceType] = nil
    }

    func advertiser(of serviceType: String) -> PeerAdvertiser? { advertisers[serviceType]?.object }

    func add(_ session: PeerSession) { sessions[session.id] = WeakReference(object: session) }

    func remove(_ id: SessionID) { sessions[id] = nil }

    func session(_ id: SessionID) -> PeerSession? { sessions[id]?.object }

    /// Whether an invitation of ours to this peer is under way.
    func isInviting(_ key: PeerKey, serviceType: String) -> Bool {
        sessions.values.contains { $0.object?.isInviting(key, serviceType: serviceType) == true }
    }

    func cancelInvitations(of key: PeerKey, serviceType: String) {
        for session in sessions.values { session.object?.cancelInvitation(of: key, serviceType: serviceType) }
    }

    // MARK: - Who knocks

    private func accept(_ descriptor: Int32, from end: nwp_end) {
        lastArrival += 1
        let id = lastArrival
        guard let address = PeerAddress(end)?.address else {
            Glibc.close(descriptor)
            return
        }
        switch strangers.admit(id, from: address) {
        case .refused:
            Glibc.close(descriptor)
            return
        case .replacing(let other): arrivals.removeValue(forKey: other)?.drop()
        case .admitted: break
        }
        guard let link = makeLink(descriptor, isDialer: false, expected: nil) else { return strangers.forget(id) }
        let arrival = PeerArrival(id, link, host: self)
        arrivals[id] = arrival
        arrival.start()
    }

    /// One has said what it wants, or has gone.
    func isKnown(_ id: UInt64) { strangers.forget(id) }

    func allowsInvitation(from key: PeerKey) -> Bool { strangers.allowsInvitation(from: key, at: loop.clock.boot) }

    func answered(_ key: PeerKey, isAccepted: Bool) { strangers.answered(key, isAccepted: isAccepted) }

    /// One is somebody else's from now on, or has gone.
    func forget(_ id: UInt64) {
        strangers.forget(id)
        arrivals[id] = nil
    }
}
