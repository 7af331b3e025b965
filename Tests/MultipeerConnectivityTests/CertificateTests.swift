// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import MultipeerConnectivity
import Network
import TestSupport
import Testing

/// What peers show of themselves besides their keys.
@Suite(.inNamespace) struct CertificateTests {
    private let loop = Namespace.current.loop

    /// An identity of a key of this kind, and its certificate in DER.
    private func identity(_ kind: [String]) throws -> (identity: sec_identity_t, certificate: Data) {
        let scratch = try Scratch()
        let (key, certificate) = (scratch.file("key.pem"), scratch.file("certificate.pem"))
        let subject = ["-subj", "/CN=Ada", "-days", "2", "-nodes", "-keyout", key, "-out", certificate]
        try Command.run(["openssl", "req", "-x509", "-newkey"] + kind + subject)
        try Command.run(["openssl", "x509", "-in", certificate, "-outform", "DER", "-out", scratch.file("der")])
        let read = { (path: String) in try Data(contentsOf: URL(fileURLWithPath: path)) }
        let made = sec_identity_t(linuxCertificates: try read(certificate), privateKey: try read(key))
        return (made, try read(scratch.file("der")))
    }

    private func pair(_ identity: sec_identity_t?) async throws -> (ada: TestPeer, bob: TestPeer) {
        let hosts = try Hosts(2)
        let ada = await TestPeer.make(in: hosts[0]) {
            TestPeer(MCPeerID(displayName: "Ada"), identity: identity.map { [$0] })
        }
        let bob = await TestPeer.make("Bob", in: hosts[1])
        ada.advertiser.startAdvertisingPeer()
        bob.browser.startBrowsingForPeers()
        await loop.eventually("found") { bob.names == ["Ada"] }
        return (ada, bob)
    }

    @Test(arguments: [["rsa:2048"], ["ed25519"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]])
    func `the certificate of a peer is shown, and the other one has none`(kind: [String]) async throws {
        let (identity, certificate) = try identity(kind)
        let (ada, bob) = try await pair(identity)
        bob.invite("Ada")
        await loop.eventually("connected", found: bob.story) { bob.connected == ["Ada"] && ada.connected == ["Bob"] }
        #expect(bob.read { $0.certificates } == [[certificate]])
        #expect(ada.read { $0.certificates } == [nil])
    }

    @Test(arguments: [true, false])
    func `a peer whose certificate is not accepted is not connected`(isInviter: Bool) async throws {
        let (ada, bob) = try await pair(nil)
        (isInviter ? bob : ada).setJudgement(false)
        bob.invite("Ada")
        for peer in [ada, bob] {
            await loop.eventually("refused", found: peer.story) { peer.states.last?.hasSuffix("notConnected") == true }
            #expect(peer.connected.isEmpty)
            #expect(peer.read { $0.reasons } == [.cancelled])
        }
    }
}
