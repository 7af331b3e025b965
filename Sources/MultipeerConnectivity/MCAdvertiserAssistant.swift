// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import Synchronization

/// Advertises a peer, and lets a policy answer the invitations, where Apple's shows a dialog.
public final class MCAdvertiserAssistant: NSObject, Sendable {
    /// Decides about an invitation: who invites, what it says with it, and what is to be called once with the answer.
    public typealias InvitationPolicy = @Sendable (MCPeerID, Data?, @escaping @Sendable (Bool) -> Void) -> Void

    /// The session that those who are accepted come into.
    public let session: MCSession
    /// What is said with the name, to everybody.
    public let discoveryInfo: [String: String]?
    /// The type, such as `chat`.
    public let serviceType: String

    private let advertiser: MCNearbyServiceAdvertiser
    private let hearer = WeakDelegate<any MCAdvertiserAssistantDelegate>()
    private let policy = Mutex<InvitationPolicy?>(nil)
    private let part = Mutex<Part?>(nil)

    /// An assistant that does nothing yet.
    /// - Parameters:
    ///   - serviceType: As ``MCNearbyServiceAdvertiser`` has it; one that is not valid stops the program.
    ///   - info: What is said with the name.
    ///   - session: The session; its peer is advertised.
    public init(serviceType: String, discoveryInfo info: [String: String]?, session: MCSession) {
        self.session = session
        self.serviceType = serviceType
        discoveryInfo = info
        advertiser = MCNearbyServiceAdvertiser(
            peer: session.myPeerID,
            discoveryInfo: info,
            serviceType: serviceType
        )
        super.init()
        let part = Part(self)
        self.part.withLock { $0 = part }
        advertiser.delegate = part
    }

    deinit { advertiser.stopAdvertisingPeer() }

    /// Is notified of an invitation, and of its answer.
    public weak var delegate: (any MCAdvertiserAssistantDelegate)? {
        get { hearer.value }
        set { hearer.value = newValue }
    }

    /// Answers invitations, since there is no dialog on Linux; without one all are declined.
    public var linuxInvitationPolicy: InvitationPolicy? {
        get { policy.withLock { $0 } }
        set { policy.withLock { $0 = newValue } }
    }

    /// Begins to advertise, and to answer.
    public func start() { advertiser.startAdvertisingPeer() }

    /// Ends it.
    public func stop() { advertiser.stopAdvertisingPeer() }

    /// Receives the advertiser's events for the assistant.
    private final class Part: MCNearbyServiceAdvertiserDelegate, Sendable {
        private let assistant: Mutex<WeakAssistant>

        private struct WeakAssistant {
            weak var value: MCAdvertiserAssistant?
        }

        init(_ assistant: MCAdvertiserAssistant) { self.assistant = Mutex(WeakAssistant(value: assistant)) }

        func advertiser(
            _ advertiser: MCNearbyServiceAdvertiser,
            didReceiveInvitationFromPeer peerID: MCPeerID,
            withContext context: Data?,
            invitationHandler: @escaping (Bool, MCSession?) -> Void
        ) {
            guard let assistant = assistant.withLock({ $0.value }) else { return invitationHandler(false, nil) }
            nonisolated(unsafe) let handler = invitationHandler
            assistant.delegate?.advertiserAssistantWillPresentInvitation(assistant)
            let answer: @Sendable (Bool) -> Void = { isAccepted in
                unsafe handler(isAccepted, isAccepted ? assistant.session : nil)
                assistant.delegate?.advertiserAssistantDidDismissInvitation(assistant)
            }
            guard let policy = assistant.linuxInvitationPolicy else { return answer(false) }
            policy(peerID, context, answer)
        }
    }
}

/// Receives invitations, on a queue of the assistant's own; every method may be left out.
public protocol MCAdvertiserAssistantDelegate: AnyObject {
    /// An invitation is about to be given to the policy.
    func advertiserAssistantWillPresentInvitation(_ advertiserAssistant: MCAdvertiserAssistant)
    /// It was answered.
    func advertiserAssistantDidDismissInvitation(_ advertiserAssistant: MCAdvertiserAssistant)
}

extension MCAdvertiserAssistantDelegate {
    /// Does nothing.
    public func advertiserAssistantWillPresentInvitation(_ advertiserAssistant: MCAdvertiserAssistant) {}
    /// Does nothing.
    public func advertiserAssistantDidDismissInvitation(_ advertiserAssistant: MCAdvertiserAssistant) {}
}
